//! The postings of open indexes in key order: which rows have a key.
//!
//! A posting moves from the recent tree to the settled one, and never back. Of each range of keys
//! the recent tree is therefore read first, and no posting is missed. A posting that moves in
//! between is read twice, and counts once.

use simhash_core::Fingerprint;
use simhash_core::sets::sketch::Layout;
use simhash_index::postings::{RECENT, SETTLED};
use simhash_index::walk::LeafWalk;
use simhash_index::{Damage, Entry, Posting, Row, Store, TreeKey};

use super::super::places::Places;
use super::super::progress;
use super::super::row;
use crate::am::columns::Columns;
use crate::storage::{Index, check_for_interrupts};

/// The position of one index in the merge.
struct Walker<'a, K: TreeKey> {
    index: &'a Index<K>,
    columns: Columns,
    recent: LeafWalk<K>,
    settled: LeafWalk<K>,
    /// Recent postings that were read, and that the settled walk has not reached.
    ahead: Vec<Row<K>>,
    /// Keys read and not yet passed on, each with the number of a row, ascending.
    waiting: Vec<(K, u64)>,
    leaf: Vec<Row<K>>,
}

impl<'a, K: TreeKey> Walker<'a, K> {
    /// Begins at the first posting of the index that is not below `from`.
    fn new(index: &'a Index<K>, from: Entry<K>) -> Self {
        Self {
            index,
            columns: Columns::of(index.store, &index.meta()),
            recent: LeafWalk::new(RECENT, from),
            settled: LeafWalk::new(SETTLED, from),
            ahead: Vec::new(),
            waiting: Vec::new(),
            leaf: Vec::new(),
        }
    }

    /// The bound below which everything has been read. `None` at the end.
    fn bound(&self) -> Option<Entry<K>> {
        self.settled.position()
    }

    /// Reads the next leaf of a walk. A row outside its bounds is an ERROR.
    fn read(index: &Index<K>, walk: &mut LeafWalk<K>, rows: &mut Vec<Row<K>>) {
        let (low, before) = (walk.position(), rows.len());
        drop(walk.next_leaf(index, rows));
        let high = walk.position();
        let is_in = |row: &Row<K>| {
            low.is_none_or(|low| row.entry >= low) && high.is_none_or(|high| row.entry < high)
        };
        if !rows[before..].iter().all(is_in) {
            index.store.damaged(walk.leaf(), &Damage::Other("a key is outside its bounds"));
        }
    }

    /// Reads at most one settled leaf more. `table` is the place of the index's table.
    fn advance(&mut self, table: usize, bands: Option<Bands>) {
        let Some(low) = self.settled.position() else { return };
        while self.recent.position().is_some_and(|recent| recent <= low) {
            check_for_interrupts();
            Self::read(self.index, &mut self.recent, &mut self.ahead);
        }
        self.leaf.clear();
        Self::read(self.index, &mut self.settled, &mut self.leaf);
        // Both trees have been read up to here.
        let upto = match (self.recent.position(), self.settled.position()) {
            (Some(recent), Some(settled)) => Some(recent.min(settled)),
            (recent, settled) => recent.or(settled),
        };
        if let Some(upto) = upto
            && self.settled.position() != Some(upto)
        {
            self.settled = LeafWalk::new(SETTLED, upto);
        }
        let is_below = |row: &Row<K>| upto.is_none_or(|upto| row.entry < upto);
        self.leaf.retain(is_below);
        if !self.ahead.is_empty() {
            self.leaf.extend(self.ahead.extract_if(.., |row| is_below(row)));
        }
        self.leaf.sort_unstable_by_key(|row| row.entry);
        self.leaf.dedup_by_key(|row| row.entry);
        for Row { entry, .. } in self.leaf.drain(..) {
            let key = entry.key;
            if bands.is_none_or(|bands| bands.contain(key))
                && !self.columns.has_null::<K>(key.scope())
            {
                self.waiting.push((key, row::number(table, entry.tid)));
            }
        }
    }
}

/// The first `count` bands of a layout.
#[derive(Clone, Copy)]
pub struct Bands {
    pub layout: Layout,
    pub count: usize,
}

impl Bands {
    fn of<K: TreeKey>(self, key: K) -> usize {
        self.layout.band(Fingerprint::top(key.fingerprint()))
    }

    fn contain<K: TreeKey>(self, key: K) -> bool {
        self.of(key) < self.count
    }
}

/// Calls `each` with each key that several rows have, and the places of these rows, until it
/// returns false. With `bands`, only keys of these bands count. A key is given by the bits that a
/// posting stores; keys of several scopes may have the same bits.
pub fn each_key<K: TreeKey>(
    indexes: &[Index<K>],
    places: &Places,
    bands: Option<Bands>,
    each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool,
) {
    let mut walkers: Vec<Walker<'_, K>> =
        indexes.iter().map(|index| Walker::new(index, Entry::MIN)).collect();
    let mut rows: Vec<(K, u64)> = Vec::new();
    let mut of_key = Vec::new();
    loop {
        check_for_interrupts();
        let bounds = walkers.iter().enumerate();
        let bounds = bounds.filter_map(|(table, walker)| Some((walker.bound()?, table)));
        let Some((low, table)) = bounds.min() else { break };
        walkers[table].advance(table, bands);
        // All postings of lesser keys have been read.
        let low = walkers
            .iter()
            .filter_map(Walker::bound)
            .min()
            .map(|bound| bound.key)
            .max(Some(low.key));
        let is_last = walkers.iter().all(|walker| walker.bound().is_none());
        for walker in &mut walkers {
            let below = |(key, _): &(K, u64)| is_last || low.is_some_and(|low| *key < low);
            let upto = walker.waiting.partition_point(below);
            rows.extend(walker.waiting.drain(..upto));
        }
        if walkers.len() > 1 {
            rows.sort_unstable();
        }
        for equal in rows.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            of_key.clear();
            // Looked up only here: most keys are of one row, whose place is not needed.
            of_key.extend(equal.iter().filter_map(|&(_, row)| places.get(row)));
            if !each(bits_of(equal[0].0), &mut of_key) {
                return;
            }
        }
        rows.clear();
        // Without scopes, keys ascend by band. They show the progress of the walk, which ends
        // behind the last band.
        if size_of::<K::Scope>() == 0
            && let Some(low) = low
        {
            let Some(bands) = bands else {
                // Keys are spread evenly.
                let share = f64::from(bits_of(low)) / f64::from(u32::MAX);
                progress::have_read((f64::from(places.len()) * share) as usize);
                continue;
            };
            let (band, count) = (bands.of(low), bands.count);
            progress::have_read(places.len() as usize * band.min(count) / count);
            if band > count {
                break;
            }
        }
    }
}

/// Calls `each` with the bits and the TID of each posting in key order, with bits from `low` on and
/// below `high`. The index has no scopes. With `bands`, postings of other bands are left out.
pub fn each_posting(
    index: &Index<Posting>,
    (low, high): (u32, Option<u32>),
    bands: Option<Bands>,
    mut each: impl FnMut(u32, u64),
) {
    let from = Posting::new((), u64::from(low) << 32);
    let mut walker = Walker::new(index, Entry { key: from, tid: 0 });
    while let Some(bound) = walker.bound() {
        check_for_interrupts();
        // The check below sees no posting of other bands, so it cannot end the walk behind the last
        // band.
        if high.is_some_and(|high| bits_of(bound.key) >= high) {
            return;
        }
        walker.advance(0, bands);
        for (key, row) in walker.waiting.drain(..) {
            let bits = bits_of(key);
            if high.is_some_and(|high| bits >= high) {
                return;
            }
            each(bits, row::tid(row));
        }
    }
}

/// The bits of a key that a posting stores.
fn bits_of<K: TreeKey>(key: K) -> u32 {
    (Fingerprint::top(key.fingerprint()) >> 32) as u32
}
