//! `simhash_index_info` and `simhash_index_check`: what an index looks like, and whether it is
//! sound.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};

use crate::am::check::check;
use crate::am::info::{Info, info};

/// One row about an index: see the SQL catalogue for the columns.
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
    let Info { rows, block_tables, pages, bytes_per_row, levels, largest_run, mean_run, fill } =
        info(index);
    TableIterator::once((
        rows as i64,
        block_tables as i32,
        i64::from(pages),
        bytes_per_row,
        levels as i32,
        largest_run as i64,
        mean_run,
        fill,
    ))
}

/// Verifies an index; raises XX002 naming the page where something is wrong.
#[pg_extern(sql = false)]
fn simhash_index_check(index: pg_sys::Oid, heap: bool) {
    check(index, heap);
}
