//! The cover in order: which rows stay, and which row stands for each of the others.
//!
//! Rows are taken by their places. One that is near no row kept before it is kept. So the outcome
//! is that of inserting them in this order under a constraint, ON CONFLICT DO NOTHING: no kept row
//! is near another, and no other row is far from the one that stands for it. A row is looked up
//! among the kept ones only.

use std::collections::HashMap;
use std::ops::Range;

use super::blocks::{Blocks, READING, shared};
use super::classes::Classes;
use super::compare::{Comparer, Law};
use super::rows::Rows;
use super::shared::{Candidate, Full, Shared};

/// What became of rows, by their places.
pub struct Cover {
    /// The place of the row that stands for each, or a mark.
    kept: Vec<u32>,
    similarity: Vec<f64>,
}

/// No row stands for it: it is kept.
const KEPT: u32 = u32::MAX;
/// It was found to be no row.
const GONE: u32 = u32::MAX - 1;

impl Cover {
    pub(super) fn new(places: u32) -> Self {
        Self { kept: vec![KEPT; places as usize], similarity: vec![0.0; places as usize] }
    }

    /// The row that stands for a row, and how similar it is: the most similar one of those kept
    /// before it, the first of these. `None` for a row that is kept.
    pub fn kept(&self, place: u32) -> Option<(u32, f64)> {
        let kept = self.kept[place as usize];
        (kept < GONE).then(|| (kept, self.similarity[place as usize]))
    }

    fn is_kept(&self, place: u32) -> bool {
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

/// The place of the row that stands for another, and how similar it is.
type Best = (u32, f64);

/// The cover of places below `places`. With `split`, those below it all are kept, and stand for
/// those from it on, which stand for none.
///
/// # Errors
/// When not even the keys of two rows fit into so many bytes.
pub fn cover(
    rows: &mut impl Rows,
    places: u32,
    split: Option<u32>,
    law: Law,
    memory: usize,
) -> Result<Cover, Full> {
    let mut cover = Cover::new(places);
    let mut blocks = Blocks::new(places, split);
    while let Some(meeting) = blocks.next() {
        let first = if meeting.is_of_one() { 0..0 } else { meeting.first.clone() };
        let wanted = |place: u32| !first.contains(&place) || cover.is_kept(place);
        let found = shared(rows, places, &meeting, wanted, law.sketch.shared, memory);
        let Ok(shared) = found else {
            blocks.divide(law.sketch.bands, memory)?;
            continue;
        };
        Looking::new(shared, law, memory, split, rows).look_up(&mut cover, &blocks, rows);
        blocks.met(&meeting);
    }
    Ok(cover)
}

/// The rows of one meeting of blocks, looked up in order.
pub(super) struct Looking {
    pub shared: Shared,
    pub comparer: Comparer,
    pub classes: Classes,
    law: Law,
    /// Of a class whose first row is not kept: the row before which all kept rows have been looked
    /// at, and the best of them.
    known: HashMap<u32, (u32, Best)>,
    candidates: Vec<Candidate>,
    /// Rows that are looked up together, and the candidates of each among those before them.
    batch: Range<u32>,
    early: Vec<Candidate>,
    early_starts: Vec<usize>,
}

/// How many rows are looked up together.
const BATCH: u32 = if cfg!(test) { 16 } else { 1 << 12 };

impl Looking {
    /// With `split`, two tables are joined.
    pub fn new(
        shared: Shared,
        law: Law,
        memory: usize,
        split: Option<u32>,
        rows: &mut impl Rows,
    ) -> Self {
        // What keys leave of their half is for sets too.
        let for_sets = (2 * memory).saturating_sub(shared.memory());
        let mut comparer = Comparer::new(law, shared.len(), for_sets);
        // Rows kept before differ from each other.
        let from = if split.is_some() { 0 } else { shared.split().unwrap_or(0) };
        let classes = Classes::new(&shared, law.sketch.bands, from, rows, &mut comparer);
        let (known, candidates, early, early_starts) = Default::default();
        Self { shared, comparer, classes, law, known, candidates, batch: 0..0, early, early_starts }
    }

    /// As [`Looking::new`], where the rows of an earlier block are all there.
    pub fn of_all(shared: Shared, law: Law, memory: usize, rows: &mut impl Rows) -> Self {
        Self::new(shared, law, memory, Some(0), rows)
    }

    /// From now on a row is found, if it is the first of its class.
    pub fn answer(&mut self, row: u32) {
        if self.classes.is_first(row) && !self.comparer.is_gone(row) {
            self.shared.answer(row);
        }
    }

    /// Reads the sets of rows, as far as there is memory.
    pub fn read(&mut self, wanted: &mut Vec<u32>, rows: &mut impl Rows) {
        let shared = &self.shared;
        self.comparer.read_ahead(rows, |row| shared.place(row), wanted);
    }

    /// Reads the sets of the classes whose first rows are among these.
    pub fn read_ahead(&mut self, of: Range<u32>, rows: &mut impl Rows) {
        let mut wanted = of.filter(|&row| self.classes.is_first(row)).collect();
        self.read(&mut wanted, rows);
    }

    /// The similarity of a row and a candidate, if they are near-duplicates.
    pub fn near(&mut self, row: u32, other: &Candidate, rows: &mut impl Rows) -> Option<f64> {
        let set = self.comparer.set(rows, row, self.shared.place(row))?;
        if !self.comparer.may_be(&set, other.row, self.law.similarity) {
            return None;
        }
        let place = self.shared.place(other.row);
        let other_set = self.comparer.set(rows, other.row, place)?;
        self.comparer.near(&set, &other_set, other.keys, self.law.similarity)
    }

    /// Looks all rows up, in order. Rows of an earlier block answer if they are kept.
    pub fn look_up(&mut self, cover: &mut Cover, blocks: &Blocks, rows: &mut impl Rows) {
        let first = self.shared.split().unwrap_or(0);
        for row in 0..first {
            let is_kept = cover.is_kept(self.shared.place(row));
            if is_kept {
                self.answer(row);
            }
        }
        let mut row = first;
        while row < self.shared.len() {
            let upto = self.shared.len().min(row.saturating_add(BATCH));
            self.prepare(row..upto, cover, rows);
            for row in row..upto {
                rows.check();
                self.take(row, cover, rows);
            }
            row = upto;
            let within = f64::from(row - first) / f64::from(self.shared.len() - first);
            rows.progress(blocks.share(READING + (1.0 - READING) * within));
        }
    }

    /// Looks the next rows up among those that are kept by now, and reads the texts of both. Texts
    /// without candidates are not read.
    fn prepare(&mut self, batch: Range<u32>, cover: &Cover, rows: &mut impl Rows) {
        self.batch = batch.clone();
        self.early.clear();
        self.early_starts.clear();
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut wanted = Vec::new();
        for row in batch {
            rows.check();
            self.early_starts.push(self.early.len());
            let class = self.classes.first(row);
            let from = match self.known.get(&class) {
                Some(&(since, _)) => since,
                // A copy of a kept row, or of one of this batch.
                None if class != row => continue,
                None => 0,
            };
            if cover.is_gone(self.shared.place(row)) {
                continue;
            }
            self.shared.candidates(row, from, &mut candidates);
            if !candidates.is_empty() {
                wanted.push(row);
                wanted.extend(candidates.iter().map(|candidate| candidate.row));
                self.early.append(&mut candidates);
            }
        }
        self.early_starts.push(self.early.len());
        self.candidates = candidates;
        self.read(&mut wanted, rows);
    }

    /// Looks a row up, and keeps it if none is near.
    fn take(&mut self, row: u32, cover: &mut Cover, rows: &mut impl Rows) {
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
        best = self.best_early(row, from, best, rows);
        let mut candidates = std::mem::take(&mut self.candidates);
        self.shared.candidates(row, from.max(self.batch.start), &mut candidates);
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

    /// As [`Looking::best_of`], of those that were kept before the batch.
    fn best_early(&mut self, row: u32, from: u32, best: Best, rows: &mut impl Rows) -> Best {
        let i = (row - self.batch.start) as usize;
        let early = std::mem::take(&mut self.early);
        let mine = &early[self.early_starts[i]..self.early_starts[i + 1]];
        let mine = &mine[mine.partition_point(|candidate| candidate.row < from)..];
        let best = self.best_of(row, mine, best, rows);
        self.early = early;
        best
    }

    /// The most similar one of the candidates and `best`, or that the row is gone.
    fn best_of(
        &mut self,
        row: u32,
        candidates: &[Candidate],
        mut best: Best,
        rows: &mut impl Rows,
    ) -> Best {
        if candidates.is_empty() {
            return best;
        }
        let Some(set) = self.comparer.set(rows, row, self.shared.place(row)) else {
            return (GONE, 0.0);
        };
        for &Candidate { row: other, keys } in candidates {
            rows.check();
            let place = self.shared.place(other);
            let least = if best.0 < GONE { best.1 } else { self.law.similarity };
            if !self.comparer.may_be(&set, other, least) {
                continue;
            }
            let Some(other) = self.comparer.set(rows, other, place) else { continue };
            if let Some(similarity) = self.comparer.near(&set, &other, keys, least)
                && (best.0 >= GONE || similarity > best.1)
            {
                best = (place, similarity);
            }
        }
        best
    }
}
