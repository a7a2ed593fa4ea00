//! What an index looks like: its numbers for `simhash_index_info`.

use pgrx::pg_sys;
use simhash_index::Shape;
use simhash_index::facts::{TableFacts, table_facts};
use simhash_index::page::Form;

use super::elsewhere::check_rows_are_here;
use super::kind::open;
use super::opened::Opened;
use super::rights::check_may_know;
use crate::storage::{PageBytes, family, with_key_type};

/// The numbers, as the SQL catalogue explains them. A ratio is none where its denominator is 0.
pub struct Info {
    pub rows: u64,
    pub block_tables: u32,
    pub pages: u32,
    pub bytes_per_row: Option<f64>,
    pub levels: u32,
    pub largest_run: u64,
    pub mean_run: Option<f64>,
    pub fill: Option<f64>,
}

/// How many rows fit on a leaf.
fn capacity(shape: &Shape) -> usize {
    shape.leaf_capacity(size_of::<PageBytes>(), Form::UNIFORM)
}

/// The numbers of an index. Raises an ERROR unless the caller may know them.
pub fn info(index: pg_sys::Oid) -> Info {
    check_may_know(index);
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    opened.check_valid();
    check_rows_are_here(&opened);
    let rel = opened.rel();
    let (block_tables, facts, nulls, capacity) = with_key_type!(family(rel), K => {
        let index = open::<K>(rel);
        let facts = |block_table| table_facts(&index, block_table);
        let of_keys: Vec<TableFacts> = (0..index.null_table()).map(facts).collect();
        let nulls = facts(index.null_table()).rows;
        (index.layout.blocks(), of_keys, nulls, capacity(&index.shape))
    });
    let pages = rel.pages();
    let rows = facts[0].rows + nulls;
    let total = |of: fn(&TableFacts) -> u64| facts.iter().map(of).sum::<u64>() as f64;
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    Info {
        rows,
        block_tables,
        pages,
        bytes_per_row: ratio(f64::from(pages) * f64::from(pg_sys::BLCKSZ), rows as f64),
        levels: facts.iter().map(|f| f.levels).max().unwrap_or(0),
        largest_run: facts.iter().map(|f| f.largest_run).max().unwrap_or(0),
        mean_run: ratio(total(|f| f.rows), total(|f| f.distinct)),
        fill: ratio(total(|f| f.rows), total(|f| f.leaves) * capacity as f64),
    }
}
