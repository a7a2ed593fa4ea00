//! `simhash_suggest`: which distance for this table, by a sample of its rows and their neighbours.
//!
//! The first table is read once: the number of rows, and a sample of them. The sample's distances tell what chance does; then
//! the neighbours of some of its rows are searched, as a query searches them. What follows from both is the core's:
//! `simhash_core::suggest`. The same index gives the same answer: the sample has a fixed seed, and work is limited by
//! leaves read, not by a clock.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::search::{Key, Plan, cost};
use simhash_core::suggest::{Chance, Counts, Row, Sample, pair_distances, reach, suggest};

use super::bulk::heap::Heap;
use super::bulk::leaves::most_rows;
use super::bulk::progress::{self, Command, Progress};
use super::elsewhere::check_rows_are_here;
use super::index::{Index, bits};
use super::inspect::check_may_know;
use super::opened::Opened;
use super::range::RangeScan;
use super::{check_for_interrupts, with_key_type};
use crate::error::raise;
use crate::storage::damage::{Damage, raise_damage};
use crate::storage::{Entry, Shared};

/// Rows whose distances to each other are counted: 8 million pairs.
const SAMPLE: usize = 4096;
/// Rows whose neighbours are searched: as many at most, and this many unless the index is so large that they cost too much.
const MOST_SEARCHES: u64 = 2048;
const ENOUGH_SEARCHES: u64 = 256;
/// Leaves that all searches may read: one to two seconds. That is by an estimate for even keys without copies; where leaves and rows
/// looked up come to so many times as much, searches end.
const LEAVES: f64 = 5e5;
const OVERRUN: f64 = 3.0;
/// Neighbours that count for one row, the nearest: those of a row with a million copies say no more than so many.
const MOST_NEIGHBOURS: usize = 1000;

/// A row for each distance: see the SQL catalogue for the columns.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn simhash_suggest(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(distance, i32),
        name!(expected_false, f64),
        name!(found, f64),
        name!(true_share, Option<f64>),
        name!(suggested, bool),
    ),
> {
    check_may_know(index);
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    opened.check_valid();
    check_rows_are_here(&opened);
    // SAFETY: the table is open.
    let table = unsafe { (*opened.table).rd_id };
    let rows = with_key_type!(bits(opened.rel()), F => {
        let found = Index::<F>::open(opened.rel());
        let _progress = Progress::start(Command::Suggest, table, index, 1, most_rows(&found));
        rows(&opened, &found)
    });
    TableIterator::new(
        rows.into_iter()
            .map(|row| (row.distance as i32, row.expected_false, row.found, row.true_share(), row.suggested)),
    )
}

fn rows<F: Key>(opened: &Opened, index: &Index<F>) -> Vec<Row> {
    if index.kind.has_many_keys() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("index \"{}\" is on an array of fingerprints", index.rel.name()),
            "Name the index of one fingerprint a row, or label pairs for simhash_evaluate.",
        );
    }
    let (rows, sample) = sample_rows(index);
    progress::comparing();
    let fingerprints: Vec<F> = sample.iter().map(|entry| entry.key).collect();
    let pairs = pair_distances(&fingerprints, &mut || check_for_interrupts());
    let found = near(opened, index, rows, &Chance::of_pairs(F::BITS, &pairs), &sample);
    let live = (rows as f64 * found.live).round() as u64;
    let Near { sampled, near, nearest, .. } = found;
    suggest(&Counts { bits: F::BITS, rows: live, pairs, sampled, near, nearest })
}

/// The number of the first table's rows, and some of them in random order. That table's keys are fingerprints as they are.
fn sample_rows<F: Key>(index: &Index<F>) -> (u64, Vec<Entry<F>>) {
    let mut sample = Sample::new(SAMPLE);
    let mut from = Some(Entry::MIN);
    progress::reading();
    while let Some(low) = from {
        check_for_interrupts();
        let (leaf, block) = index.cover::<Shared>(0, &low, None);
        let page = index.checked(block, leaf.bytes());
        from = page.bounds().high;
        for entry in page.entries().filter(|entry| *entry >= low) {
            if entry.tid & 0xffff == 0 {
                raise_damage(index.rel, block, &Damage::Other("it holds a TID without an offset"));
            }
            sample.offer(entry);
        }
    }
    progress::read(sample.seen() as usize);
    (sample.seen(), sample.into_items())
}

/// What searches found.
struct Near {
    /// How many rows' neighbours were searched, and these by distance.
    sampled: u64,
    near: Vec<u64>,
    /// Of these the nearest of each row.
    nearest: Vec<u64>,
    /// The share of rows that the snapshot sees.
    live: f64,
}

/// Searches the neighbours of some of a sample. Rows that the snapshot does not see, such as the old versions of updated
/// ones, neither search nor count.
fn near<F: Key>(opened: &Opened, index: &Index<F>, rows: u64, chance: &Chance, sample: &[Entry<F>]) -> Near {
    let (plan, searches) = plan(index, reach(chance, F::BITS, rows));
    let distances = plan.distance() as usize + 1;
    let mut found = Near { sampled: 0, near: vec![0; distances], nearest: vec![0; distances], live: 1.0 };
    let (mut tried, mut work) = (0u32, 0.0);
    // SAFETY: the table stays open while this is used.
    let mut heap = unsafe { Heap::new(opened) };
    let mut candidates = Vec::new();
    progress::searching();
    for row in sample {
        if found.sampled >= searches || work > OVERRUN * LEAVES {
            break;
        }
        tried += 1;
        if heap.visible(row.tid).is_none() {
            continue;
        }
        found.sampled += 1;
        work += f64::from(nearest(index, &plan, row, &mut candidates)) + candidates.len() as f64;
        let neighbours = candidates.iter().filter(|(_, tid)| heap.visible(*tid).is_some());
        for (place, (distance, _)) in neighbours.take(MOST_NEIGHBOURS).enumerate() {
            found.near[*distance as usize] += 1;
            found.nearest[*distance as usize] += u64::from(place == 0);
        }
        if found.sampled.is_multiple_of(16) {
            progress::searched(found.sampled as f64 / searches as f64, found.near.iter().sum());
        }
    }
    found.live = found.sampled as f64 / f64::from(tried.max(1));
    found
}

/// How to search, and how many rows' neighbours: as far as asked for, or as far as enough searches cost little.
fn plan<F: Key>(index: &Index<F>, reach: u32) -> (Plan, u64) {
    let leaves = index.leaves_per_table();
    let searches = |plan: &Plan| (LEAVES / cost::expected_leaves::<F>(plan, leaves).max(1.0)) as u64;
    let least = reach.min(F::BITS / 16);
    let plans = (least..=reach).rev().map(|distance| index.plan(distance, leaves));
    let affordable = plans.clone().find(|plan| searches(plan) >= ENOUGH_SEARCHES);
    let plan = affordable.unwrap_or_else(|| index.plan(least, leaves));
    let searches = searches(&plan).clamp(1, MOST_SEARCHES);
    (plan, searches)
}

/// The rows nearest to one, itself left out, as (distance, TID) in this order: the first `MOST_NEIGHBOURS` and some more. Returns
/// the number of leaves read.
fn nearest<F: Key>(index: &Index<F>, plan: &Plan, row: &Entry<F>, nearest: &mut Vec<(u32, u64)>) -> u32 {
    // As many again may be dead.
    const KEPT: usize = 2 * MOST_NEIGHBOURS;
    let mut scan = RangeScan::new(plan.clone(), row.key);
    let mut hits = Vec::new();
    let mut within = plan.distance();
    let mut leaves = 0;
    nearest.clear();
    while let Some(leaf) = scan.next_leaf(index, within, &mut hits) {
        drop(leaf);
        leaves += 1;
        check_for_interrupts();
        nearest.extend(hits.drain(..).filter(|hit| hit.tid != row.tid).map(|hit| (hit.distance, hit.tid)));
        if nearest.len() >= 2 * KEPT {
            let (_, farthest, _) = nearest.select_nth_unstable(KEPT - 1);
            within = farthest.0;
            nearest.truncate(KEPT);
            if within == 0 {
                break;
            }
        }
    }
    nearest.sort_unstable();
    leaves
}
