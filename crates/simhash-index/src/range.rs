//! Range scans: every row within a distance of a query, leaf by leaf, each row once.
//!
//! Tables are taken in order. Within a table the scan jumps from leaf to leaf in key order. Its
//! position is a bound: everything below it has been dealt with. So pages that split or vanish
//! meanwhile can neither hide a row nor show it twice.

use std::collections::VecDeque;

use simhash_core::search::{Key, Plan, Probe};
use simhash_core::simd::popcount::within;

use crate::damage::Damage;
use crate::index::Index;
use crate::mutant::{self, Mutant};
use crate::page::Entry;
use crate::store::{Lock, Store};
use crate::tree::{Parent, Place};

/// A row found in the index.
#[derive(Clone, Copy, Debug)]
pub struct Hit<F> {
    pub fingerprint: F,
    pub tid: u64,
    pub distance: u32,
}

/// How many leaves the scan looks ahead, so that memory and disk work while a leaf is scanned.
const LOOK_AHEAD: usize = 8;

/// A leaf to be read.
struct Planned<F, S: Store> {
    table: u32,
    /// Everything below this in the table will have been dealt with by then.
    from: Entry<F>,
    target: Entry<F>,
    place: Place<F, S>,
    /// Where the leaf ends, as far as its parent's copy knows.
    end: Option<Entry<F>>,
}

/// How far the look-ahead has come in a table.
struct Frontier<F, S: Store> {
    table: u32,
    probe: Probe<F>,
    from: Entry<F>,
    /// A copy of the parent of the leaf planned last.
    parent: Option<Parent<F, S>>,
}

/// A scan in progress.
pub struct RangeScan<F, S: Store> {
    query: F,
    plan: Plan,
    next_table: u32,
    frontier: Option<Frontier<F, S>>,
    planned: VecDeque<Planned<F, S>>,
    positions: Vec<u32>,
}

impl<F: Key, S: Store> RangeScan<F, S> {
    pub fn new(plan: Plan, query: F) -> Self {
        Self {
            query,
            plan,
            next_table: 0,
            frontier: None,
            planned: VecDeque::with_capacity(LOOK_AHEAD),
            positions: Vec::new(),
        }
    }

    /// Reads the next leaf and appends its rows within `distance`, which may be less than the
    /// plan's. Returns the leaf, still locked, or `None` at the end.
    pub fn next_leaf(
        &mut self,
        index: &Index<F, S>,
        distance: u32,
        hits: &mut Vec<Hit<F>>,
    ) -> Option<S::Shared> {
        while self.planned.len() < LOOK_AHEAD && self.plan_leaf(index).is_some() {}
        let Planned { table, from, target, place, end } = self.planned.pop_front()?;
        let (leaf, number) = index.read_leaf(table as u8, &target, Some(place));
        let page = index.checked(number, leaf.bytes());
        let layout = self.plan.layout();
        self.positions.clear();
        within(page.keys(), layout.rotate(self.query, table), distance, &mut self.positions);
        for &position in &self.positions {
            let entry = page.entry::<F>(position as usize);
            let fingerprint = layout.restore(entry.key, table);
            let difference = fingerprint ^ self.query;
            if entry.tid & 0xffff == 0 {
                index.store.damaged(number, &Damage::Other("it holds a TID without an offset"));
            }
            let is_ahead = entry >= from || mutant::is(Mutant::PositionForgotten);
            let is_ours =
                self.plan.emits(difference, table) || mutant::is(Mutant::ShownByEveryTable);
            if is_ahead && is_ours {
                hits.push(Hit { fingerprint, tid: entry.tid, distance: difference.count_ones() });
            }
        }
        let high = page.bounds().high;
        if high != end && !mutant::is(Mutant::StaleEndTrusted) {
            self.go_on_from(table, high);
        }
        Some(leaf)
    }

    /// Drops what was planned by a stale copy, and goes on from where the leaf really ended.
    fn go_on_from(&mut self, table: u32, high: Option<Entry<F>>) {
        self.planned.clear();
        self.next_table = table + 1;
        let probe = self.plan.probe(self.query, table);
        self.frontier =
            high.zip(probe).map(|(from, probe)| Frontier { table, probe, from, parent: None });
    }

    /// Plans one more leaf. `None` when all are planned.
    fn plan_leaf(&mut self, index: &Index<F, S>) -> Option<()> {
        loop {
            let Some(frontier) = &mut self.frontier else {
                self.start_table()?;
                continue;
            };
            let Some(key) = frontier.probe.successor(frontier.from.key) else {
                self.frontier = None;
                continue;
            };
            let from = frontier.from;
            let target = if key == from.key { from } else { Entry::first_with(key) };
            let table = frontier.table;
            let place = frontier
                .neighbour(index, &target)
                .unwrap_or_else(|| index.locate(table as u8, &target));
            let end = place.parent.as_ref().and_then(|parent| parent.copy.end_of(parent.child));
            if let Some(parent) = &place.parent {
                index.store.prefetch(place.leaf, parent.recent());
            }
            match end {
                Some(end) => {
                    frontier.from = end;
                    frontier.parent = place.parent.as_ref().map(Parent::share);
                }
                None => self.frontier = None,
            }
            self.planned.push_back(Planned { table, from, target, place, end });
            return Some(());
        }
    }

    fn start_table(&mut self) -> Option<()> {
        while self.next_table < self.plan.layout().blocks() {
            let table = self.next_table;
            self.next_table += 1;
            if let Some(probe) = self.plan.probe(self.query, table) {
                self.frontier = Some(Frontier { table, probe, from: Entry::MIN, parent: None });
                return Some(());
            }
        }
        None
    }
}

impl<F: Key, S: Store> Frontier<F, S> {
    /// Where `target` is by the copy of the last leaf's parent, if that covers it. Usually it is on
    /// one of the next children.
    fn neighbour(&self, index: &Index<F, S>, target: &Entry<F>) -> Option<Place<F, S>> {
        let parent = self.parent.as_ref()?;
        if !parent.copy.bounds.contains(target) {
            return None;
        }
        let child = parent.copy.child_covering_from(parent.child, target);
        let leaf = parent.copy.children[child].number;
        index.expect_page(leaf, parent.number);
        Some(Place { leaf, parent: Some(Parent { child, ..parent.share() }) })
    }
}
