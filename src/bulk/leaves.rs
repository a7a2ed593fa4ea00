//! The rows of a block table in the order of their keys, leaf by leaf, as the join wants them:
//! without those that have NULL in a column that is compared by equality. Such a row is equal to no
//! other, nor to another NULL.

use std::ops::Bound;

use simhash_core::join::{Chunk, NoMemory, Part, Rows, Source, Start};
use simhash_core::search::scoped::Bytes;
use simhash_core::search::{TreeKey, cost};
use simhash_index::page::Form;
use simhash_index::walk::LeafWalk;
use simhash_index::{Damage, Entry, Row, Scopes, Store};

use super::errors::no_memory;
use super::progress;
use crate::am::columns::Columns;
use crate::storage::{Index, PageBytes, check_for_interrupts};

/// The leaves of an open index.
pub struct Leaves<'a, K: TreeKey> {
    index: &'a Index<K>,
    columns: Columns,
    read: Vec<Row<K>>,
    rows: Vec<(K, u64)>,
}

impl<'a, K: TreeKey> Leaves<'a, K> {
    pub fn new(index: &'a Index<K>) -> Self {
        let columns = Columns::of(index.store, &index.meta());
        Self { index, columns, read: Vec::new(), rows: Vec::new() }
    }
}

/// The most rows that a block table of the index can have.
pub fn most_rows<K: TreeKey>(index: &Index<K>) -> usize {
    // One leaf more: leaves_per_table does not count the root, which may be the only leaf.
    let of_leaf = index.shape.leaf_capacity(size_of::<PageBytes>(), Form::Uniform);
    (index.leaves_per_table() + 1.0) as usize * of_leaf
}

/// The share of a leaf that has rows, usually.
const FILL: f64 = 0.7;

/// About how many rows are in scopes of which size.
pub fn scope_sizes<K: TreeKey>(index: &Index<K>) -> Vec<Part> {
    if K::Scope::BYTES == 0 || index.shape.scope == 0 {
        return vec![Part::one(most_rows(index) as f64)];
    }
    let of_leaf = FILL * index.shape.leaf_capacity(size_of::<PageBytes>(), Form::Mixed) as f64;
    let extent = index.extent(&Scopes::All);
    let (large, small): (Vec<cost::Part>, Vec<cost::Part>) =
        extent.parts().iter().partition(|part| part.leaves > 1.0);
    let each = small_scope(index).min(of_leaf);
    let count: f64 = small.iter().map(|part| part.count).sum();
    let small = Part { rows: count * of_leaf, each };
    large.into_iter().map(|part| Part::one(part.leaves * of_leaf)).chain([small]).collect()
}

/// How many rows the scope of a row has, on average, as far as it has no more than a leaf: by a few
/// leaves.
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

impl<K: TreeKey> Source<K> for Leaves<'_, K> {
    fn read(&mut self, rows: Rows<K>, chunk: &mut Chunk<K>) -> Option<Start<K>> {
        let entry = |(key, tid)| Entry { key, tid };
        let to = rows.to.map(entry);
        let mut walk = LeafWalk::new(rows.table as u8, entry(rows.from));
        progress::reading();
        while let Some(low) = walk.position() {
            check_for_interrupts();
            if to.is_none() && chunk.rows() >= rows.limit {
                return Some((low.key, low.tid));
            }
            let Some(leaf) = walk.next_leaf(self.index, &mut self.read) else { break };
            drop(leaf);
            let entries = self.read.drain(..).map(|row| row.entry);
            let wanted = entries.filter(|entry| {
                to.is_none_or(|to| *entry < to) && !self.columns.has_null::<K>(entry.key.scope())
            });
            self.rows.extend(wanted.map(|entry| (entry.key, entry.tid)));
            let end = walk.position();
            let upto = end.map_or(Bound::Unbounded, |end| Bound::Excluded((end.key, end.tid)));
            if chunk.push(&mut self.rows, (Bound::Included((low.key, low.tid)), upto)).is_err() {
                let damage = Damage::Other("a key is outside its bounds");
                self.index.store.damaged(walk.leaf(), &damage);
            }
            if rows.to.is_some() && end.is_none_or(|end| to.is_some_and(|to| end >= to)) {
                progress::read(chunk.rows());
                return rows.to;
            }
        }
        progress::read(chunk.rows());
        None
    }

    fn expected_rows(&self) -> usize {
        most_rows(self.index)
    }

    fn check(&mut self) {
        check_for_interrupts();
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        no_memory(refused)
    }
}
