//! What an index looks like: rows, leaves, levels, and how evenly a table's blocks are spread.

use simhash_core::search::Key;

use crate::index::{Index, root};
use crate::page::Entry;
use crate::store::{Lock, Store};
use crate::walk::LeafWalk;

/// What a walk over a table's leaves finds.
#[derive(Default)]
pub struct TableFacts {
    pub rows: u64,
    pub leaves: u64,
    pub levels: u32,
    /// Blocks (in the sense of block tables) with at least one row, and the most rows that share one.
    pub distinct: u64,
    pub largest_run: u64,
}

/// Walks the leaves of a table.
pub fn table_facts<F: Key, S: Store>(index: &Index<F, S>, table: u8) -> TableFacts {
    let mut facts = TableFacts::default();
    let mut walk = LeafWalk::new(table, Entry::MIN);
    let mut entries = Vec::new();
    let mut run: Option<(F, u64)> = None;
    let width = if table < index.null_table() { index.layout.width(u32::from(table)) } else { F::BITS };
    loop {
        index.store.check_for_interrupts();
        let Some(leaf) = walk.next_leaf(index, &mut entries) else { break };
        drop(leaf);
        let mut blocks: Vec<F> = entries.drain(..).map(|entry| entry.key & F::leading_mask(width)).collect();
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
    let block = root(table);
    let guard = index.store.read(block);
    facts.levels = u32::from(index.checked(block, guard.bytes()).level()) + 1;
    facts
}
