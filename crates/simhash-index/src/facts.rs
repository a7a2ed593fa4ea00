//! Figures of an index: rows, leaves, levels, and how evenly rows are spread over the values of a
//! table's block within a scope.

use simhash_core::base::key::Key;

use crate::index::Index;
use crate::key::TreeKey;
use crate::page::Entry;
use crate::store::{Lock, Store};
use crate::walk::LeafWalk;

/// What a walk over the leaves of a table finds.
#[derive(Default)]
pub struct TableFacts {
    pub rows: u64,
    pub leaves: u64,
    /// Rows for which the leaves have room, as they store them.
    pub capacity: u64,
    pub levels: u32,
    /// Values of the table's block that at least one row has, in each scope.
    pub distinct: u64,
    /// The most rows that share such a value.
    pub largest_run: u64,
}

/// Walks the leaves of a table.
pub fn table_facts<K: TreeKey, S: Store>(index: &Index<K, S>, table: u8) -> TableFacts {
    let mut facts = TableFacts::default();
    let mut walk = LeafWalk::new(table, Entry::MIN);
    let mut rows = Vec::new();
    let mut run: Option<(K, u64)> = None;
    let width = if table < index.null_table() && !index.is_of_postings() {
        index.layout.width(u32::from(table))
    } else {
        index.layout.bits()
    };
    loop {
        index.store.check_for_interrupts();
        let Some(leaf) = walk.next_leaf(index, &mut rows) else { break };
        let page = index.checked(walk.leaf(), leaf.bytes());
        facts.capacity += (page.len() + page.room()) as u64;
        drop(leaf);
        let block =
            |key: K| K::new(key.scope(), key.fingerprint() & K::Fingerprint::leading_mask(width));
        let mut blocks: Vec<K> = rows.drain(..).map(|row| block(row.entry.key)).collect();
        facts.leaves += 1;
        facts.rows += blocks.len() as u64;
        blocks.sort_unstable();
        for same in blocks.chunk_by(|a, b| a == b) {
            let before = run.filter(|(key, _)| *key == same[0]).map_or(0, |(_, length)| length);
            facts.distinct += u64::from(before == 0);
            let length = before + same.len() as u64;
            facts.largest_run = facts.largest_run.max(length);
            run = Some((same[0], length));
        }
    }
    facts.levels = u32::from(index.height(table)) + 1;
    facts
}
