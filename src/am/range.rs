//! Range scans: every row within a distance of a query, leaf by leaf, each row once.
//!
//! Tables are taken in order; within a table the scan jumps from leaf to leaf in key order. Its
//! position is the bound that everything below has been dealt with, so pages that split or vanish
//! meanwhile can neither hide a row nor show it twice.

use simhash_core::search::{Ball, Key, Plan};
use simhash_core::simd::popcount::within;

use super::index::Index;
use super::tree::{Parent, Place};
use crate::storage::{Entry, Shared};

/// A row found in the index.
#[derive(Clone, Copy, Debug)]
pub struct Hit<F> {
    pub fingerprint: F,
    pub tid: u64,
    pub distance: u32,
}

/// A scan in progress.
pub struct RangeScan<F> {
    query: F,
    plan: Plan,
    /// The table being scanned and its ball; `None` before the first and after the last.
    current: Option<(u32, Ball<F>)>,
    next_table: u32,
    /// Everything below this in the current table has been dealt with.
    from: Entry<F>,
    /// A copy of the parent of the leaf read last.
    parent: Option<Parent<F>>,
    positions: Vec<u32>,
    leaves: u64,
}

impl<F: Key> RangeScan<F> {
    pub fn new(plan: Plan, query: F) -> Self {
        Self {
            query,
            plan,
            current: None,
            next_table: 0,
            from: Entry::MIN,
            parent: None,
            positions: Vec::new(),
            leaves: 0,
        }
    }

    /// The number of leaves read so far.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// Reads the next leaf and appends its rows within `distance`, which may be less than the plan's.
    /// Returns the leaf, still locked; `None` at the end.
    pub fn next_leaf(&mut self, index: &Index<F>, distance: u32, hits: &mut Vec<Hit<F>>) -> Option<Shared> {
        loop {
            let Some((table, ball)) = self.current else {
                self.start_table()?;
                continue;
            };
            let Some(key) = ball.successor(self.from.key) else {
                self.current = None;
                continue;
            };
            let target = if key == self.from.key { self.from } else { Entry::first_with(key) };
            let hint = self.neighbour(&target).unwrap_or_else(|| index.locate(table as u8, &target));
            self.parent = hint.parent.as_ref().map(Parent::share);
            let (leaf, block) = index.cover::<Shared>(table as u8, &target, Some(hint));
            self.leaves += 1;
            let page = index.checked(block, leaf.bytes());
            self.positions.clear();
            within(page.keys(), ball.center(), distance, &mut self.positions);
            for &position in &self.positions {
                let entry = page.entry::<F>(position as usize);
                let fingerprint = self.plan.layout().restore(entry.key, table);
                let difference = fingerprint ^ self.query;
                if entry >= self.from && self.plan.emits(difference, table) {
                    let distance = difference.count_ones();
                    hits.push(Hit { fingerprint, tid: entry.tid, distance });
                }
            }
            match page.bounds().high {
                Some(high) => self.from = high,
                None => self.current = None,
            }
            return Some(leaf);
        }
    }

    fn start_table(&mut self) -> Option<()> {
        while self.next_table < self.plan.layout().blocks() {
            let table = self.next_table;
            self.next_table += 1;
            if let Some(ball) = self.plan.ball(self.query, table) {
                self.current = Some((table, ball));
                self.from = Entry::MIN;
                self.parent = None;
                return Some(());
            }
        }
        None
    }

    /// Where `target` is, by the copy of the last leaf's parent: usually the next child or one of its
    /// neighbours.
    fn neighbour(&self, target: &Entry<F>) -> Option<Place<F>> {
        let parent = self.parent.as_ref()?;
        if !parent.copy.bounds.contains(target) {
            return None;
        }
        let rest = &parent.copy.separators[parent.child..];
        let ahead = rest.iter().take(4).take_while(|separator| *separator <= target).count();
        let child = if ahead < 4 {
            parent.child + ahead.saturating_sub(1)
        } else {
            parent.copy.child_covering(target)
        };
        Some(Place { leaf: parent.copy.children[child], parent: Some(Parent { child, ..parent.share() }) })
    }
}
