//! A table from left to right, leaf by leaf, each row once.
//!
//! The position is the bound below which everything has been read. So leaves that are split,
//! emptied or reused meanwhile neither hide an entry nor show it twice.

use crate::damage::Damage;
use crate::index::Index;
use crate::key::TreeKey;
use crate::page::{Entry, NO_PAGE, Row};
use crate::store::{Lock, Store};

/// A walk in progress.
#[derive(Clone, Copy, Debug)]
pub struct LeafWalk<K> {
    table: u8,
    /// `None`: at the end.
    position: Option<Entry<K>>,
    leaf: u32,
}

impl<K: TreeKey> LeafWalk<K> {
    /// A walk over the rows of a table from this entry on.
    pub fn new(table: u8, from: Entry<K>) -> Self {
        Self { table, position: Some(from), leaf: NO_PAGE }
    }

    pub fn table(&self) -> u8 {
        self.table
    }

    /// The bound below which everything has been read. `None` at the end.
    pub fn position(&self) -> Option<Entry<K>> {
        self.position
    }

    /// The number of the leaf that was read last.
    pub fn leaf(&self) -> u32 {
        self.leaf
    }

    /// Reads the next leaf and appends its rows, in no order. Returns the leaf, still locked, or
    /// `None` at the end.
    pub fn next_leaf<S: Store>(
        &mut self,
        index: &Index<K, S>,
        rows: &mut Vec<Row<K>>,
    ) -> Option<S::Shared> {
        let low = self.position?;
        let (leaf, number) = index.read_leaf(self.table, &low, None);
        let page = index.checked(number, leaf.bytes());
        for row in page.rows::<K>().filter(|row| row.entry >= low) {
            if row.entry.tid & 0xffff == 0 {
                index.store.damaged(number, &Damage::Other("it holds a TID without an offset"));
            }
            rows.push(row);
        }
        self.position = page.bounds().high;
        self.leaf = number;
        Some(leaf)
    }
}
