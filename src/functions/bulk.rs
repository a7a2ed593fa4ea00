//! `simhash_pairs`, `simhash_clusters`, and what sessions that run them report.

use std::rc::Rc;

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};

use simhash_core::sets::similarity::{Measure, Similarity};
use simhash_core::sets::sketch::DEFAULT_SIMILARITY;

use super::shingles::shingles_of;
use crate::bulk::clusters::clusters;
use crate::bulk::held::Held;
use crate::bulk::pairs::{pairs, verified_pairs};
use crate::bulk::progress::reports;
use crate::bulk::row;
use crate::bulk::target::{Content, Source, Target};
use crate::bulk::texts::{self, Linkage};
use crate::bulk::verify::Verification;
use crate::catalog::Schema;
use crate::error::raise;
use crate::types::{ConfigText, Text};

/// A row: its TID, and its table.
type Place = (pg_sys::ItemPointerData, pg_sys::Oid);

/// What the numbers of rows mean.
struct Places(Rc<[Source]>);

impl Places {
    fn of(target: &Target) -> Self {
        Self(target.sources.clone())
    }

    fn of_row(&self, number: u64) -> Place {
        (row::unpack(number), self.0[row::table(number)].heap)
    }
}

type PairRows = TableIterator<
    'static,
    (
        name!(a, pg_sys::ItemPointerData),
        name!(b, pg_sys::ItemPointerData),
        name!(distance, i32),
        name!(a_table, pg_sys::Oid),
        name!(b_table, pg_sys::Oid),
    ),
>;

/// Lets go of what the call holds after its last row.
fn all_of<T>(rows: impl Iterator<Item = T>, held: Held) -> impl Iterator<Item = T> {
    let mut held = Some(held);
    rows.chain(std::iter::from_fn(move || {
        if let Some(held) = held.take() {
            held.let_go();
        }
        None
    }))
}

fn pair_rows(target: Target, distance: i32, fcinfo: pg_sys::FunctionCallInfo) -> PairRows {
    let places = Places::of(&target);
    // SAFETY: this function returns a set, and this is its first call.
    let held = unsafe { Held::hold(&target, fcinfo) };
    TableIterator::new(all_of(pairs(target, distance), held).map(move |(a, b, distance)| {
        let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
        (a, b, distance as i32, a_table, b_table)
    }))
}

/// Every pair of rows within a distance, as pairs are found.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_pairs(index: pg_sys::Oid, distance: i32, fcinfo: pg_sys::FunctionCallInfo) -> PairRows {
    pair_rows(Target::new(index, Content::Fingerprints), distance, fcinfo)
}

/// Every row of one index with every row of another within a distance.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_pairs_of_two(
    index: pg_sys::Oid,
    other: pg_sys::Oid,
    distance: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> PairRows {
    pair_rows(Target::of_two(index, other, Content::Fingerprints), distance, fcinfo)
}

type VerifiedRows = TableIterator<
    'static,
    (
        name!(a, pg_sys::ItemPointerData),
        name!(b, pg_sys::ItemPointerData),
        name!(distance, i32),
        name!(similarity, f32),
        name!(a_table, pg_sys::Oid),
        name!(b_table, pg_sys::Oid),
    ),
>;

fn verified_rows(
    target: Target,
    distance: i32,
    how: Verification,
    fcinfo: pg_sys::FunctionCallInfo,
) -> VerifiedRows {
    let places = Places::of(&target);
    // SAFETY: this function returns a set, and this is its first call.
    let held = unsafe { Held::hold(&target, fcinfo) };
    TableIterator::new(all_of(verified_pairs(target, distance, how), held).map(
        move |((a, b, distance), similarity)| {
            let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
            (a, b, distance as i32, similarity as f32, a_table, b_table)
        },
    ))
}

/// Every pair of rows within a distance whose texts are similar.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_verified_pairs(
    index: pg_sys::Oid,
    distance: i32,
    body: Text<'_>,
    similarity: f64,
    shingle: i32,
    measure: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> VerifiedRows {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(fcinfo));
    verified_rows(Target::new(index, Content::Fingerprints), distance, how, fcinfo)
}

/// Every row of one index with every row of another within a distance, if their texts are similar.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_verified_pairs_of_two(
    index: pg_sys::Oid,
    other: pg_sys::Oid,
    distance: i32,
    body: Text<'_>,
    similarity: f64,
    shingle: i32,
    measure: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> VerifiedRows {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(fcinfo));
    verified_rows(Target::of_two(index, other, Content::Fingerprints), distance, how, fcinfo)
}

type SimilarRows = TableIterator<
    'static,
    (
        name!(a, pg_sys::ItemPointerData),
        name!(b, pg_sys::ItemPointerData),
        name!(similarity, f64),
        name!(a_table, pg_sys::Oid),
        name!(b_table, pg_sys::Oid),
    ),
>;

fn similar_rows(target: Target, similarity: f64, fcinfo: pg_sys::FunctionCallInfo) -> SimilarRows {
    let places = Places::of(&target);
    // SAFETY: this function returns a set, and this is its first call.
    let held = unsafe { Held::hold(&target, fcinfo) };
    let pairs = texts::pairs(target, similarity).into_iter().flatten();
    TableIterator::new(all_of(pairs, held).map(move |(a, b, similarity)| {
        let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
        (a, b, similarity, a_table, b_table)
    }))
}

/// Every pair of rows whose texts are near-duplicates, as pairs are found.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_similar_pairs(
    index: pg_sys::Oid,
    similarity: f64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> SimilarRows {
    similar_rows(Target::new(index, Content::Texts), similarity, fcinfo)
}

/// Every row of one index with every row of another if their texts are near-duplicates.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_similar_pairs_of_two(
    index: pg_sys::Oid,
    other: pg_sys::Oid,
    similarity: f64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> SimilarRows {
    similar_rows(Target::of_two(index, other, Content::Texts), similarity, fcinfo)
}

type DuplicateRows = TableIterator<
    'static,
    (
        name!(duplicate, pg_sys::ItemPointerData),
        name!(kept, pg_sys::ItemPointerData),
        name!(similarity, Option<f64>),
        name!(distance, Option<i32>),
        name!(duplicate_table, pg_sys::Oid),
        name!(kept_table, pg_sys::Oid),
    ),
>;

/// The rows that a cover drops, each with the row that stands for it.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_duplicates(
    index: Option<pg_sys::Oid>,
    similarity: Option<f64>,
    distance: Option<i32>,
    keep: Option<Text<'_>>,
    other: Option<pg_sys::Oid>,
) -> DuplicateRows {
    let Some(index) = index else { return TableIterator::new(std::iter::empty()) };
    let _ = distance;
    let target = match other {
        None => Target::new(index, Content::Texts),
        Some(other) => Target::of_two(index, other, Content::Texts),
    };
    let places = Places::of(&target);
    let similarity = similarity.unwrap_or(DEFAULT_SIMILARITY);
    let keep = keep.as_ref().map(Text::as_str);
    let rows = texts::duplicates(target, similarity, keep).map(move |(row, kept, similarity)| {
        let ((row, table), (kept, kept_table)) = (places.of_row(row), places.of_row(kept));
        (row, kept, Some(similarity), None, table, kept_table)
    });
    TableIterator::new(rows)
}

type SimilarClusterRows = TableIterator<
    'static,
    (
        name!(member, pg_sys::ItemPointerData),
        name!(representative, pg_sys::ItemPointerData),
        name!(size, i32),
        name!(similarity, f64),
        name!(least_similarity, f64),
        name!(member_table, pg_sys::Oid),
        name!(representative_table, pg_sys::Oid),
    ),
>;

/// Every row that has a near-duplicate, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_similar_clusters(
    index: Option<pg_sys::Oid>,
    similarity: Option<f64>,
    linkage: Option<Text<'_>>,
    keep: Option<Text<'_>>,
) -> SimilarClusterRows {
    let Some(index) = index else { return TableIterator::new(std::iter::empty()) };
    let target = Target::new(index, Content::Texts);
    let places = Places::of(&target);
    let linkage = linkage.as_ref().map_or(Linkage::Chain, |name| linkage_of(name.as_str()));
    let similarity = similarity.unwrap_or(DEFAULT_SIMILARITY);
    let keep = keep.as_ref().map(Text::as_str);
    let rows = texts::clusters(target, similarity, linkage, keep).map(move |member| {
        let (row, table) = places.of_row(member.row);
        let (representative, representative_table) = places.of_row(member.representative);
        let size = i32::try_from(member.size).unwrap_or(i32::MAX);
        (row, representative, size, member.similarity, member.least, table, representative_table)
    });
    TableIterator::new(rows)
}

fn linkage_of(name: &str) -> Linkage {
    match name {
        "chain" => Linkage::Chain,
        "star" => Linkage::Star,
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("linkage \"{name}\" is not known"),
            "Allowed: chain, star.",
        ),
    }
}

type ClusterRows = TableIterator<
    'static,
    (
        name!(member, pg_sys::ItemPointerData),
        name!(representative, pg_sys::ItemPointerData),
        name!(size, i32),
        name!(member_table, pg_sys::Oid),
        name!(representative_table, pg_sys::Oid),
    ),
>;

fn cluster_rows(target: Target, distance: i32, how: Option<Verification>) -> ClusterRows {
    let places = Places::of(&target);
    let rows = clusters(target, distance, how).map(move |(member, representative, size)| {
        let (member, member_table) = places.of_row(member);
        let (representative, representative_table) = places.of_row(representative);
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        (member, representative, size, member_table, representative_table)
    });
    TableIterator::new(rows)
}

/// Every row that has a near-duplicate, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_clusters(index: pg_sys::Oid, distance: i32) -> ClusterRows {
    cluster_rows(Target::new(index, Content::Fingerprints), distance, None)
}

/// Every row that has a near-duplicate with a similar text, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_verified_clusters(
    index: pg_sys::Oid,
    distance: i32,
    body: Text<'_>,
    similarity: f64,
    shingle: i32,
    measure: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> ClusterRows {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(fcinfo));
    cluster_rows(Target::new(index, Content::Fingerprints), distance, Some(how))
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
        0 => similarity.shingles(&config),
        _ => shingles_of(shingle, "0, which takes those of the config, and "),
    };
    let shingles = similarity.config(&config, sizes);
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
