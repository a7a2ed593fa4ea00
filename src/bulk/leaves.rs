//! The rows of a block table in key order, leaf by leaf, as the join needs them. Rows that have
//! NULL in a column that is compared by equality are left out: they are equal to no other.
//!
//! Several indexes are merged into one table: of all their leaves, the one with the lowest bound is
//! read next, and rows below all bounds are passed on.

use std::cmp::Ordering;
use std::ops::Bound;

use simhash_core::base::memory::NoMemory;
use simhash_core::search::scoped::Bytes;
use simhash_core::search::{TreeKey, cost};
use simhash_core::whole::join::{Chunk, Part, Rows, Source, Start};
use simhash_index::form::{Form, Tids};
use simhash_index::walk::LeafWalk;
use simhash_index::{Damage, Entry, Row, Scopes, Store};

use super::errors::no_memory;
use super::{progress, row};
use crate::am::columns::Columns;
use crate::storage::{Index, PageBytes, check_for_interrupts};

/// A destination of rows.
pub trait Sink<K: TreeKey> {
    /// Whether no more rows are wanted.
    fn is_full(&self, rows: &Rows<K>) -> bool;
    /// Takes all of `rows`, which follow those before. False if some are not within the bounds.
    fn push(
        &mut self,
        rows: &mut Vec<(K, u64)>,
        within: (Bound<Start<K>>, Bound<Start<K>>),
    ) -> bool;
}

impl<K: TreeKey> Sink<K> for Chunk<K> {
    fn is_full(&self, rows: &Rows<K>) -> bool {
        rows.to.is_none() && self.rows() >= rows.limit
    }

    fn push(
        &mut self,
        rows: &mut Vec<(K, u64)>,
        within: (Bound<Start<K>>, Bound<Start<K>>),
    ) -> bool {
        Chunk::push(self, rows, within).is_ok()
    }
}

/// The leaves of open indexes that have one type of keys.
pub struct Leaves<'a, K: TreeKey> {
    indexes: &'a [Index<K>],
    columns: Vec<Columns>,
    split: Option<u64>,
    read: Vec<Row<K>>,
    rows: Vec<(K, u64)>,
}

impl<'a, K: TreeKey> Leaves<'a, K> {
    /// When two tables are joined, `split` is the number of the first one's indexes.
    pub fn new(indexes: &'a [Index<K>], split: Option<usize>) -> Self {
        let columns = indexes.iter().map(|index| Columns::of(index.store, &index.meta()));
        Self {
            indexes,
            columns: columns.collect(),
            split: split.map(row::first_of),
            read: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub fn indexes(&self) -> &'a [Index<K>] {
        self.indexes
    }
}

/// Calls `each` with each entry of a block table whose scope has no NULL, in key order.
pub fn each_entry<K: TreeKey>(index: &Index<K>, table: u8, mut each: impl FnMut(Entry<K>)) {
    let mut walk = LeafWalk::<K>::new(table, Entry::MIN);
    let columns = Columns::of(index.store, &index.meta());
    let mut rows: Vec<Row<K>> = Vec::new();
    loop {
        check_for_interrupts();
        if walk.next_leaf(index, &mut rows).is_none() {
            return;
        }
        for Row { entry, .. } in rows.drain(..) {
            if !columns.has_null::<K>(entry.key.scope()) {
                each(entry);
            }
        }
    }
}

/// The most rows that a block table of the index can have.
pub fn most_rows<K: TreeKey>(index: &Index<K>) -> usize {
    // One leaf more: leaves_per_table does not count the root, which may be the only leaf.
    let of_leaf = index.shape.leaf_capacity(size_of::<PageBytes>(), Form::densest(&index.shape));
    (index.leaves_per_table() + 1.0) as usize * of_leaf
}

/// The usual share of a leaf that is filled.
const FILL: f64 = 0.7;

/// About how large the scopes are, and how many rows they have, in indexes of one shape.
pub fn scope_sizes<K: TreeKey>(indexes: &[Index<K>]) -> Vec<Part> {
    if K::Scope::BYTES == 0 || indexes.iter().all(|index| index.shape.scope == 0) {
        let rows: usize = indexes.iter().map(most_rows).sum();
        return vec![Part::one(rows as f64)];
    }
    indexes.iter().flat_map(scopes_of).collect()
}

fn scopes_of<K: TreeKey>(index: &Index<K>) -> Vec<Part> {
    let form = Form { tids: Tids::brief(8), ..Form::MIXED };
    let of_leaf = FILL * index.shape.leaf_capacity(size_of::<PageBytes>(), form) as f64;
    let extent = index.extent(&Scopes::All);
    let (large, small): (Vec<cost::Part>, Vec<cost::Part>) =
        extent.parts().iter().partition(|part| part.leaves > 1.0);
    let each = small_scope(index).min(of_leaf);
    let count: f64 = small.iter().map(|part| part.count).sum();
    let small = Part { rows: count * of_leaf, each };
    large.into_iter().map(|part| Part::one(part.leaves * of_leaf)).chain([small]).collect()
}

/// How large the scope of a row is, on average, by a few leaves. A scope counts up to the end of
/// its leaf.
fn small_scope<K: TreeKey>(index: &Index<K>) -> f64 {
    const LEAVES: usize = 8;
    let sample = index.sample();
    let (mut rows, mut squares) = (0.0, 0.0);
    let mut read = Vec::new();
    for key in sample.iter().step_by(sample.len().div_ceil(LEAVES).max(1)) {
        let leaf = LeafWalk::new(0, Entry::first_with(*key)).next_leaf(index, &mut read);
        drop(leaf);
        let mut scopes: Vec<_> = read.drain(..).map(|row| row.entry.key.scope()).collect();
        scopes.sort_unstable();
        for same in scopes.chunk_by(|a, b| a == b) {
            rows += same.len() as f64;
            squares += (same.len() as f64).powi(2);
        }
    }
    if rows > 0.0 { squares / rows } else { 1.0 }
}

/// The position of one index in the merge.
struct Walker<K> {
    walk: LeafWalk<K>,
    /// Rows read and not yet passed on, in descending order.
    waiting: Vec<(K, u64)>,
}

impl<K: TreeKey> Walker<K> {
    /// Begins at a row of the merged table. `place` is the index's place in the list.
    fn new(table: u32, (key, number): Start<K>, place: usize) -> Self {
        let tid = match place.cmp(&row::table(number)) {
            Ordering::Less => row::first_of(1),
            Ordering::Equal => row::tid(number),
            Ordering::Greater => 0,
        };
        Self { walk: LeafWalk::new(table as u8, Entry { key, tid }), waiting: Vec::new() }
    }

    /// The bound below which everything has been read. `None` at the end.
    fn bound(&self, place: usize) -> Option<Start<K>> {
        self.walk.position().map(|entry| (entry.key, row::number(place, entry.tid)))
    }

    /// Moves the rows below a bound to `rows`.
    fn hand_on(&mut self, bound: Option<Start<K>>, rows: &mut Vec<(K, u64)>) {
        let kept = bound.map_or(0, |bound| self.waiting.partition_point(|row| *row >= bound));
        rows.extend(self.waiting.drain(kept..).rev());
    }
}

impl<K: TreeKey> Leaves<'_, K> {
    /// Reads the next leaf of one index. Rows from `to` on are left out.
    fn read_leaf(&mut self, place: usize, walker: &mut Walker<K>, to: Option<Start<K>>) {
        let index = &self.indexes[place];
        let (low, before) = (walker.walk.position(), walker.waiting.len());
        drop(walker.walk.next_leaf(index, &mut self.read));
        let high = walker.walk.position();
        for Row { entry, .. } in self.read.drain(..) {
            if low.is_some_and(|low| entry < low) || high.is_some_and(|high| entry >= high) {
                let damage = Damage::Other("a key is outside its bounds");
                index.store.damaged(walker.walk.leaf(), &damage);
            }
            let row = (entry.key, row::number(place, entry.tid));
            let is_null = self.columns[place].has_null::<K>(entry.key.scope());
            if !is_null && to.is_none_or(|to| row < to) {
                walker.waiting.push(row);
            }
        }
        walker.waiting[before..].sort_unstable_by(|a, b| b.cmp(a));
        walker.waiting.rotate_left(before);
    }
}

impl<K: TreeKey> Leaves<'_, K> {
    /// Reads rows into a sink. Returns where the next ones start, if there are more.
    pub fn read_into(&mut self, rows: Rows<K>, sink: &mut impl Sink<K>) -> Option<Start<K>> {
        let mut walkers: Vec<Walker<K>> = (0..self.indexes.len())
            .map(|place| Walker::new(rows.table, rows.from, place))
            .collect();
        let mut low = rows.from;
        loop {
            check_for_interrupts();
            if sink.is_full(&rows) {
                return Some(low);
            }
            let bounds = walkers.iter().enumerate();
            let bounds = bounds.filter_map(|(place, walker)| Some((walker.bound(place)?, place)));
            let Some((_, place)) = bounds.min() else { break };
            self.read_leaf(place, &mut walkers[place], rows.to);
            let bounds = walkers.iter().enumerate();
            let high = bounds.filter_map(|(place, walker)| walker.bound(place)).min();
            walkers.iter_mut().for_each(|walker| walker.hand_on(high, &mut self.rows));
            let upto = high.map_or(Bound::Unbounded, Bound::Excluded);
            if !sink.push(&mut self.rows, (Bound::Included(low), upto)) {
                let damage = Damage::Other("a key is outside its bounds");
                self.indexes[place].store.damaged(walkers[place].walk.leaf(), &damage);
            }
            let Some(high) = high else { break };
            low = high;
            if rows.to.is_some_and(|to| high >= to) {
                break;
            }
        }
        rows.to
    }
}

impl<K: TreeKey> Source<K> for Leaves<'_, K> {
    fn read(&mut self, rows: Rows<K>, chunk: &mut Chunk<K>) -> Option<Start<K>> {
        progress::reading();
        let next = self.read_into(rows, chunk);
        progress::read(chunk.rows());
        next
    }

    fn expected_rows(&self) -> usize {
        self.indexes.iter().map(most_rows).sum()
    }

    fn split(&self) -> Option<u64> {
        self.split
    }

    fn check(&mut self) {
        check_for_interrupts();
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        no_memory(refused)
    }
}
