//! `simhash_pairs`, `simhash_clusters`, and what sessions that run them report.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};

use simhash_core::sets::set_config;
use simhash_core::sets::similarity::{Measure, Similarity};

use super::shingles::shingles_of;
use crate::bulk::clusters::clusters;
use crate::bulk::pairs::{pairs, verified_pairs};
use crate::bulk::progress::reports;
use crate::bulk::verify::Verification;
use crate::catalog::Schema;
use crate::error::raise;
use crate::types::{ConfigText, Text, tid};

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
    TableIterator::new(clusters(index, distance, None).map(member))
}

fn member(
    (member, representative, size): (u64, u64, u32),
) -> (pg_sys::ItemPointerData, pg_sys::ItemPointerData, i32) {
    (tid::unpack(member), tid::unpack(representative), i32::try_from(size).unwrap_or(i32::MAX))
}

/// Every pair of rows within a distance whose texts are similar.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_verified_pairs(
    index: pg_sys::Oid,
    distance: i32,
    body: Text<'_>,
    similarity: f64,
    shingle: i32,
    measure: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(a, pg_sys::ItemPointerData),
        name!(b, pg_sys::ItemPointerData),
        name!(distance, i32),
        name!(similarity, f32),
    ),
> {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(fcinfo));
    let pairs = verified_pairs(index, distance, how);
    TableIterator::new(pairs.map(|((a, b, distance), similarity)| {
        (tid::unpack(a), tid::unpack(b), distance as i32, similarity as f32)
    }))
}

/// Every row that has a near-duplicate with a similar text, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_verified_clusters(
    index: pg_sys::Oid,
    distance: i32,
    body: Text<'_>,
    similarity: f64,
    shingle: i32,
    measure: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(member, pg_sys::ItemPointerData),
        name!(representative, pg_sys::ItemPointerData),
        name!(size, i32),
    ),
> {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(fcinfo));
    TableIterator::new(clusters(index, distance, Some(how)).map(member))
}

fn verification(
    body: Text<'_>,
    similarity: f64,
    shingle: i32,
    measure: Text<'_>,
    config: ConfigText<'_>,
    schema: Schema,
) -> Verification {
    let measure = Measure::from_name(measure.as_str()).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("measure \"{}\" is not known", measure.as_str()),
            &format!("Allowed: {}.", Measure::names()),
        )
    });
    let similarity = Similarity::new(measure, similarity).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("similarity {similarity} is out of range"),
            "Allowed: greater than 0, at most 1.",
        )
    });
    let config = config.config();
    let sizes = match shingle {
        0 => config.shingle,
        _ => shingles_of(shingle, "0, which takes those of the config, and "),
    };
    let shingles = set_config(&config, sizes);
    Verification { body: body.as_str().to_owned(), similarity, shingles, schema }
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
