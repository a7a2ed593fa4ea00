//! Reads a range of a block table, joins it with itself, and keeps the rows that have neighbours.

use std::ops::Bound;

use simhash_core::base::memory::NoMemory;
use simhash_core::search::{Plan, TreeKey};
use simhash_core::whole::join::{Chunk, Rows, Source, Start, bytes_per_row, mark_neighbours};

use crate::bulk::errors::no_memory;
use crate::bulk::leaves::{Leaves, Sink};
use crate::storage::check_for_interrupts;

/// The bytes needed for each row of a range while the range is joined.
pub fn bytes_of_row<K: TreeKey>() -> usize {
    bytes_per_row::<K>() + size_of::<(K, u64)>() + 1
}

/// The memory into which a process reads ranges, one after the other.
pub struct Range<K: TreeKey> {
    chunk: Chunk<K>,
    /// The rows of the chunk, in its order.
    pub rows: Vec<(K, u64)>,
    /// The most rows that fit in memory.
    limit: usize,
}

impl<K: TreeKey> Range<K> {
    /// Allocates memory for so many rows, and for one more leaf.
    pub fn new(limit: usize) -> Self {
        let mut rows = Vec::new();
        if rows.try_reserve_exact(limit + 1024).is_err() {
            no_memory(NoMemory { bytes: limit * size_of::<(K, u64)>() });
        }
        Self { chunk: Chunk::default(), rows, limit }
    }

    /// Reads range number `number` of a table that is divided at `starts`, and keeps the rows with
    /// neighbours. Returns how many rows were read, or `None` if they do not fit in memory.
    pub fn read(
        &mut self,
        leaves: &mut Leaves<'_, K>,
        (plan, table): (&Plan, u32),
        starts: &[Start<K>],
        number: usize,
    ) -> Option<usize> {
        let to = starts.get(number + 1).copied();
        let rows = Rows { table, from: starts[number], to, limit: self.limit };
        self.rows.clear();
        self.chunk
            .restart(self.limit + 1024, leaves.split())
            .unwrap_or_else(|refused| no_memory(refused));
        leaves.read_into(rows, self);
        if self.is_full(&rows) {
            return None;
        }
        self.chunk.finish(&mut || check_for_interrupts());
        let read = self.rows.len();
        let is_near = mark_neighbours(plan, table, &self.chunk, &mut || check_for_interrupts());
        let mut is_near = is_near.into_iter();
        self.rows.retain(|_| is_near.next() == Some(true));
        Some(read)
    }
}

impl<K: TreeKey> Sink<K> for Range<K> {
    fn is_full(&self, _: &Rows<K>) -> bool {
        self.rows.len() >= self.limit
    }

    fn push(
        &mut self,
        rows: &mut Vec<(K, u64)>,
        within: (Bound<Start<K>>, Bound<Start<K>>),
    ) -> bool {
        rows.sort_unstable();
        self.rows.extend_from_slice(rows);
        self.chunk.push(rows, within).is_ok()
    }
}
