//! How many postings share a key, by a sample of leaves. From this the planner estimates how alike
//! the texts of an index are.

use crate::index::Index;
use crate::key::TreeKey;
use crate::page::Entry;
use crate::postings::{RECENT, SETTLED};
use crate::store::{Lock, Store};

/// The most leaves that are read.
const LEAVES: usize = 32;

impl<K: TreeKey, S: Store> Index<K, S> {
    /// How many postings have the key of a posting, itself included, on average over all postings:
    /// the rows that share a key with a row. A backend reads the sample once, and again when the
    /// file has doubled.
    pub fn expected_run(&self) -> f64 {
        self.remembered_run(expected)
    }
}

fn expected<K: TreeKey, S: Store>(index: &Index<K, S>) -> f64 {
    let leaves = [RECENT, SETTLED].map(|table| f64::from(index.table_leaves(table)));
    // The tables hold postings of the same rows. The smaller one is assumed to be like the greater.
    let (table, own) = if leaves[0] > leaves[1] || is_empty(index) {
        (RECENT, leaves[0])
    } else {
        (SETTLED, leaves[1])
    };
    let others = if is_empty(index) { 0.0 } else { leaves[0] + leaves[1] - own };
    1.0 + (run_in(index, table, own) - 1.0) * (own + others) / own
}

/// Whether no posting has settled.
fn is_empty<K: TreeKey, S: Store>(index: &Index<K, S>) -> bool {
    let (leaf, number) = index.read_leaf(SETTLED, &Entry::MIN, None);
    let page = index.checked(number, leaf.bytes());
    page.is_empty() && page.right().is_none()
}

/// The expected run in a table of so many leaves.
fn run_in<K: TreeKey, S: Store>(index: &Index<K, S>, table: u8, leaves: f64) -> f64 {
    let separators = index.separators(table);
    let count = separators.len().clamp(1, LEAVES);
    let (mut postings, mut sum) = (0.0, 0.0);
    let mut keys: Vec<K> = Vec::new();
    for place in 0..count {
        let start = separators.get(place * separators.len() / count).copied();
        let (leaf, number) = index.read_leaf(table, &start.unwrap_or(Entry::MIN), None);
        let page = index.checked(number, leaf.bytes());
        let bounds = page.bounds::<K>();
        keys.clear();
        keys.extend(page.entries::<K>().map(|entry| entry.key));
        drop(leaf);
        keys.sort_unstable();
        let of_leaf = keys.len() as f64;
        for run in keys.chunk_by(|a, b| a == b) {
            let key = run[0];
            let is_of = |entry: &Entry<K>| entry.key == key;
            let fills = is_of(&bounds.low) && bounds.high.as_ref().is_some_and(is_of);
            // A run of many leaves is as long as separators with its key are many.
            let alike = if fills { separators.iter().filter(|s| is_of(s)).count() } else { 0 };
            let many = of_leaf * leaves * alike as f64 / separators.len().max(1) as f64;
            let length = run.len() as f64;
            postings += length;
            sum += length * length.max(many);
        }
    }
    if postings == 0.0 { 1.0 } else { sum / postings }
}
