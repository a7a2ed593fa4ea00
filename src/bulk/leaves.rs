//! The rows of a block table in the order of their keys, leaf by leaf, as the join wants them.

use std::ops::Bound;

use simhash_core::join::{Chunk, NoMemory, Rows, Source, Start};
use simhash_core::search::Key;
use simhash_index::page::Form;
use simhash_index::walk::LeafWalk;
use simhash_index::{Damage, Entry, Row, Store};

use super::errors::no_memory;
use super::progress;
use crate::storage::{Index, PageBytes, check_for_interrupts};

/// The leaves of an open index.
pub struct Leaves<'a, F: Key> {
    index: &'a Index<F>,
    read: Vec<Row<F>>,
    rows: Vec<(F, u64)>,
}

impl<'a, F: Key> Leaves<'a, F> {
    pub fn new(index: &'a Index<F>) -> Self {
        Self { index, read: Vec::new(), rows: Vec::new() }
    }
}

/// The most rows that a block table of the index can have.
pub fn most_rows<F: Key>(index: &Index<F>) -> usize {
    // One leaf more: leaves_per_table does not count the root, which may be the only leaf.
    let of_leaf = index.shape.leaf_capacity(size_of::<PageBytes>(), Form::Uniform);
    (index.leaves_per_table() + 1.0) as usize * of_leaf
}

impl<F: Key> Source<F> for Leaves<'_, F> {
    fn read(&mut self, rows: Rows<F>, chunk: &mut Chunk<F>) -> Option<Start<F>> {
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
            let wanted = entries.filter(|entry| to.is_none_or(|to| *entry < to));
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
