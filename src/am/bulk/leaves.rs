//! A table's rows in key order, leaf by leaf, as the join wants them.

use std::ops::Bound;

use simhash_core::join::{NoMemory, Position, Rows, Run, Source};
use simhash_core::search::Key;
use simhash_index::page::capacity;
use simhash_index::walk::LeafWalk;
use simhash_index::{Damage, Entry, Store};

use super::progress;
use super::session::no_memory;
use crate::am::check_for_interrupts;
use crate::storage::{Index, PageBytes};

/// The leaves of an open index.
pub struct Leaves<'a, F> {
    index: &'a Index<F>,
    entries: Vec<Entry<F>>,
    rows: Vec<(F, u64)>,
}

impl<'a, F: Key> Leaves<'a, F> {
    pub fn new(index: &'a Index<F>) -> Self {
        Self { index, entries: Vec::new(), rows: Vec::new() }
    }
}

/// The most rows that each table of an index can have.
pub fn most_rows<F: Key>(index: &Index<F>) -> usize {
    // A table of one leaf is its root.
    (index.leaves_per_table() + 1.0) as usize * capacity::<F>(size_of::<PageBytes>(), 0)
}

impl<F: Key> Source<F> for Leaves<'_, F> {
    fn read(&mut self, rows: Rows<F>, run: &mut Run<F>) -> Option<Position<F>> {
        let entry = |(key, tid)| Entry { key, tid };
        let to = rows.to.map(entry);
        let mut walk = LeafWalk::new(rows.table as u8, entry(rows.from));
        progress::reading();
        while let Some(low) = walk.position() {
            check_for_interrupts();
            if to.is_none() && run.rows() >= rows.limit {
                return Some((low.key, low.tid));
            }
            let Some(leaf) = walk.next_leaf(self.index, &mut self.entries) else { break };
            drop(leaf);
            let wanted = self.entries.drain(..).filter(|entry| to.is_none_or(|to| *entry < to));
            self.rows.extend(wanted.map(|entry| (entry.key, entry.tid)));
            let end = walk.position();
            let upto = end.map_or(Bound::Unbounded, |end| Bound::Excluded((end.key, end.tid)));
            if run.push(&mut self.rows, (Bound::Included((low.key, low.tid)), upto)).is_err() {
                let damage = Damage::Other("a key is outside its bounds");
                self.index.store.damaged(walk.block(), &damage);
            }
            if rows.to.is_some() && end.is_none_or(|end| to.is_some_and(|to| end >= to)) {
                progress::read(run.rows());
                return rows.to;
            }
        }
        progress::read(run.rows());
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
