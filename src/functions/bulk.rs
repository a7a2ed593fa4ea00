//! `simhash_pairs`, `simhash_clusters`, and what sessions that run them report.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};

use crate::bulk::clusters::clusters;
use crate::bulk::pairs::pairs;
use crate::bulk::progress::reports;
use crate::types::tid;

/// Every pair of rows within a distance, as pairs are found.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_pairs(
    index: pg_sys::Oid,
    distance: i32,
) -> TableIterator<
    'static,
    (name!(a, pg_sys::ItemPointerData), name!(b, pg_sys::ItemPointerData), name!(distance, i32)),
> {
    let pairs = pairs(index, distance);
    TableIterator::new(
        pairs.map(|(a, b, distance)| (tid::unpack(a), tid::unpack(b), distance as i32)),
    )
}

/// Every row that has a near-duplicate, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_clusters(
    index: pg_sys::Oid,
    distance: i32,
) -> TableIterator<
    'static,
    (
        name!(member, pg_sys::ItemPointerData),
        name!(representative, pg_sys::ItemPointerData),
        name!(size, i32),
    ),
> {
    let clusters = clusters(index, distance);
    TableIterator::new(clusters.map(|(member, representative, size)| {
        (tid::unpack(member), tid::unpack(representative), i32::try_from(size).unwrap_or(i32::MAX))
    }))
}

/// What sessions report; the view simhash_progress adds names.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_get_progress() -> TableIterator<
    'static,
    (
        name!(pid, i32),
        name!(datid, pg_sys::Oid),
        name!(relid, Option<pg_sys::Oid>),
        name!(index_relid, Option<pg_sys::Oid>),
        name!(command, Option<&'static str>),
        name!(phase, Option<&'static str>),
        name!(tables_total, Option<i64>),
        name!(tables_done, Option<i64>),
        name!(rows_total, Option<i64>),
        name!(rows_read, Option<i64>),
        name!(compared, Option<f64>),
        name!(pairs, Option<i64>),
    ),
> {
    TableIterator::new(reports().into_iter().map(|report| {
        let n = report.numbers.as_ref();
        (
            report.pid,
            report.database,
            n.map(|n| n.heap),
            n.map(|n| n.index),
            n.map(|n| n.command),
            n.map(|n| n.phase),
            n.map(|n| n.block_tables_total),
            n.map(|n| n.block_tables_done),
            n.map(|n| n.rows_total),
            n.map(|n| n.rows_read),
            n.map(|n| n.compared),
            n.map(|n| n.pairs),
        )
    }))
}
