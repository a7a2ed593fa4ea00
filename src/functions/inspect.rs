//! `simhash_index_info`, `simhash_index_check` and `simhash_last_scans`: the size and shape of an
//! index, a check of its pages, and the work of its latest scans.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};

use crate::am::check::check;
use crate::am::info::{Info, info};
use crate::am::rights::may_know;
use crate::am::scan::account;
use crate::types::ConfigText;

/// The columns that both versions of `simhash_index_info` have.
type Columns = (i64, i32, i64, Option<f64>, i32, i64, Option<f64>, Option<f64>);

fn columns(info: &Info) -> Columns {
    (
        info.rows as i64,
        info.block_tables as i32,
        i64::from(info.pages),
        info.bytes_per_row,
        info.levels as i32,
        info.largest_run as i64,
        info.mean_run,
        info.fill,
    )
}

/// One row about an index, with the columns that version 0.1.0 declares.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_index_info(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(rows, i64),
        name!(tables, i32),
        name!(pages, i64),
        name!(bytes_per_row, Option<f64>),
        name!(levels, i32),
        name!(largest_run, i64),
        name!(mean_run, Option<f64>),
        name!(fill, Option<f64>),
    ),
> {
    TableIterator::once(columns(&info(index)))
}

/// One row about an index: see the SQL catalogue for the columns.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_index_numbers(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(rows, i64),
        name!(tables, i32),
        name!(pages, i64),
        name!(bytes_per_row, Option<f64>),
        name!(levels, i32),
        name!(largest_run, i64),
        name!(mean_run, Option<f64>),
        name!(fill, Option<f64>),
        name!(postings, Option<i64>),
        name!(recent, Option<i64>),
        name!(similarity, Option<f64>),
        name!(config, Option<ConfigText<'static>>),
        name!(words, Option<i32>),
    ),
> {
    let info = info(index);
    let (rows, tables, pages, bytes_per_row, levels, largest_run, mean_run, fill) = columns(&info);
    let texts = info.texts.as_ref();
    TableIterator::once((
        rows,
        tables,
        pages,
        bytes_per_row,
        levels,
        largest_run,
        mean_run,
        fill,
        texts.map(|texts| texts.postings as i64),
        texts.map(|texts| texts.recent as i64),
        texts.and_then(|texts| texts.similarity),
        texts.map(|texts| ConfigText::stored(&texts.config)),
        texts.and_then(|texts| texts.words).map(|words| words as i32),
    ))
}

/// Verifies an index. Raises XX002, which names the damaged page.
#[pg_extern(sql = false)]
fn simhash_index_check(index: pg_sys::Oid, heap: bool) {
    check(index, heap);
}

/// The work of this session's latest scans, the last one first, of the indexes that the role may
/// inspect.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_last_scans() -> TableIterator<
    'static,
    (
        name!(index, pg_sys::Oid),
        name!(searches, i64),
        name!(leaves, i64),
        name!(candidates, i64),
        name!(returned, i64),
        name!(rechecked, i64),
        name!(dead, i64),
    ),
> {
    let known = account::latest().into_iter().filter(|scan| may_know(scan.index));
    TableIterator::new(known.map(|scan| {
        (
            scan.index,
            scan.searches as i64,
            scan.leaves as i64,
            scan.candidates as i64,
            scan.returned as i64,
            scan.rechecked as i64,
            scan.dead as i64,
        )
    }))
}
