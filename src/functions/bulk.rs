//! `simhash_pairs`, `simhash_duplicates` and `simhash_clusters`, and the progress that sessions
//! report.

use std::rc::Rc;

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};

use simhash_core::Config;
use simhash_core::compare::similarity::{Measure, Similarity};
use simhash_core::sets::sketch::DEFAULT_SIMILARITY;

use super::shingles::shingles_instead;
use crate::bulk::clusters::clusters;
use crate::bulk::contained::Sharing;
use crate::bulk::fingerprints::{self, Duplicate};
use crate::bulk::held::Held;
use crate::bulk::measured::{Measured, Measuring};
use crate::bulk::pairs::{pairs, verified_pairs};
use crate::bulk::progress::{Command, reports};
use crate::bulk::row;
use crate::bulk::servers::fingerprints::Asking;
use crate::bulk::servers::parts::Parts;
use crate::bulk::target::{Content, Target};
use crate::bulk::texts::{self, Linkage, Origin};
use crate::bulk::verify::Verification;
use crate::call::Call;
use crate::catalog::Schema;
use crate::error::raise;
use crate::storage::check_for_interrupts;
use crate::types::{ConfigText, Text};

/// A row, by its TID and its table.
pub(super) type Place = (pg_sys::ItemPointerData, pg_sys::Oid);

/// The tables of numbered rows: [`row::table`] of a number is a place in this list.
pub(super) struct Places(Rc<[pg_sys::Oid]>);

impl Places {
    pub(super) fn of(target: &Target) -> Self {
        Self(target.sources.iter().map(|source| source.heap).collect())
    }

    pub(super) fn of_origin(origin: &Origin) -> Self {
        Self(origin.tables())
    }

    pub(super) fn of_row(&self, number: u64) -> Place {
        (row::unpack(number), self.0[row::table(number)])
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

/// Releases the relations that the call holds, after its last row.
pub(super) fn all_of<T>(rows: impl Iterator<Item = T>, held: Held) -> impl Iterator<Item = T> {
    let mut held = Some(held);
    rows.chain(std::iter::from_fn(move || {
        if let Some(held) = held.take() {
            held.let_go();
        }
        None
    }))
}

fn pair_rows(target: Target, distance: i32, call: Call<'_>) -> PairRows {
    let places = Places::of(&target);
    // SAFETY: the executor calls a set-returning SQL function, and this is its first call.
    let held = unsafe { Held::hold(&[&target], &call) };
    TableIterator::new(all_of(pairs(target, distance), held).map(move |(a, b, distance)| {
        let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
        (a, b, distance as i32, a_table, b_table)
    }))
}

/// Every pair of rows within a distance, in the order in which pairs are found.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_pairs(index: pg_sys::Oid, distance: i32, call: Call<'_>) -> PairRows {
    if !Parts::are_of(index) {
        return pair_rows(Target::new(index, Content::Fingerprints), distance, call);
    }
    let asking = Asking::new(index, distance, Command::Pairs);
    let places = Places(asking.tables());
    TableIterator::new(asking.pairs().map(move |(a, b, distance)| {
        let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
        (a, b, distance as i32, a_table, b_table)
    }))
}

/// Every pair of a row of one index and a row of another within a distance.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_pairs_of_two(
    index: pg_sys::Oid,
    other: pg_sys::Oid,
    distance: i32,
    call: Call<'_>,
) -> PairRows {
    pair_rows(Target::of_two(index, other, Content::Fingerprints), distance, call)
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

fn verified_rows(target: Target, distance: i32, how: Verification, call: Call<'_>) -> VerifiedRows {
    let places = Places::of(&target);
    let sharing = Sharing::find(&target, Some(&how), Command::Pairs);
    let mut held = vec![&target];
    held.extend(sharing.as_ref().map(Sharing::target));
    // SAFETY: the executor calls a set-returning SQL function, and this is its first call.
    let held = unsafe { Held::hold(&held, &call) };
    TableIterator::new(all_of(verified_pairs(target, distance, how, sharing), held).map(
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
    call: Call<'_>,
) -> VerifiedRows {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(&call));
    verified_rows(Target::new(index, Content::Fingerprints), distance, how, call)
}

/// Every pair of a row of one index and a row of another within a distance, if their texts are
/// similar.
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
    call: Call<'_>,
) -> VerifiedRows {
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(&call));
    verified_rows(Target::of_two(index, other, Content::Fingerprints), distance, how, call)
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

fn similar_rows(origin: Origin, similarity: f64, call: Call<'_>) -> SimilarRows {
    let places = Places::of_origin(&origin);
    let here: Vec<&Target> = match &origin {
        Origin::Here(target) => vec![target],
        Origin::Servers(_) => Vec::new(),
    };
    // SAFETY: the executor calls a set-returning SQL function, and this is its first call.
    let held = unsafe { Held::hold(&here, &call) };
    let pairs = texts::pairs(origin, similarity);
    TableIterator::new(all_of(pairs, held).map(move |(a, b, similarity)| {
        let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
        (a, b, similarity, a_table, b_table)
    }))
}

/// Every pair of rows whose texts are near-duplicates, in the order in which pairs are found.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_similar_pairs(index: pg_sys::Oid, similarity: f64, call: Call<'_>) -> SimilarRows {
    similar_rows(Origin::of(index, similarity), similarity, call)
}

/// Every pair of a row of one index and a row of another whose texts are near-duplicates.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_similar_pairs_of_two(
    index: pg_sys::Oid,
    other: pg_sys::Oid,
    similarity: f64,
    call: Call<'_>,
) -> SimilarRows {
    similar_rows(Target::of_two(index, other, Content::Texts).into(), similarity, call)
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

/// The rows that a cover drops, each with the kept row that is near it.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_duplicates(
    index: Option<pg_sys::Oid>,
    similarity: Option<f64>,
    distance: Option<i32>,
    keep: Option<Text<'_>>,
    body: Option<Text<'_>>,
    shingle: Option<i32>,
    measure: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    call: Call<'_>,
) -> DuplicateRows {
    let Some(index) = index else { return TableIterator::new(std::iter::empty()) };
    let asked = Asked { index, other: None };
    let schema = Schema::of_call(&call);
    duplicate_rows(asked, similarity, distance, keep, body, shingle, measure, config, schema)
}

/// The rows of one index that are near a row of another, each with that row.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_duplicates_of_two(
    index: Option<pg_sys::Oid>,
    other: Option<pg_sys::Oid>,
    similarity: Option<f64>,
    distance: Option<i32>,
    keep: Option<Text<'_>>,
    body: Option<Text<'_>>,
    shingle: Option<i32>,
    measure: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    call: Call<'_>,
) -> DuplicateRows {
    let (Some(index), Some(other)) = (index, other) else {
        return TableIterator::new(std::iter::empty());
    };
    let asked = Asked { index, other: Some(other) };
    let schema = Schema::of_call(&call);
    duplicate_rows(asked, similarity, distance, keep, body, shingle, measure, config, schema)
}

/// The index, or the two indexes, in which duplicates are found.
struct Asked {
    /// An index, or a table whose partitions lie on several servers.
    index: pg_sys::Oid,
    other: Option<pg_sys::Oid>,
}

impl Asked {
    fn target(&self, content: Content) -> Target {
        match self.other {
            None => Target::new(self.index, content),
            Some(other) => Target::of_two(self.index, other, content).of_other_tables(),
        }
    }

    fn origin(&self, similarity: f64) -> Origin {
        match self.other {
            None => Origin::of(self.index, similarity),
            Some(_) => self.target(Content::Texts).into(),
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn duplicate_rows(
    asked: Asked,
    similarity: Option<f64>,
    distance: Option<i32>,
    keep: Option<Text<'_>>,
    body: Option<Text<'_>>,
    shingle: Option<i32>,
    measure: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    schema: Schema,
) -> DuplicateRows {
    // NULL returns no rows. It must not become the default, since callers delete the returned rows.
    let (Some(similarity), Some(shingle), Some(measure), Some(config)) =
        (similarity, shingle, measure, config)
    else {
        return TableIterator::new(std::iter::empty());
    };
    let keep = keep.as_ref().map(Text::as_str);
    let is_verified = distance.is_some() && body.is_some();
    let config_of_all = config.config();
    let numbers = config_of_all.numbers;
    // An index on texts has its own config. Only the numbers may be given beside it.
    let in_keys = Config { numbers: numbers.filter(|_| distance.is_some()), ..config_of_all };
    let of_verification = [
        ("body", body.is_some() && distance.is_none()),
        ("shingle", shingle != 0),
        ("measure", Measure::from_name(measure.as_str()) != Some(Measure::default())),
        ("config", in_keys != Config::default()),
    ];
    if let Some((name, _)) = of_verification.into_iter().find(|&(_, is_set)| is_set && !is_verified)
    {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("\"{name}\" requires fingerprints that are verified by texts"),
            "Give a distance and, as body, the column of the texts. An index on texts uses none of \
             these arguments, and of the config only numbers.",
        )
    }
    let Some(distance) = distance else {
        let origin = asked.origin(similarity);
        let places = Places::of_origin(&origin);
        let rows = texts::duplicates(origin, similarity, keep, numbers);
        return TableIterator::new(rows.map(move |(row, kept, similarity)| {
            let ((row, table), (kept, kept_table)) = (places.of_row(row), places.of_row(kept));
            (row, kept, Some(similarity), None, table, kept_table)
        }));
    };
    let how = body.map(|body| verification(body, similarity, shingle, measure, config, schema));
    if how.is_none() && similarity != DEFAULT_SIMILARITY {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "distance and similarity together require the argument \"body\"".to_owned(),
            "Name the column of the texts: body => 'column'. Otherwise give only a similarity, for \
             an index on texts, or a distance, for one on fingerprints.",
        )
    }
    let command = Command::Duplicates;
    let (places, rows) = if asked.other.is_none() && how.is_none() && Parts::are_of(asked.index) {
        let asking = Asking::new(asked.index, distance, command);
        (Places(asking.tables()), asking.duplicates(keep))
    } else {
        let target = asked.target(Content::Fingerprints);
        let places = Places::of(&target);
        let sharing = Sharing::find(&target, how.as_ref(), command);
        (places, fingerprints::duplicates(target, distance, how, keep, command, sharing))
    };
    TableIterator::new(rows.into_iter().map(move |found| {
        let (row, table) = places.of_row(found.row);
        let (kept, kept_table) = places.of_row(found.kept);
        let similarity = is_verified.then_some(found.similarity);
        (row, kept, similarity, Some(found.distance as i32), table, kept_table)
    }))
}

type SimilarClusterRows = TableIterator<
    'static,
    (
        name!(member, pg_sys::ItemPointerData),
        name!(representative, pg_sys::ItemPointerData),
        name!(size, i32),
        name!(member_table, pg_sys::Oid),
        name!(representative_table, pg_sys::Oid),
        name!(similarity, f64),
        name!(least_similarity, f64),
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
    let (Some(index), Some(similarity)) = (index, similarity) else {
        return TableIterator::new(std::iter::empty());
    };
    let origin = Origin::of(index, similarity);
    let places = Places::of_origin(&origin);
    let linkage = linkage.as_ref().map_or(Linkage::Chain, |name| linkage_of(name.as_str()));
    let keep = keep.as_ref().map(Text::as_str);
    let rows = texts::clusters(origin, similarity, linkage, keep, None).map(move |member| {
        let (row, table) = places.of_row(member.row);
        let (representative, representative_table) = places.of_row(member.representative);
        let size = i32::try_from(member.size).unwrap_or(i32::MAX);
        (row, representative, size, table, representative_table, member.similarity, member.least)
    });
    TableIterator::new(rows)
}

fn linkage_of(name: &str) -> Linkage {
    match name {
        "chain" => Linkage::Chain,
        "star" => Linkage::Star,
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value \"{name}\" for \"linkage\""),
            "Allowed: chain, star.",
        ),
    }
}

type ClusterRows<M> = TableIterator<
    'static,
    (
        name!(member, pg_sys::ItemPointerData),
        name!(representative, pg_sys::ItemPointerData),
        name!(size, i32),
        name!(member_table, pg_sys::Oid),
        name!(representative_table, pg_sys::Oid),
        name!(own, M),
        name!(worst, M),
    ),
>;

/// The rows of clusters. `of` converts a distance or a similarity to the column's type.
fn cluster_rows<M: pgrx::IntoDatum + 'static>(
    target: Target,
    distance: i32,
    how: Option<Verification>,
    linkage: Option<Text<'_>>,
    keep: Option<Text<'_>>,
    of: impl Fn(f64) -> M + 'static,
) -> ClusterRows<M> {
    let places = Places::of(&target);
    let keep = keep.as_ref().map(Text::as_str);
    let members: Box<dyn Iterator<Item = Measured>> = match linkage_of_fingerprints(linkage, keep) {
        Linkage::Chain => {
            let sharing = Sharing::find(&target, how.as_ref(), Command::Clusters);
            let members = clusters(target.clone(), distance, how.clone(), sharing);
            Box::new(Measuring::new(target, members, how))
        }
        Linkage::Star => {
            let is_verified = how.is_some();
            let command = Command::Clusters;
            let sharing = Sharing::find(&target, how.as_ref(), command);
            let found = fingerprints::duplicates(target, distance, how, keep, command, sharing);
            Box::new(stars(found, is_verified).into_iter())
        }
    };
    measured_rows(members, places, of)
}

/// [`cluster_rows`] of a table whose partitions lie on several servers.
fn cluster_rows_of_parts(
    table: pg_sys::Oid,
    distance: i32,
    linkage: Option<Text<'_>>,
    keep: Option<Text<'_>>,
) -> ClusterRows<i32> {
    let keep = keep.as_ref().map(Text::as_str);
    let linkage = linkage_of_fingerprints(linkage, keep);
    let asking = Asking::new(table, distance, Command::Clusters);
    let places = Places(asking.tables());
    let members = match linkage {
        Linkage::Chain => asking.clusters(),
        Linkage::Star => stars(asking.duplicates(keep), false),
    };
    measured_rows(members.into_iter(), places, |distance| distance as i32)
}

fn linkage_of_fingerprints(linkage: Option<Text<'_>>, keep: Option<&str>) -> Linkage {
    let linkage = linkage.as_ref().map_or(Linkage::Chain, |name| linkage_of(name.as_str()));
    if linkage == Linkage::Chain && keep.is_some() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "\"keep\" cannot be used for chains of fingerprints".to_owned(),
            "Their representative is the first row of the table. With linkage => 'star' rows are \
             compared in the order of keep.",
        )
    }
    linkage
}

fn measured_rows<M: pgrx::IntoDatum + 'static>(
    members: impl Iterator<Item = Measured> + 'static,
    places: Places,
    of: impl Fn(f64) -> M + 'static,
) -> ClusterRows<M> {
    TableIterator::new(members.map(move |Measured { member: (row, first, size), own, worst }| {
        let (member, member_table) = places.of_row(row);
        let (representative, representative_table) = places.of_row(first);
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        (member, representative, size, member_table, representative_table, of(own), of(worst))
    }))
}

/// A cluster for each kept row: that row, and the rows that were dropped for it.
fn stars(mut found: Vec<Duplicate>, is_verified: bool) -> Vec<Measured> {
    found.sort_unstable_by_key(|found| (found.kept, found.row));
    let mut members = Vec::new();
    for cluster in found.chunk_by(|a, b| a.kept == b.kept) {
        check_for_interrupts();
        let Some(&Duplicate { kept, .. }) = cluster.first() else { continue };
        let size = cluster.len() as u32 + 1;
        let of = |one: &Duplicate| {
            if is_verified { one.similarity } else { f64::from(one.distance) }
        };
        let (own, worse): (f64, fn(f64, f64) -> f64) =
            if is_verified { (1.0, f64::min) } else { (0.0, f64::max) };
        let worst = cluster.iter().map(of).fold(own, worse);
        members.push(Measured { member: (kept, kept, size), own, worst });
        members.extend(cluster.iter().map(|one| Measured {
            member: (one.row, kept, size),
            own: of(one),
            worst,
        }));
    }
    members
}

/// Every row that has a near-duplicate, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_clusters(index: pg_sys::Oid, distance: i32) -> ClusterRows<i32> {
    clusters_of(index, distance, None, None)
}

fn clusters_of(
    index: pg_sys::Oid,
    distance: i32,
    linkage: Option<Text<'_>>,
    keep: Option<Text<'_>>,
) -> ClusterRows<i32> {
    if Parts::are_of(index) {
        return cluster_rows_of_parts(index, distance, linkage, keep);
    }
    let target = Target::new(index, Content::Fingerprints);
    cluster_rows(target, distance, None, linkage, keep, |distance| distance as i32)
}

/// Every row that has a near-duplicate, with its cluster by that linkage.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_linked_clusters(
    index: Option<pg_sys::Oid>,
    distance: Option<i32>,
    linkage: Option<Text<'_>>,
    keep: Option<Text<'_>>,
) -> ClusterRows<i32> {
    let (Some(index), Some(distance)) = (index, distance) else {
        return TableIterator::new(std::iter::empty());
    };
    clusters_of(index, distance, linkage, keep)
}

/// Every row that has a near-duplicate with a similar text, with its cluster.
#[pg_extern(sql = false, stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn simhash_verified_clusters(
    index: Option<pg_sys::Oid>,
    distance: Option<i32>,
    body: Option<Text<'_>>,
    similarity: Option<f64>,
    shingle: Option<i32>,
    measure: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    linkage: Option<Text<'_>>,
    keep: Option<Text<'_>>,
    call: Call<'_>,
) -> ClusterRows<f64> {
    let arguments = (index, distance, body, similarity, shingle, measure, config);
    let (
        Some(index),
        Some(distance),
        Some(body),
        Some(similarity),
        Some(shingle),
        Some(measure),
        Some(config),
    ) = arguments
    else {
        return TableIterator::new(std::iter::empty());
    };
    let how = verification(body, similarity, shingle, measure, config, Schema::of_call(&call));
    let target = Target::new(index, Content::Fingerprints);
    cluster_rows(target, distance, Some(how), linkage, keep, |similarity| similarity)
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
            format!("invalid value \"{}\" for \"measure\"", measure.as_str()),
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
        _ => shingles_instead(shingle, &config),
    };
    let shingles = similarity.config(&config, sizes);
    Verification { body: body.as_str().to_owned(), similarity, shingles, schema }
}

/// The progress that sessions report. The view simhash_progress adds names.
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
