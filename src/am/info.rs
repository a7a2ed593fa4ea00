//! Computes the numbers that `simhash_index_info` shows of an index.

use std::rc::Rc;

use pgrx::pg_sys;
use simhash_index::TreeKey;
use simhash_index::facts::{TableFacts, table_facts};
use simhash_index::postings::{RECENT, ROWS, SETTLED};

use super::elsewhere::check_rows_are_here;
use super::kind::open;
use super::opened::Opened;
use super::passages::PassageRecipe;
use super::rights::check_may_know;
use super::texts::Recipe;
use crate::storage::{Index, family, meta, with_key_type};

/// The numbers, as the SQL function's COMMENT explains them. A ratio is `None` if its denominator
/// is 0.
pub struct Info {
    pub rows: u64,
    pub block_tables: u32,
    pub pages: u32,
    pub bytes_per_row: Option<f64>,
    pub levels: u32,
    pub largest_run: u64,
    pub mean_run: Option<f64>,
    pub fill: Option<f64>,
    /// `None` for an index of fingerprints.
    pub texts: Option<TextInfo>,
}

/// The numbers that only an index of texts has.
pub struct TextInfo {
    /// All postings, and those in the recent tree.
    pub postings: u64,
    pub recent: u64,
    /// The least similarity that the index serves, or the least number of words of a passage.
    pub similarity: Option<f64>,
    pub words: Option<usize>,
    pub config: Rc<str>,
}

/// The numbers of an index. Raises an ERROR unless the caller may know them ([`check_may_know`]).
pub fn info(index: pg_sys::Oid) -> Info {
    check_may_know(index);
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    opened.check_valid();
    check_rows_are_here(&opened);
    let rel = opened.rel();
    if meta(rel).is_of_postings() {
        return with_key_type!(family(rel), K => of_texts(&open::<K>(rel)));
    }
    let (block_tables, facts, nulls) = with_key_type!(family(rel), K => {
        let index = open::<K>(rel);
        let facts = |block_table| table_facts(&index, block_table);
        let of_keys: Vec<TableFacts> = (0..index.null_table()).map(facts).collect();
        let nulls = facts(index.null_table()).rows;
        (index.layout.blocks(), of_keys, nulls)
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
        fill: ratio(total(|f| f.rows), total(|f| f.capacity)),
        texts: None,
    }
}

/// The numbers of an index of texts. Here a run is all rows that share a key.
fn of_texts<K: TreeKey>(index: &Index<K>) -> Info {
    let [recent, settled, rows] = [RECENT, SETTLED, ROWS].map(|table| table_facts(index, table));
    let pages = index.store.pages();
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let (similarity, words, config) = if index.meta().is_of_passages() {
        let PassageRecipe { words, config, .. } = PassageRecipe::of(index.store);
        (None, Some(words), config)
    } else {
        let Recipe { similarity, config, .. } = Recipe::of(index.store);
        (Some(similarity), None, config)
    };
    Info {
        rows: rows.rows,
        block_tables: u32::from(ROWS) + 1,
        pages,
        bytes_per_row: ratio(f64::from(pages) * f64::from(pg_sys::BLCKSZ), rows.rows as f64),
        levels: settled.levels,
        largest_run: settled.largest_run.max(recent.largest_run),
        mean_run: ratio(settled.rows as f64, settled.distinct as f64),
        fill: ratio(settled.rows as f64, settled.capacity as f64),
        texts: Some(TextInfo {
            postings: recent.rows + settled.rows,
            recent: recent.rows,
            similarity,
            words,
            config,
        }),
    }
}
