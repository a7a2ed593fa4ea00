//! The cover in order: which rows are kept, and which kept row represents each of the others.
//!
//! Rows are taken in the order of their places. A row near no row kept before it is kept. The
//! result is that of inserting the rows in this order under a constraint, with ON CONFLICT DO
//! NOTHING: no kept row is near another, and every other row is near the one that represents it. A
//! row is looked up among the kept rows only.

use std::collections::HashMap;
use std::ops::Range;

use super::blocks::{Blocks, READING, shared};
use super::classes::Classes;
use super::compare::{Comparer, Law};
use super::rows::Rows;
use super::shared::{Candidate, Full, Shared};

/// The decision about each row, by its place.
pub struct Cover {
    /// The place of the row that represents each, or [`KEPT`] or [`GONE`].
    kept: Vec<u32>,
    similarity: Vec<f64>,
}

/// The row is kept, or not decided yet.
const KEPT: u32 = u32::MAX;
/// The row was found to be missing.
const GONE: u32 = u32::MAX - 1;

impl Cover {
    pub(super) fn new(places: u32) -> Self {
        Self { kept: vec![KEPT; places as usize], similarity: vec![0.0; places as usize] }
    }

    /// The row that represents a row, and their similarity: the first of the most similar rows kept
    /// before it. `None` for a row that is kept or missing.
    pub fn kept(&self, place: u32) -> Option<(u32, f64)> {
        let kept = self.kept[place as usize];
        (kept < GONE).then(|| (kept, self.similarity[place as usize]))
    }

    pub(super) fn is_kept(&self, place: u32) -> bool {
        self.kept[place as usize] == KEPT
    }

    fn set(&mut self, place: u32, best: Best) {
        (self.kept[place as usize], self.similarity[place as usize]) = best;
    }

    fn is_gone(&self, place: u32) -> bool {
        self.kept[place as usize] == GONE
    }

    fn best(&self, place: u32) -> Best {
        (self.kept[place as usize], self.similarity[place as usize])
    }
}

/// The place of the row that represents another, or a mark, and their similarity.
type Best = (u32, f64);

/// The cover of places below `places`. With `split`, all places below it are kept. They represent
/// places from it on, and those represent none.
///
/// # Errors
/// When not even the keys of two rows fit into `memory` bytes.
pub fn cover(
    rows: &mut impl Rows,
    places: u32,
    split: Option<u32>,
    law: Law,
    memory: usize,
) -> Result<Cover, Full> {
    let mut cover = Cover::new(places);
    let mut blocks = Blocks::of_all(places, split);
    while let Some(meeting) = blocks.next_meeting() {
        let first = if meeting.is_of_one() { 0..0 } else { meeting.first.clone() };
        let wanted = |place: u32| !first.contains(&place) || cover.is_kept(place);
        let found = shared(rows, places, &meeting, wanted, law.sketch.shared, memory);
        let Ok(shared) = found else {
            blocks.divide(law.sketch.bands, memory)?;
            continue;
        };
        Looking::new(shared, law, memory, split, rows).look_up(&mut cover, &blocks, rows);
    }
    Ok(cover)
}

/// The rows of one meeting of blocks, looked up in order.
pub(super) struct Looking {
    pub shared: Shared,
    pub comparer: Comparer,
    pub classes: Classes,
    law: Law,
    /// For a class whose first row is not kept: the row before which all kept rows were considered,
    /// and the best of them.
    known: HashMap<u32, (u32, Best)>,
    candidates: Vec<Candidate>,
    /// The share of the meeting's work that is done when all rows are looked up.
    pub share: f64,
}

/// Rows that are looked up together.
#[derive(Default)]
struct Batch {
    rows: Range<u32>,
    /// The candidates of each row among the rows before `since`, concatenated.
    early: Vec<Candidate>,
    starts: Vec<usize>,
    since: u32,
    /// The round in which the sets of rows and candidates are requested.
    round: u32,
}

impl Batch {
    /// The early candidates of a row from `from` on.
    fn early(&self, row: u32, from: u32) -> &[Candidate] {
        let i = (row - self.rows.start) as usize;
        let early = &self.early[self.starts[i]..self.starts[i + 1]];
        &early[early.partition_point(|candidate| candidate.row < from)..]
    }
}

/// The most rows that are looked up together.
const BATCH: u32 = if cfg!(test) { 16 } else { 1 << 11 };
/// A batch with so many candidates takes no more rows.
const MOST: usize = if cfg!(test) { 40 } else { 1 << 16 };

impl Looking {
    /// With `split`, two tables are joined.
    pub fn new(
        shared: Shared,
        law: Law,
        memory: usize,
        split: Option<u32>,
        rows: &mut impl Rows,
    ) -> Self {
        // Memory that keys do not take of their half is for sets, too.
        let for_sets = (2 * memory).saturating_sub(shared.memory());
        let mut comparer = Comparer::new(law, shared.len(), for_sets);
        // The rows of an earlier block are kept ones, which differ from each other.
        let from = if split.is_some() { 0 } else { shared.split().unwrap_or(0) };
        let classes = Classes::new(&shared, law.sketch.bands, from, rows, &mut comparer);
        let (known, candidates) = Default::default();
        Self { shared, comparer, classes, law, known, candidates, share: 1.0 }
    }

    /// As [`Looking::new`], with all rows of an earlier block, and not only the kept ones.
    pub fn of_all(shared: Shared, law: Law, memory: usize, rows: &mut impl Rows) -> Self {
        Self::new(shared, law, memory, Some(0), rows)
    }

    /// Makes a row a possible candidate, if it is the first of its class and not missing.
    pub fn answer(&mut self, row: u32) {
        if self.classes.is_first(row) && !self.comparer.is_gone(row) {
            self.shared.answer(row);
        }
    }

    /// Requests the sets of rows. Returns the number of the round.
    fn want(&mut self, wanted: &mut Vec<u32>, rows: &mut impl Rows) -> u32 {
        let shared = &self.shared;
        self.comparer.want(rows, |row| shared.place(row), wanted)
    }

    /// Reads the sets of rows, as far as there is memory.
    pub fn read(&mut self, wanted: &mut Vec<u32>, rows: &mut impl Rows) {
        let round = self.want(wanted, rows);
        self.comparer.take_wanted(round, rows);
    }

    /// Reads the sets of those rows that are the first of their classes.
    pub fn read_ahead(&mut self, of: Range<u32>, rows: &mut impl Rows) {
        let mut wanted = of.filter(|&row| self.classes.is_first(row)).collect();
        self.read(&mut wanted, rows);
    }

    /// Calls `near` with each candidate that is a near-duplicate of a row, and their similarity.
    /// From then on, only candidates at least as similar as `near` returned count. False if the row
    /// turns out to be missing.
    pub fn each_near(
        &mut self,
        row: u32,
        candidates: &[Candidate],
        mut least: f64,
        rows: &mut impl Rows,
        mut near: impl FnMut(&Candidate, f64) -> f64,
    ) -> bool {
        if candidates.is_empty() {
            return true;
        }
        let (shared, comparer) = (&self.shared, &mut self.comparer);
        if !comparer.pin(rows, row, shared.place(row)) {
            return false;
        }
        let ahead = |i: usize| candidates.get(i).map(|candidate| candidate.row);
        for (i, candidate) in candidates.iter().enumerate() {
            rows.check();
            ahead(i + 4).inspect(|&row| comparer.prefetch_place(row));
            ahead(i + 2).inspect(|&row| comparer.prefetch_set(row));
            let other = candidate.row;
            if comparer.may_be(row, other, least)
                && comparer.load(rows, other, shared.place(other))
                // The size of the other set may be known only now.
                && comparer.may_be(row, other, least)
                && let Some(similarity) = comparer.near(row, other, candidate.keys, least)
            {
                least = near(candidate, similarity);
            }
        }
        true
    }

    /// The similarity of a row and a candidate, if they are near-duplicates.
    pub fn near(&mut self, row: u32, other: &Candidate, rows: &mut impl Rows) -> Option<f64> {
        let (mut found, other) = (None, std::slice::from_ref(other));
        self.each_near(row, other, self.law.similarity, rows, |_, similarity| {
            found = Some(similarity);
            similarity
        });
        found
    }

    /// Looks up all rows, in order. Rows of an earlier block are possible candidates if they are
    /// kept.
    ///
    /// The texts of a batch are read while the previous batch is looked up.
    pub fn look_up(&mut self, cover: &mut Cover, blocks: &Blocks, rows: &mut impl Rows) {
        let first = self.shared.split().unwrap_or(0);
        for row in 0..first {
            let is_kept = cover.is_kept(self.shared.place(row));
            if is_kept {
                self.answer(row);
            }
        }
        let mut batch = self.prepare(first, first, cover, rows);
        while !batch.rows.is_empty() {
            let next = self.prepare(batch.rows.end, batch.rows.start, cover, rows);
            self.comparer.take_wanted(batch.round, rows);
            self.shared.begin_batch();
            for row in batch.rows.clone() {
                rows.check();
                self.take(row, &batch, cover, rows);
            }
            let within = f64::from(batch.rows.end - first) / f64::from(self.shared.len() - first);
            rows.progress(blocks.share(READING + (self.share - READING) * within));
            batch = next;
        }
        rows.want_no_more(batch.round);
    }

    /// Prepares a batch of rows from `first` on. Finds their candidates among the rows before
    /// `since`, which are decided, and requests the sets of both. Requests the sets of rows of the
    /// batch that may be candidates of each other, too. Rows without candidates are not read.
    fn prepare(&mut self, first: u32, since: u32, cover: &Cover, rows: &mut impl Rows) -> Batch {
        let end = self.shared.len().min(first.saturating_add(BATCH));
        let mut batch = Batch { rows: first..first, since, ..Batch::default() };
        let mut candidates = std::mem::take(&mut self.candidates);
        let (mut wanted, mut within) = (Vec::new(), Vec::new());
        for row in first..end {
            if batch.early.len() >= MOST {
                break;
            }
            batch.rows.end = row + 1;
            rows.check();
            if row + 2 < end {
                self.shared.prefetch_keys(row + 2);
                self.shared.prefetch_lists(row + 1);
            }
            batch.starts.push(batch.early.len());
            let class = self.classes.first(row);
            let from = match self.known.get(&class) {
                Some(&(since, _)) => since,
                // A copy of a kept row, or of a row from `since` on, which is not decided yet.
                None if class != row => continue,
                None => 0,
            };
            if cover.is_gone(self.shared.place(row)) {
                continue;
            }
            self.shared.candidates(row, from, &mut candidates);
            if !candidates.is_empty() {
                let both = std::iter::once(row).chain(candidates.iter().map(|other| other.row));
                wanted.extend(both.filter(|&row| !self.comparer.is_known(row)));
                batch.early.append(&mut candidates);
            }
        }
        batch.starts.push(batch.early.len());
        self.candidates = candidates;
        self.shared.candidates_within(batch.rows.clone(), &mut within);
        wanted.extend(within.into_iter().filter(|&row| self.classes.is_first(row)));
        batch.round = self.want(&mut wanted, rows);
        batch
    }

    /// Looks up a row, and keeps it if no kept row is near.
    fn take(&mut self, row: u32, batch: &Batch, cover: &mut Cover, rows: &mut impl Rows) {
        let (place, class) = (self.shared.place(row), self.classes.first(row));
        if self.comparer.is_gone(row) {
            return cover.set(place, (GONE, 0.0));
        }
        let in_one = self.shared.split().is_none();
        let (from, mut best) = if class == row {
            (0, cover.best(place))
        } else {
            let of_class = self.shared.place(class);
            if in_one && cover.is_kept(of_class) {
                return cover.set(place, (of_class, 1.0));
            }
            match self.known.get(&class) {
                Some(&(since, best)) => (since, best),
                None => (0, cover.best(place)),
            }
        };
        best = self.best_of(row, batch.early(row, from), best, rows);
        let mut candidates = std::mem::take(&mut self.candidates);
        self.shared.late(row, from.max(batch.since), &mut candidates);
        best = self.best_of(row, &candidates, best, rows);
        self.candidates = candidates;
        cover.set(place, best);
        if best.0 == KEPT && in_one {
            self.shared.answer(row);
        } else {
            self.comparer.forget(row);
            if self.classes.members(class).len() > 1 {
                self.known.insert(class, (row, best));
            }
        }
    }

    /// The most similar one of the candidates and `best`, or [`GONE`] if the row is missing.
    fn best_of(
        &mut self,
        row: u32,
        candidates: &[Candidate],
        mut best: Best,
        rows: &mut impl Rows,
    ) -> Best {
        let least = if best.0 < GONE { best.1 } else { self.law.similarity };
        let mut nearest = None;
        let is_there = self.each_near(row, candidates, least, rows, |candidate, similarity| {
            if nearest.is_none_or(|(_, most)| similarity > most) {
                nearest = Some((candidate.row, similarity));
            }
            similarity
        });
        if !is_there {
            return (GONE, 0.0);
        }
        if let Some((other, similarity)) = nearest
            && (best.0 >= GONE || similarity > best.1)
        {
            best = (self.shared.place(other), similarity);
        }
        best
    }
}
