//! All pairs of near-duplicates, a few at a time.

use super::blocks::{Blocks, Meeting, READING, shared};
use super::compare::Law;
use super::cover::Looking;
use super::rows::Rows;
use super::shared::{Candidate, Full};

/// Two classes of rows of equal sets: each row of one is near each of the other. Or one class
/// twice: any two of its rows are near each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Same {
    pub first: u32,
    pub second: u32,
    pub similarity: f64,
}

/// All pairs, in progress.
pub struct Pairs {
    law: Law,
    places: u32,
    memory: usize,
    blocks: Blocks,
    meeting: Option<(Meeting, Looking)>,
    /// The next row that is looked up, and the number of rows of the next batch.
    next: u32,
    batch: u32,
    candidates: Vec<Candidate>,
}

/// The rows of the first batch: few, so that a query with a LIMIT ends soon.
const FIRST_BATCH: u32 = 64;
const LARGEST_BATCH: u32 = 1 << 12;

impl Pairs {
    /// All pairs of places below `places`. With `split`, only those of a place below it and a place
    /// from it on.
    pub fn new(places: u32, split: Option<u32>, law: Law, memory: usize) -> Self {
        Self {
            law,
            places,
            memory,
            blocks: Blocks::of_all(places, split),
            meeting: None,
            next: 0,
            batch: FIRST_BATCH,
            candidates: Vec::new(),
        }
    }

    /// Puts the next pairs into `found`. Until the next call, [`Pairs::places`] gives the places of
    /// their rows. False at the end.
    ///
    /// # Errors
    /// When not even the keys of two rows fit into memory.
    pub fn next_batch(
        &mut self,
        rows: &mut impl Rows,
        found: &mut Vec<Same>,
    ) -> Result<bool, Full> {
        found.clear();
        while found.is_empty() {
            if !self.meet(rows)? {
                return Ok(false);
            }
            self.look_up(rows, found);
        }
        Ok(true)
    }

    /// The places of the rows that a row of a pair represents, ascending.
    pub fn places(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        self.meeting.iter().flat_map(move |(_, looking)| {
            looking.classes.members(row).iter().map(|&row| looking.shared.place(row))
        })
    }

    /// Begins the next meeting if the current one has no more rows to look up. False at the end.
    fn meet(&mut self, rows: &mut impl Rows) -> Result<bool, Full> {
        loop {
            if let Some((_, looking)) = &self.meeting
                && self.next < looking.shared.len()
            {
                return Ok(true);
            }
            self.meeting = None;
            let Some(meeting) = self.blocks.next_meeting() else { return Ok(false) };
            let least = self.law.sketch.shared;
            let Ok(shared) = shared(rows, self.places, &meeting, |_| true, least, self.memory)
            else {
                self.blocks.divide(self.law.sketch.bands, self.memory)?;
                continue;
            };
            let mut looking = Looking::of_all(shared, self.law, self.memory, rows);
            self.next = looking.shared.split().unwrap_or(0);
            for row in 0..self.next {
                looking.answer(row);
            }
            self.meeting = Some((meeting, looking));
        }
    }

    /// Looks up the next rows among the rows before them.
    fn look_up(&mut self, rows: &mut impl Rows, found: &mut Vec<Same>) {
        let Some((meeting, looking)) = &mut self.meeting else { return };
        let upto = looking.shared.len().min(self.next.saturating_add(self.batch));
        self.batch = (self.batch * 4).min(LARGEST_BATCH);
        looking.read_ahead(self.next..upto, rows);
        let is_of_one = meeting.is_of_one();
        for row in self.next..upto {
            rows.check();
            if !looking.classes.is_first(row) || looking.comparer.is_gone(row) {
                continue;
            }
            if is_of_one && looking.classes.members(row).len() > 1 {
                found.push(Same { first: row, second: row, similarity: 1.0 });
            }
            looking.shared.candidates(row, 0, &mut self.candidates);
            let least = self.law.similarity;
            looking.each_near(row, &self.candidates, least, rows, |candidate, similarity| {
                found.push(Same { first: candidate.row, second: row, similarity });
                least
            });
            if is_of_one {
                looking.answer(row);
            }
        }
        self.next = upto;
        let within = f64::from(upto) / f64::from(looking.shared.len());
        rows.progress(self.blocks.share(READING + (1.0 - READING) * within));
    }
}
