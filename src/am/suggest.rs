//! `simhash_suggest`: which distance for this table, by a sample of its rows and their neighbours.
//!
//! The first table is read once: the number of entries, and a sample of them, of which those count that the query sees. The
//! sample's distances tell what chance does; then the neighbours of some of its rows are searched, as a query searches
//! them. What follows from both is the core's: `simhash_core::suggest`. The same index gives the same answer: the sample has
//! a fixed seed, and work is limited by leaves read, not by a clock.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::search::{Key, Plan, cost};
use simhash_core::suggest::{Chance, Counts, Row, Sample, pair_distances, reach, suggest};
use simhash_index::Entry;
use simhash_index::range::RangeScan;
use simhash_index::walk::LeafWalk;

use super::bulk::heap::Heap;
use super::bulk::leaves::most_rows;
use super::bulk::progress::{self, Command, Progress};
use super::elsewhere::check_rows_are_here;
use super::inspect::check_may_know;
use super::kind::{Kind, open};
use super::opened::Opened;
use super::{check_for_interrupts, with_key_type};
use crate::error::raise;
use crate::storage::cache::{Index, bits};

/// Rows whose distances to each other are counted: 8 million pairs.
const SAMPLE: usize = 4096;
/// Entries that are looked at to find so many rows which the query sees.
const CANDIDATES: usize = 16 * SAMPLE;
/// Fewer rows than this say nothing of a large table.
const FEWEST: usize = 100;
/// Rows whose neighbours are searched: as many at most, and this many unless the index is so large that they cost too much.
const MOST_SEARCHES: u64 = 2048;
const ENOUGH_SEARCHES: u64 = 256;
/// Leaves that all searches may read: one to two seconds. That is by an estimate for even keys without copies; where leaves and rows
/// looked up come to so many times as much, searches end.
const LEAVES: f64 = 5e5;
const OVERRUN: f64 = 3.0;
/// Neighbours that count for one row, the nearest: those of a row with a million copies say no more than so many.
const MOST_NEIGHBOURS: usize = 1000;
/// If of one row in so many not all neighbours counted, their number says nothing of chance.
const CUT_OF: u64 = 50;

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
        let found = open::<F>(opened.rel());
        let _progress = Progress::start(Command::Suggest, table, index, 1, most_rows(&found));
        rows(&opened, &found)
    });
    TableIterator::new(
        rows.into_iter()
            .map(|row| (row.distance as i32, row.expected_false, row.found, row.true_share(), row.suggested)),
    )
}

fn rows<F: Key>(opened: &Opened, index: &Index<F>) -> Vec<Row> {
    if Kind::of(index).has_many_keys() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("index \"{}\" is on an array of fingerprints", index.store.name()),
            "Name the index of one fingerprint a row, or label pairs for simhash_evaluate.",
        );
    }
    let (entries, sample) = sample_entries(index);
    // SAFETY: the table stays open while this is used.
    let mut heap = unsafe { Heap::new(opened) };
    let (share, sample) = visible_rows(index, &mut heap, entries, sample);
    let rows = (entries as f64 * share).round() as u64;
    progress::comparing();
    let fingerprints: Vec<F> = sample.iter().map(|entry| entry.key).collect();
    let pairs = pair_distances(&fingerprints, &mut || check_for_interrupts());
    let reach = reach(&Chance::of_pairs(F::BITS, &pairs), F::BITS, rows);
    let Near { sampled, near, complete, nearest } = near(&mut heap, index, reach, &sample);
    suggest(&Counts { bits: F::BITS, rows, pairs, sampled, near, complete, nearest })
}

/// The number of the first table's entries, and some of them in random order. That table's keys are fingerprints as they are.
fn sample_entries<F: Key>(index: &Index<F>) -> (u64, Vec<Entry<F>>) {
    let mut sample = Sample::new(CANDIDATES);
    let mut walk = LeafWalk::new(0, Entry::MIN);
    let mut entries = Vec::new();
    progress::reading();
    loop {
        check_for_interrupts();
        let Some(leaf) = walk.next_leaf(index, &mut entries) else { break };
        drop(leaf);
        entries.drain(..).for_each(|entry| sample.offer(entry));
        progress::have_read(sample.seen() as usize);
    }
    (sample.seen(), sample.into_items())
}

/// The share of entries whose rows the snapshot sees, and the first such of the sample. Old versions of rows, and rows that others
/// have not committed, say nothing of the table. Raises 55000 where they leave next to nothing.
fn visible_rows<F: Key>(
    index: &Index<F>,
    heap: &mut Heap,
    entries: u64,
    sample: Vec<Entry<F>>,
) -> (f64, Vec<Entry<F>>) {
    let (mut visible, mut tried) = (Vec::new(), 0);
    progress::looking_up();
    while tried < sample.len() && visible.len() < SAMPLE {
        let some = &sample[tried..sample.len().min(tried + SAMPLE)];
        tried += some.len();
        // In the order of the table, of which neighbours are quicker; kept in that of the sample.
        let mut order: Vec<usize> = (0..some.len()).collect();
        order.sort_unstable_by_key(|&i| some[i].tid);
        let mut seen = vec![false; some.len()];
        order.into_iter().for_each(|i| seen[i] = heap.visible(some[i].tid).is_some());
        visible.extend(some.iter().zip(seen).filter(|(_, seen)| *seen).map(|(entry, _)| *entry));
    }
    if visible.len() < FEWEST && (tried as u64) < entries {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("of {tried} rows in index \"{}\", {} can be seen", index.store.name(), visible.len()),
            "VACUUM the table, so that deleted rows leave the index.",
        );
    }
    let share = visible.len() as f64 / tried.max(1) as f64;
    visible.truncate(SAMPLE);
    (share, visible)
}

/// What searches found.
struct Near {
    /// How many rows' neighbours were searched, and these by distance.
    sampled: u64,
    near: Vec<u64>,
    /// At how many of these distances all neighbours were counted of nearly every row.
    complete: usize,
    /// The nearest of each row.
    nearest: Vec<u64>,
}

/// Searches the neighbours of some of a sample. Those that the snapshot does not see do not count.
fn near<F: Key>(heap: &mut Heap, index: &Index<F>, reach: u32, sample: &[Entry<F>]) -> Near {
    let (plan, searches) = plan(index, reach);
    let distances = plan.distance() as usize + 1;
    let mut found = Near { sampled: 0, near: vec![0; distances], complete: 0, nearest: vec![0; distances] };
    // Rows by the distance of the last neighbour that counted, if there may be more.
    let mut cut = vec![0u64; distances];
    let mut work = 0.0;
    let mut candidates = Vec::new();
    progress::searching();
    for row in sample {
        if found.sampled >= searches || work > OVERRUN * LEAVES {
            break;
        }
        found.sampled += 1;
        work += f64::from(nearest(index, &plan, row, &mut candidates)) + candidates.len() as f64;
        let neighbours = candidates.iter().filter(|(_, tid)| heap.visible(*tid).is_some());
        for (place, (distance, _)) in neighbours.take(MOST_NEIGHBOURS).enumerate() {
            found.near[*distance as usize] += 1;
            found.nearest[*distance as usize] += u64::from(place == 0);
            cut[*distance as usize] += u64::from(place + 1 == MOST_NEIGHBOURS);
        }
        if found.sampled.is_multiple_of(16) {
            progress::searched(found.sampled as f64 / searches as f64, found.near.iter().sum());
        }
    }
    let mut all = 0;
    found.complete = cut
        .iter()
        .take_while(|&&cut| {
            all += cut;
            all * CUT_OF <= found.sampled
        })
        .count();
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
