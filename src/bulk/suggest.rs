//! `simhash_suggest`: which distance suits this table, by a sample of its rows and their
//! neighbours.
//!
//! The first block table is read once, for the number of entries and a sample of them. The rows of
//! the sample that the query sees count. The distances between them tell what chance does. Then the
//! neighbours of some of these rows are searched as a query searches them. `simhash_core::suggest`
//! draws the conclusions.
//!
//! The same index gives the same answer: the sample has a fixed seed, and the number of leaves read
//! limits the work, not a clock.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::{Key, Plan};
use simhash_core::suggest::{self, Chance, Counts, Row, Sample, pair_distances, reach};
use simhash_index::range::RangeScan;
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Scopes};

use super::heap::Heap;
use super::leaves::most_rows;
use super::progress::{self, Command, Progress};
use super::target::with_plain_key_type;
use crate::am::elsewhere::check_rows_are_here;
use crate::am::kind::{Kind, open};
use crate::am::opened::Opened;
use crate::am::rights::check_may_know;
use crate::error::raise;
use crate::storage::{Index, check_for_interrupts};

/// Rows whose distances to each other are counted: 8 million pairs.
const SAMPLE: usize = 4096;
/// Entries that are looked at to find that many rows which the query sees.
const CANDIDATES: usize = 16 * SAMPLE;
/// Fewer rows than this say nothing about a large table.
const FEWEST: usize = 100;
/// The most rows whose neighbours are searched.
const MOST_SEARCHES: u64 = 2048;
/// How many rows are enough. Fewer are searched only where the index is so large that even the
/// shortest searches cost too much.
const ENOUGH_SEARCHES: u64 = 256;
/// Leaves that all searches together may read: one to two seconds. The number of searches follows
/// from it, by an estimate for even keys without copies.
const LEAVES: f64 = 5e5;
/// Searches end when leaves read and rows looked up exceed `LEAVES` by this factor.
const OVERRUN: f64 = 3.0;
/// How many neighbours of one row count, the nearest ones. A row with a million copies says no more
/// than a row with this many.
const MOST_NEIGHBOURS: usize = 1000;
/// If more than one row in this many has neighbours that did not count, the number of neighbours
/// says nothing about chance.
const CUT_OF: u64 = 50;

/// A row for each distance. Raises an ERROR unless the caller may know how many rows there are.
pub fn suggest(index: pg_sys::Oid) -> Vec<Row> {
    check_may_know(index);
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    opened.check_valid();
    check_rows_are_here(&opened);
    // SAFETY: the heap is open.
    let heap = unsafe { (*opened.heap).rd_id };
    with_plain_key_type!(opened.rel(), F => {
        let found = open::<F>(opened.rel());
        let _progress = Progress::start(Command::Suggest, heap, index, 1, most_rows(&found));
        rows(&opened, &found)
    })
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
    // SAFETY: the heap stays open while this is used.
    let mut heap = unsafe { Heap::new(opened) };
    let (share, sample) = visible_rows(index, &mut heap, entries, sample);
    let rows = (entries as f64 * share).round() as u64;
    progress::comparing();
    let fingerprints: Vec<F> = sample.iter().map(|entry| entry.key).collect();
    let pairs = pair_distances(&fingerprints, &mut check_for_interrupts);
    let reach = reach(&Chance::of_pairs(F::BITS, &pairs), F::BITS, rows);
    let Near { sampled, near, complete, nearest } = near(&mut heap, index, reach, &sample);
    suggest::suggest(&Counts { bits: F::BITS, rows, pairs, sampled, near, complete, nearest })
}

/// The number of entries in the first block table, and some of them in random order. The keys of
/// that block table are the fingerprints, not rotated.
fn sample_entries<F: Key>(index: &Index<F>) -> (u64, Vec<Entry<F>>) {
    let mut sample = Sample::new(CANDIDATES);
    let mut walk = LeafWalk::new(0, Entry::MIN);
    let mut rows = Vec::new();
    progress::reading();
    loop {
        check_for_interrupts();
        let Some(leaf) = walk.next_leaf(index, &mut rows) else { break };
        drop(leaf);
        rows.drain(..).for_each(|row| sample.offer(row.entry));
        progress::have_read(sample.seen() as usize);
    }
    (sample.seen(), sample.into_items())
}

/// The share of entries whose rows the snapshot sees, and the first of these in the sample. Old
/// versions of rows, and rows that others have not committed, say nothing about the table. Raises
/// 55000 if next to nothing is left.
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
        // Looked up in the order of the heap, which is quicker; kept in the order of the sample.
        let mut order: Vec<usize> = (0..some.len()).collect();
        order.sort_unstable_by_key(|&i| some[i].tid);
        let mut seen = vec![false; some.len()];
        order.into_iter().for_each(|i| seen[i] = heap.visible(some[i].tid).is_some());
        visible.extend(some.iter().zip(seen).filter(|(_, seen)| *seen).map(|(entry, _)| *entry));
    }
    if visible.len() < FEWEST && (tried as u64) < entries {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "of {tried} rows in index \"{}\", {} can be seen",
                index.store.name(),
                visible.len()
            ),
            "VACUUM the table, so that deleted rows leave the index.",
        );
    }
    let share = visible.len() as f64 / tried.max(1) as f64;
    visible.truncate(SAMPLE);
    (share, visible)
}

/// What searches found.
struct Near {
    /// How many rows' neighbours were searched.
    sampled: u64,
    /// How many neighbours there are at each distance.
    near: Vec<u64>,
    /// At how many of these distances nearly every row had all of its neighbours counted.
    complete: usize,
    /// How many rows have their nearest neighbour at each distance.
    nearest: Vec<u64>,
}

/// Searches the neighbours of some rows of the sample. Only neighbours that the snapshot sees
/// count.
fn near<F: Key>(heap: &mut Heap, index: &Index<F>, reach: u32, sample: &[Entry<F>]) -> Near {
    let (plan, searches) = plan(index, reach);
    let distances = plan.distance() as usize + 1;
    let mut found =
        Near { sampled: 0, near: vec![0; distances], complete: 0, nearest: vec![0; distances] };
    // Rows that may have more neighbours, by the distance of the last one that counted.
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

/// How to search, and for how many rows: as far as asked for, or as far as enough searches remain
/// affordable.
fn plan<F: Key>(index: &Index<F>, reach: u32) -> (Plan, u64) {
    let extent = index.extent(&Scopes::All);
    let searches = |plan: &Plan| (LEAVES / extent.expected::<F>(plan).max(1.0)) as u64;
    let least = reach.min(F::BITS / 16);
    let plans = (least..=reach).rev().map(|distance| index.plan(distance, &extent));
    let affordable = plans.clone().find(|plan| searches(plan) >= ENOUGH_SEARCHES);
    let plan = affordable.unwrap_or_else(|| index.plan(least, &extent));
    let searches = searches(&plan).clamp(1, MOST_SEARCHES);
    (plan, searches)
}

/// The rows nearest to one row, without itself, as (distance, TID) in this order: the first
/// `MOST_NEIGHBOURS` and some more. Returns the number of leaves read.
fn nearest<F: Key>(
    index: &Index<F>,
    plan: &Plan,
    row: &Entry<F>,
    nearest: &mut Vec<(u32, u64)>,
) -> u32 {
    // Half of them may be dead.
    const KEPT: usize = 2 * MOST_NEIGHBOURS;
    let mut scan = RangeScan::new(plan.clone(), row.key, Scopes::All);
    let mut hits = Vec::new();
    let mut within = plan.distance();
    let mut leaves = 0;
    nearest.clear();
    while let Some(leaf) = scan.next_leaf(index, within, &mut hits) {
        drop(leaf);
        leaves += 1;
        check_for_interrupts();
        nearest.extend(
            hits.drain(..).filter(|hit| hit.tid != row.tid).map(|hit| (hit.distance, hit.tid)),
        );
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
