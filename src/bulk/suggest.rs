//! `simhash_suggest` and `simhash_suggest_pairs`: which distance suits a table, by a sample of its
//! rows and their neighbours. Only rows of one scope are compared with each other.
//! [`super::texts::suggest`] does the same for texts.
//!
//! The first block table is read once, for the number of entries and a sample of them. Only rows of
//! the sample that the query sees count. The distances between them show how near rows are by
//! chance. Then the neighbours of some of these rows are searched, as a query searches them.
//! `simhash_core::whole::suggest` draws the conclusions.
//!
//! The same index gives the same answer: the sample has a fixed seed, and the number of leaves read
//! limits the work, not time.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::scoped::Bytes;
use simhash_core::search::{Plan, TreeKey};
use simhash_core::whole::suggest;
use simhash_core::whole::suggest::similarity;
use simhash_core::whole::suggest::{Chance, Counts, Crowds, Row, Sample, pair_distances, reach};
use simhash_index::range::RangeScan;
use simhash_index::scopes::Extent;
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Scopes};

use super::errors::{raise_is_of_passages, raise_is_of_texts};
use super::heap::Heap;
use super::leaves::most_rows;
use super::progress::{self, Command, Progress};
use super::texts::suggest::{Pair as TextPair, histogram, is_of_texts};
use crate::am::columns::Columns;
use crate::am::elsewhere::check_rows_are_here;
use crate::am::kind::{Kind, open};
use crate::am::opened::Opened;
use crate::am::rights::{check_may_know, check_may_read};
use crate::catalog::rights::check_rows_are_all;
use crate::error::raise;
use crate::storage::{Index, check_for_interrupts, family, with_block_key_type};

/// Rows whose distances to each other are counted: 8 million pairs.
const SAMPLE: usize = 4096;
/// How many entries are tried, to find so many rows that the query sees.
const CANDIDATES: usize = 16 * SAMPLE;
/// Fewer rows do not represent a large table.
const FEWEST: usize = 100;
/// The corresponding number of pairs of rows of one scope.
const FEWEST_PAIRS: u64 = (FEWEST * (FEWEST - 1) / 2) as u64;
/// If rows drawn at random form so many pairs, these are enough.
const ENOUGH_PAIRS: u64 = 20 * FEWEST_PAIRS;
/// The most rows whose neighbours are searched.
const MOST_SEARCHES: u64 = 2048;
/// How many rows are enough. Fewer are searched only where the index is so large that even the
/// shortest searches cost too much.
const ENOUGH_SEARCHES: u64 = 256;
/// How many leaves all searches together may read: one to two seconds. It limits the number of
/// searches, by an estimate for evenly spread keys without copies.
const LEAVES: f64 = 5e5;
/// Searches end when leaves read and rows looked up exceed `LEAVES` by this factor.
const OVERRUN: f64 = 3.0;
/// How many neighbours of one row count, the nearest ones. A million copies of a row mean no more
/// than so many.
const MOST_NEIGHBOURS: usize = 1000;
/// If more than one row in this many has uncounted neighbours, the number of neighbours at that
/// distance counts as unknown.
const CUT_OF: u64 = 50;

/// One row of results for each distance, for an index of fingerprints. Raises an ERROR for one of
/// texts. `each` gets pairs of the sample, by the TIDs of their visible versions, and their
/// distances.
pub fn by_distance(opened: &Opened, each: &mut dyn FnMut([u64; 2], u32)) -> Vec<Row> {
    // SAFETY: the relations are open.
    let (heap, index) = unsafe { ((*opened.heap).rd_id, (*opened.index).rd_id) };
    with_block_key_type!(family(opened.rel()), K => {
        let found = open::<K>(opened.rel());
        let _progress = Progress::start(Command::Suggest, heap, index, 1, most_rows(&found));
        rows(opened, &found, each)
    }, raise_is_of_texts(&opened.rel().name()))
}

/// The answer for an index.
pub enum Suggestion {
    Distances(Vec<Row>),
    Similarities(similarity::Answer),
}

/// The answer for every distance or similarity. Raises an ERROR unless the caller may know how many
/// rows there are.
pub fn suggest(index: pg_sys::Oid) -> Suggestion {
    check_may_know(index);
    let opened = open_own(index);
    if is_of_texts(&opened) {
        Suggestion::Similarities(histogram(&opened, |_| ()).answer())
    } else {
        Suggestion::Distances(by_distance(&opened, &mut |_, _| ()))
    }
}

/// As in version 0.1.0: distances only.
pub fn distances_only(index: pg_sys::Oid) -> Vec<Row> {
    check_may_know(index);
    by_distance(&open_own(index), &mut |_, _| ())
}

/// A pair of the sample, as an example.
pub struct Shown {
    /// Either this or `similarity` is known.
    pub distance: Option<u32>,
    pub similarity: Option<f64>,
    /// The TIDs of the rows' visible versions.
    pub rows: [u64; 2],
    /// How the texts begin.
    pub texts: Option<[String; 2]>,
}

/// How many pairs of each distance, or of each band of similarities, are shown.
const SHOWN: usize = 10;

/// Example pairs, the most similar first: some of each distance or band of similarities, all of
/// different rows. Raises an ERROR unless the caller may read all of the rows.
pub fn pairs(index: pg_sys::Oid) -> Vec<Shown> {
    let table = check_may_read(index);
    check_rows_are_all(
        table,
        "Call the function as a role that row-level security does not apply to.",
    );
    let opened = open_own(index);
    let mut bands: Vec<Vec<Shown>> = Vec::new();
    // In a band, a row is in one pair at most.
    let mut show = |band: u32, rows: [u64; 2], shown: &dyn Fn() -> Shown| {
        let band = band as usize;
        if bands.len() <= band {
            bands.resize_with(band + 1, Vec::new);
        }
        let of_band = &mut bands[band];
        let is_new = |pair: &Shown| pair.rows.iter().all(|row| !rows.contains(row));
        if of_band.len() < SHOWN && of_band.iter().all(is_new) {
            of_band.push(shown());
        }
    };
    if is_of_texts(&opened) {
        histogram(&opened, |pair: &TextPair<'_>| {
            let &TextPair { rows, texts, similarity } = pair;
            show(similarity::from_top(similarity), rows, &|| Shown {
                distance: None,
                similarity: Some(similarity),
                rows,
                texts: Some(texts.map(str::to_owned)),
            });
        });
    } else {
        by_distance(&opened, &mut |rows, distance| {
            show(distance, rows, &|| Shown {
                distance: Some(distance),
                similarity: None,
                rows,
                texts: None,
            });
        });
    }
    bands.into_iter().flatten().collect()
}

fn open_own(index: pg_sys::Oid) -> Opened {
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    opened.check_valid();
    check_rows_are_here(&opened);
    // SAFETY: the index is open.
    if unsafe { Kind::of_index(opened.index) } == Kind::Passages {
        raise_is_of_passages(&opened.rel().name());
    }
    opened
}

fn rows<K: TreeKey>(
    opened: &Opened,
    index: &Index<K>,
    each: &mut dyn FnMut([u64; 2], u32),
) -> Vec<Row> {
    if Kind::of(index).has_many_keys() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("index \"{}\" is on an array of fingerprints", index.store.name()),
            "Name an index on one fingerprint per row, or label pairs for simhash_evaluate.",
        );
    }
    let Walked { entries, in_scope, sample } = sample_entries(index);
    let mut heap = Heap::new(opened);
    let (tried, visible) = visible_rows(&mut heap, &sample);
    if visible.len() < FEWEST && (tried as u64) < entries {
        raise_few_visible(index, tried, visible.len());
    }
    let share = visible.len() as f64 / tried.max(1) as f64;
    let rows = (in_scope * share).round() as u64;
    let visible = first(visible);
    let bits = index.layout.bits();
    let mut pairs = distances(index, &visible);
    if K::Scope::BYTES > 0 && pairs.iter().sum::<u64>() < ENOUGH_PAIRS {
        let (_, visible) = visible_rows(&mut heap, &whole_scopes(&sample));
        pairs = distances(index, &first(visible));
    }
    if pairs.iter().sum::<u64>() < FEWEST_PAIRS && (sample.len() as u64) < entries {
        raise_small_scopes(index, in_scope);
    }
    let reach = reach(&Chance::of_pairs(bits, &pairs), bits, rows);
    let found = near(&mut heap, index, reach, &visible, each);
    let Near { sampled, near, complete, nearest, crowds } = found;
    suggest::suggest(&Counts { bits, rows, pairs, sampled, near, complete, nearest, crowds })
}

/// Raises 55000: too few rows share their scope with others.
fn raise_small_scopes<K: TreeKey>(index: &Index<K>, in_scope: f64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "too few rows of index \"{}\" can be compared: on average {:.1} others have the same \
             values in the columns before the fingerprint",
            index.store.name(),
            in_scope - 1.0
        ),
        "Create an index on the fingerprint alone, and call the function with it.",
    )
}

/// The result of a walk over the first block table. Its keys are the fingerprints, not rotated.
struct Walked<K> {
    /// The number of entries whose scopes have no NULL.
    entries: u64,
    /// The average number of entries in the scope of an entry.
    in_scope: f64,
    /// Some of the entries in random order.
    sample: Vec<Entry<K>>,
}

fn sample_entries<K: TreeKey>(index: &Index<K>) -> Walked<K> {
    let columns = Columns::of(index.store, &index.meta());
    let mut sample = Sample::new(CANDIDATES);
    let mut walk = LeafWalk::new(0, Entry::MIN);
    let mut rows = Vec::new();
    // The present scope and the number of its entries; the sum of squares over earlier scopes.
    let (mut scope, mut size, mut squares) = (None, 0.0, 0.0);
    progress::reading();
    loop {
        check_for_interrupts();
        let Some(leaf) = walk.next_leaf(index, &mut rows) else { break };
        drop(leaf);
        rows.retain(|row| !columns.has_null::<K>(row.entry.key.scope()));
        if K::Scope::BYTES > 0 {
            rows.sort_unstable_by_key(|row| row.entry);
        }
        for row in rows.drain(..) {
            if scope != Some(row.entry.key.scope()) {
                squares += size * size;
                (scope, size) = (Some(row.entry.key.scope()), 0.0);
            }
            size += 1.0;
            sample.offer(row.entry);
        }
        progress::have_read(sample.seen() as usize);
    }
    let entries = sample.seen();
    let in_scope = (squares + size * size) / (entries as f64).max(1.0);
    Walked { entries, in_scope, sample: sample.into_items() }
}

/// How many pairs of rows of one scope are at each distance.
fn distances<K: TreeKey>(index: &Index<K>, rows: &[Entry<K>]) -> Vec<u64> {
    let mut keys: Vec<K> = rows.iter().map(|entry| entry.key).collect();
    keys.sort_by_key(|key| key.scope());
    let mut counts = vec![0; index.layout.bits() as usize + 1];
    progress::comparing();
    for scope in keys.chunk_by(|a, b| a.scope() == b.scope()).filter(|scope| scope.len() > 1) {
        let fingerprints: Vec<_> = scope.iter().map(|key| key.fingerprint()).collect();
        let pairs = pair_distances(&fingerprints, &mut check_for_interrupts);
        counts.iter_mut().zip(pairs).for_each(|(count, pairs)| *count += pairs);
    }
    counts
}

/// The rows of a sample that are not alone in their scope: scope after scope, in random order of
/// scopes. The first ones therefore form as many pairs as possible; random rows are rarely of one
/// scope. Each scope is equally likely to be among the first, and has all of its pairs in the
/// sample.
fn whole_scopes<K: TreeKey>(sample: &[Entry<K>]) -> Vec<Entry<K>> {
    let mut rows = sample.to_vec();
    rows.sort_unstable();
    let scopes: Vec<&[Entry<K>]> = rows
        .chunk_by(|a, b| a.key.scope() == b.key.scope())
        .filter(|scope| scope.len() > 1)
        .collect();
    let mut shuffled = Sample::new(scopes.len());
    scopes.into_iter().for_each(|scope| shuffled.offer(scope));
    shuffled.into_items().concat()
}

/// How many entries of a sample were tried, and those whose rows the snapshot sees, until there are
/// enough. Dead versions, and rows of other transactions in progress, do not count.
fn visible_rows<K: TreeKey>(heap: &mut Heap, sample: &[Entry<K>]) -> (usize, Vec<Entry<K>>) {
    let (mut visible, mut tried) = (Vec::new(), 0);
    progress::looking_up();
    while tried < sample.len() && visible.len() < SAMPLE {
        let some = &sample[tried..sample.len().min(tried + SAMPLE)];
        tried += some.len();
        // Looked up in heap order, which is faster; kept in the order of the sample.
        let mut order: Vec<usize> = (0..some.len()).collect();
        order.sort_unstable_by_key(|&i| some[i].tid);
        let mut seen = vec![false; some.len()];
        order.into_iter().for_each(|i| seen[i] = heap.visible(some[i].tid).is_some());
        visible.extend(some.iter().zip(seen).filter(|(_, seen)| *seen).map(|(entry, _)| *entry));
    }
    (tried, visible)
}

/// The first `SAMPLE` rows.
fn first<T>(mut rows: Vec<T>) -> Vec<T> {
    rows.truncate(SAMPLE);
    rows
}

/// Raises 55000: the snapshot sees too few of the rows.
fn raise_few_visible<K: TreeKey>(index: &Index<K>, tried: usize, visible: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "only {visible} of {tried} sampled rows in index \"{}\" are visible",
            index.store.name()
        ),
        "VACUUM the table to remove deleted rows from the index.",
    )
}

/// The result of the searches.
struct Near {
    /// How many rows' neighbours were searched.
    sampled: u64,
    /// How many neighbours there are at each distance.
    near: Vec<u64>,
    /// For how many of these distances, from 0 on, nearly all rows had all neighbours counted.
    complete: usize,
    /// How many rows have their nearest neighbour at each distance.
    nearest: Vec<u64>,
    /// The rows that have a crowd of neighbours within each distance.
    crowds: Vec<Crowds>,
}

/// Searches the neighbours of some rows of the sample. Only neighbours that the snapshot sees
/// count. `each` gets the TIDs of the visible versions of a row and a neighbour, and their
/// distance.
fn near<K: TreeKey>(
    heap: &mut Heap,
    index: &Index<K>,
    reach: u32,
    sample: &[Entry<K>],
    each: &mut dyn FnMut([u64; 2], u32),
) -> Near {
    let (reach, searches) = affordable(index, reach, sample);
    let mut plans = Plans { index, reach, last: None };
    let distances = reach as usize + 1;
    let (first, near) = (vec![0; distances], vec![0; distances]);
    let crowds = vec![Crowds::default(); distances];
    let mut found = Near { sampled: 0, near, complete: 0, nearest: first, crowds };
    let mut of_row = vec![0u64; distances];
    let bits = index.layout.bits();
    // Rows that may have more neighbours, by the distance of the last one counted.
    let mut cut = vec![0u64; distances];
    let mut work = 0.0;
    let mut candidates = Vec::new();
    progress::searching();
    for row in sample {
        if found.sampled >= searches || work > OVERRUN * LEAVES {
            break;
        }
        found.sampled += 1;
        let plan = plans.of_scope(row.key.scope());
        work += f64::from(nearest(index, plan, row, &mut candidates)) + candidates.len() as f64;
        let own = heap.visible(row.tid);
        of_row.fill(0);
        let neighbours = candidates.iter().filter_map(|&(d, tid)| Some((d, heap.visible(tid)?)));
        for (place, (distance, tid)) in neighbours.take(MOST_NEIGHBOURS).enumerate() {
            let d = distance as usize;
            of_row[d] += 1;
            found.nearest[d] += u64::from(place == 0);
            cut[d] += u64::from(place + 1 == MOST_NEIGHBOURS);
            if let Some(own) = own {
                each([own, tid], distance);
            }
        }
        let (mut all, mut copies) = (0, 0);
        for (d, &count) in of_row.iter().enumerate() {
            found.near[d] += count;
            all += count;
            copies += if d as u32 <= suggest::copies(bits) { count } else { 0 };
            found.crowds[d].count(all as f64, copies as f64);
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

/// The plans of searches in scopes.
struct Plans<'a, K: TreeKey> {
    index: &'a Index<K>,
    reach: u32,
    last: Option<(K::Scope, Plan)>,
}

impl<K: TreeKey> Plans<'_, K> {
    fn of_scope(&mut self, scope: K::Scope) -> Plan {
        match &self.last {
            Some((known, plan)) if *known == scope => plan.clone(),
            _ => {
                let plan = self.index.plan(self.reach, &self.index.extent(&Scopes::One(scope)));
                self.last = Some((scope, plan.clone()));
                plan
            }
        }
    }
}

/// The distance to search, and for how many rows: `reach`, or the greatest distance at which enough
/// searches are affordable.
fn affordable<K: TreeKey>(index: &Index<K>, reach: u32, sample: &[Entry<K>]) -> (u32, u64) {
    // How many rows' scopes are measured. Without scopes, one row is enough.
    let some = if K::Scope::BYTES == 0 { 1 } else { 32 };
    let extents: Vec<_> =
        sample.iter().take(some).map(|row| index.extent(&Scopes::One(row.key.scope()))).collect();
    let searches = |distance| {
        let leaves =
            |extent: &Extent| extent.expected::<K::Fingerprint>(&index.plan(distance, extent));
        let all: f64 = extents.iter().map(leaves).sum();
        (LEAVES / (all / extents.len().max(1) as f64).max(1.0)) as u64
    };
    let least = reach.min(index.layout.bits() / 16);
    let farthest = (least..=reach).rev().find(|&distance| searches(distance) >= ENOUGH_SEARCHES);
    let reach = farthest.unwrap_or(least);
    (reach, searches(reach).clamp(1, MOST_SEARCHES))
}

/// Finds the rows nearest to one row, without itself, as (distance, TID) in this order: the first
/// `MOST_NEIGHBOURS` and some more. Returns the number of leaves read.
fn nearest<K: TreeKey>(
    index: &Index<K>,
    plan: Plan,
    row: &Entry<K>,
    nearest: &mut Vec<(u32, u64)>,
) -> u32 {
    // Half of them may be dead.
    const KEPT: usize = 2 * MOST_NEIGHBOURS;
    let mut within = plan.distance();
    let scope = Scopes::One(row.key.scope());
    let mut scan = RangeScan::new(plan, row.key.fingerprint(), scope);
    let mut hits = Vec::new();
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
