//! Range scans: every row within a distance of a query, leaf by leaf, each row once.
//!
//! Tables are taken in order. Within a table the scan jumps from leaf to leaf in key order. Its
//! position is a bound: everything below it has been dealt with. So pages that split or vanish
//! meanwhile can neither hide a row nor show it twice.

use std::collections::VecDeque;

use simhash_core::Fingerprint;
use simhash_core::base::key::Key;
use simhash_core::search::{Plan, Probe};

use crate::damage::Damage;
use crate::index::Index;
use crate::key::TreeKey;
use crate::page::{Entry, Page, TID_BYTES};
use crate::scopes::Scopes;
use crate::store::{Fetch, Lock, Store};
use crate::tree::{Parent, Place};

/// A row found in the index.
#[derive(Clone, Copy, Debug)]
pub struct Hit<K: TreeKey> {
    pub fingerprint: K::Fingerprint,
    pub scope: K::Scope,
    pub tid: u64,
    pub distance: u32,
    /// The table that it was found in.
    pub table: u8,
    /// Its place on the leaf that it was found on.
    pub position: u16,
}

impl<K: TreeKey> Hit<K> {
    /// The row's entry in the first table.
    pub fn entry(&self) -> Entry<K> {
        Entry { key: K::new(self.scope, self.fingerprint), tid: self.tid }
    }
}

/// How many leaves the scan looks ahead, so that memory and disk work while a leaf is scanned.
const LOOK_AHEAD: usize = 8;

/// After this many leaves in a row, with none skipped, the scan reads nearly as many more without a
/// search for keys that it can skip, and has all of their keys fetched.
const DENSE: u32 = 16;

/// About where the keys of a leaf end. Its TIDs are behind them.
fn keys_end<K: TreeKey, S: Store>() -> usize {
    S::PAGE * K::Fingerprint::BYTES / (K::Fingerprint::BYTES + TID_BYTES)
}

/// A leaf to be read.
struct Planned<K, S: Store> {
    table: u32,
    /// Everything below this in the table will have been dealt with by then.
    from: Entry<K>,
    target: Entry<K>,
    /// The last key that is wanted of the leaf, if one is known, and if the leaf ends at `end`.
    last: Option<K>,
    place: Place<K, S>,
    /// Where the leaf ends, as far as its parent's copy knows.
    end: Option<Entry<K>>,
}

/// How far the look-ahead has come in a table.
struct Frontier<K: TreeKey, S: Store> {
    table: u32,
    probe: Probe<K::Fingerprint>,
    from: Entry<K>,
    /// How many leaves in a row were neighbours.
    neighbours: u32,
    /// A copy of the parent of the leaf planned last.
    parent: Option<Parent<K, S>>,
}

/// A scan in progress.
pub struct RangeScan<K: TreeKey, S: Store> {
    query: K::Fingerprint,
    scopes: Scopes<K::Scope>,
    plan: Plan,
    next_table: u32,
    frontier: Option<Frontier<K, S>>,
    planned: VecDeque<Planned<K, S>>,
    /// A row of which no copies are wanted: scope and fingerprint.
    passed: Option<(K::Scope, K::Fingerprint)>,
    positions: Vec<u32>,
}

impl<K: TreeKey, S: Store> RangeScan<K, S> {
    pub fn new(plan: Plan, query: K::Fingerprint, scopes: Scopes<K::Scope>) -> Self {
        Self {
            query,
            scopes,
            plan,
            next_table: 0,
            frontier: None,
            planned: VecDeque::with_capacity(LOOK_AHEAD),
            passed: None,
            positions: Vec::new(),
        }
    }

    /// Ends the return of rows with the scope and the fingerprint of this one. The scan may still
    /// return some that it has read already.
    pub fn pass_copies(&mut self, of: &Hit<K>) {
        self.passed = Some((of.scope, of.fingerprint));
    }

    /// Where the table goes on after copies that are not wanted, if the leaf ends with one.
    fn past_copies(&self, table: u32, page: &Page<'_>) -> Option<Entry<K>> {
        let (scope, fingerprint) = self.passed?;
        let key = K::new(scope, self.plan.layout().rotate(fingerprint, table));
        let last = page.len().checked_sub(1)?;
        (page.key::<K>(last) == key).then_some(Entry { key, tid: u64::MAX })
    }

    /// Reads the next leaf and appends its rows within `distance`, which may be less than the
    /// plan's. Returns the leaf, still locked, or `None` at the end.
    pub fn next_leaf(
        &mut self,
        index: &Index<K, S>,
        distance: u32,
        hits: &mut Vec<Hit<K>>,
    ) -> Option<S::Shared> {
        while self.planned.len() < LOOK_AHEAD && self.plan_leaf(index).is_some() {}
        let Planned { table, from, target, last, place, end } = self.planned.pop_front()?;
        let (leaf, number) = index.read_leaf(table as u8, &target, Some(place));
        let page = index.checked(number, leaf.bytes());
        let high = page.high();
        // A leaf that was given its neighbour's range has keys behind the planned end.
        let last = last.filter(|_| high == end);
        self.collect(index, number, &page, (table, from, (target.key, last)), distance, hits);
        if high != end {
            self.go_on_from(table, high);
        }
        let past = self.past_copies(table, &page);
        if let (Some(past), Some(high)) = (past, high)
            && past >= high
        {
            self.go_on_from(table, Some(past));
        }
        Some(leaf)
    }

    /// Appends the rows of a leaf that are wanted. Those below `from` were dealt with before, and
    /// only keys from `target` to `last` are wanted.
    fn collect(
        &mut self,
        index: &Index<K, S>,
        number: u32,
        page: &Page<'_>,
        (table, from, (target, last)): (u32, Entry<K>, (K, Option<K>)),
        distance: u32,
        hits: &mut Vec<Hit<K>>,
    ) {
        let layout = self.plan.layout();
        self.positions.clear();
        let rotated = layout.rotate(self.query, table);
        page.within_between((target, last), rotated, distance, &mut self.positions);
        for &position in &self.positions {
            let entry = page.entry::<K>(position as usize);
            let fingerprint = layout.restore(entry.key.fingerprint(), table);
            let difference = fingerprint ^ self.query;
            if entry.tid & 0xffff == 0 {
                index.store.damaged(number, &Damage::Other("it holds a TID without an offset"));
            }
            let is_ours = self.plan.emits(difference, table);
            let scope = entry.key.scope();
            let is_in_scope = self.scopes.contains(scope, index.shape.scope);
            if entry >= from && is_ours && is_in_scope {
                let distance = difference.count_ones();
                let (tid, table, position) = (entry.tid, table as u8, position as u16);
                hits.push(Hit { fingerprint, scope, tid, distance, table, position });
            }
        }
    }

    /// Drops what was planned by a stale copy, and goes on from where the leaf really ended.
    fn go_on_from(&mut self, table: u32, high: Option<Entry<K>>) {
        self.planned.clear();
        self.next_table = table + 1;
        let probe = self.plan.probe(self.query, table);
        self.frontier = high.zip(probe).map(|(from, probe)| Frontier::new(table, probe, from));
    }

    /// Plans one more leaf. `None` when all are planned.
    fn plan_leaf(&mut self, index: &Index<K, S>) -> Option<()> {
        loop {
            let Some(frontier) = &mut self.frontier else {
                self.start_table()?;
                continue;
            };
            let Some(target) = frontier.next(&self.scopes, index.shape.scope) else {
                self.frontier = None;
                continue;
            };
            let from = frontier.from;
            let table = frontier.table;
            let place = frontier
                .neighbour(index, &target)
                .unwrap_or_else(|| index.locate(table as u8, &target));
            let end = place.parent.as_ref().and_then(|parent| parent.copy.end_of(parent.child));
            frontier.count_neighbour(&place);
            let is_dense = frontier.is_dense();
            if let Some(parent) = &place.parent {
                let fetch = if is_dense { Fetch::Upto(keys_end::<K, S>()) } else { Fetch::Head };
                index.store.prefetch(place.leaf, parent.recent(), index.shape.special(), fetch);
            }
            let mut last = None;
            match end {
                Some(end) => {
                    (last, frontier.from) = frontier.past_run(target.key, end);
                    frontier.parent = place.parent.as_ref().map(Parent::share);
                }
                None => self.frontier = None,
            }
            self.planned.push_back(Planned { table, from, target, last, place, end });
            return Some(());
        }
    }

    fn start_table(&mut self) -> Option<()> {
        while self.next_table < self.plan.layout().blocks() {
            let table = self.next_table;
            self.next_table += 1;
            if let Some(probe) = self.plan.probe(self.query, table) {
                self.frontier = Some(Frontier::new(table, probe, Entry::MIN));
                return Some(());
            }
        }
        None
    }
}

impl<K: TreeKey, S: Store> Frontier<K, S> {
    fn new(table: u32, probe: Probe<K::Fingerprint>, from: Entry<K>) -> Self {
        Self { table, probe, from, neighbours: 0, parent: None }
    }

    /// Whether the next leaf is assumed to be wanted, as those before it were.
    fn is_dense(&self) -> bool {
        self.neighbours >= DENSE && !self.neighbours.is_multiple_of(DENSE)
    }

    /// Counts the leaf that is planned next, if it comes after the one planned last.
    fn count_neighbour(&mut self, place: &Place<K, S>) {
        let (Some(last), Some(next)) = (&self.parent, &place.parent) else { return };
        let is_same_parent = last.number == next.number;
        let expected = if is_same_parent { last.child + 1 } else { 0 };
        self.neighbours = if next.child == expected { self.neighbours.wrapping_add(1) } else { 0 };
    }

    /// The least entry from the frontier on that may be wanted.
    fn next(&self, scopes: &Scopes<K::Scope>, length: usize) -> Option<Entry<K>> {
        let Entry { key, .. } = self.from;
        let mut scope = scopes.at_or_after(key.scope(), length)?;
        if scope == key.scope() {
            if self.is_dense() {
                return Some(self.from);
            }
            match self.probe.successor(key.fingerprint()) {
                Some(same) if same == key.fingerprint() => return Some(self.from),
                Some(next) => return Some(Entry::first_with(K::new(scope, next))),
                None => scope = scopes.after(scope, length)?,
            }
        }
        let first = self.probe.successor(K::Fingerprint::ZERO)?;
        Some(Entry::first_with(K::new(scope, first)))
    }

    /// For a leaf that ends at `end`: the last key of it that may be wanted, and the first entry of
    /// the next leaves that may be. The keys from `target` on that agree with it in the block may
    /// be wanted. If the next ones that may be wanted are behind the leaf, the scan need not read
    /// the keys in between.
    fn past_run(&self, target: K, end: Entry<K>) -> (Option<K>, Entry<K>) {
        let block = K::Fingerprint::leading_mask(self.probe.limits()[0].bits);
        let last = K::new(target.scope(), target.fingerprint() | !block);
        if self.is_dense() || last >= end.key || last.scope() != end.key.scope() {
            return (None, end);
        }
        let Some(next) = self.probe.successor_outside(target.fingerprint(), block) else {
            return (Some(last), end);
        };
        let next = Entry::first_with(K::new(last.scope(), next));
        if next < end { (None, end) } else { (Some(last), next) }
    }

    /// Where `target` is by the copy of the last leaf's parent, if that covers it. Usually it is on
    /// one of the next children.
    fn neighbour(&self, index: &Index<K, S>, target: &Entry<K>) -> Option<Place<K, S>> {
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
