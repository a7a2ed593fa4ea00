//! Whole tables: all pairs of rows that share a passage.
//!
//! Two texts share a passage only if they share a key, a hash that an index keeps of both
//! ([`Winnower`](super::Winnower)). An index has its postings (key, row) in the order of the keys,
//! so a walk over it shows which rows share which keys ([`keys`]). A row's candidates are the rows
//! before it that share a key with it. The row's text is put into a table of its runs once, in
//! which each candidate's text is looked up ([`compare`]). That is exact.
//!
//! A row is identified by its place, its number from 0 in the order of processing. One row
//! represents all rows with an equal text ([`classes`]). If memory does not hold the keys of all
//! rows, places are processed in blocks ([`Blocks`]), with one walk over the index for each pair of
//! blocks.

mod classes;
mod compare;
mod keys;
mod rows;
mod texts;

#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::base::interrupt::Interrupt;
pub use crate::whole::sharing::Full;
use crate::whole::sharing::blocks::{Blocks, Meeting};
use classes::{Classes, NONE};
use compare::Table;
use keys::{Account, Law, Lists, walk};
pub use keys::{Frequent, LeftOut};
pub use rows::Rows;
use texts::Texts;

/// Two rows that share a passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The place of the row that precedes.
    pub a: u32,
    /// The place of the other row.
    pub b: u32,
    /// The number of stretches of the first text that common passages cover. Passages that touch or
    /// overlap form one stretch.
    pub passages: u32,
    /// The number of tokens in these stretches.
    pub words: u32,
    /// Their share of the first text's tokens, as [`share`](super::share) returns it.
    pub share_a: f64,
    /// The share of the second text's tokens, as [`share`](super::share) returns it.
    pub share_b: f64,
}

/// Finds all pairs of rows that share a passage, step by step.
///
/// A pair is found if its texts have a run of `words` tokens in common ([`shares`](super::shares))
/// and share a key that is not left out. Its figures count all that the texts have in common.
///
/// - Within one table, the first row of a text represents its copies. Each copy is found once,
///   paired with that row, and in no other pair.
/// - Between two tables, each row of the first one is paired with each of the second one.
/// - [`Pairs::of_texts`] finds pairs of texts instead, each text identified by its first row.
///
/// Pairs of copies come first. The others are ordered by their second rows, or the first rows of
/// their texts; the pairs of one row are in no particular order. If memory does not hold all keys,
/// that is the order within each meeting of two blocks.
pub struct Pairs {
    places: u32,
    words: usize,
    law: Law,
    memory: usize,
    texts: Texts,
    of_texts: bool,
    begun: Option<Begun>,
    left_out: LeftOut,
    /// The pair found last, whose rows may represent others, and the number of their pairs already
    /// returned.
    last: Option<(Found, usize)>,
    is_full: bool,
}

/// The state after the first walks over the keys.
struct Begun {
    classes: Classes,
    /// Rows that represent copies and are still to be processed, as a stack.
    copied: Vec<u32>,
    blocks: Blocks,
    meeting: Option<(Meeting, Lists)>,
    /// The next row of the meeting that is not in `ahead`.
    next: u32,
    /// The next rows, whose texts were announced to [`Rows::expect_tokens`].
    ahead: VecDeque<Row>,
    /// The round of [`Texts`] in which they were last announced.
    expected_in: u32,
    row: Option<Row>,
}

/// A row to be compared with its candidates.
struct Row {
    place: u32,
    /// The table of its runs, and the round of [`Texts`] in which it was made.
    table: Option<(u32, Table)>,
    /// The remaining candidates, as a stack.
    candidates: Vec<u32>,
}

/// The result of a step.
enum Step {
    Found(Found),
    /// A candidate that shares nothing, or a step that compared nothing.
    Nothing,
    /// A compared row has no further candidates.
    EndOfRow,
    End,
}

/// The maximal number of pairs in a batch.
const BATCH: usize = if cfg!(test) { 8 } else { 1 << 10 };

/// The approximate maximal number of candidates in `ahead`, if texts are announced.
const AHEAD: usize = if cfg!(test) { 64 } else { 1 << 18 };

/// The estimated share of the first walk in the whole work, and of each later walk in its meeting.
const WALK: f64 = 0.1;

impl Pairs {
    /// Finds pairs of places below `places`; with `split`, one place below it and one from it on. A
    /// passage has at least `words` tokens. `words` counts as at least 1, and must not be less than
    /// the number for which the keys were made. Keys that more than `most` different texts have
    /// propose no pair.
    ///
    /// Takes about `memory` bytes, and in addition some 30 for each place and 30 for each token of
    /// a text that is compared with others.
    pub fn new(
        places: u32,
        split: Option<u32>,
        words: usize,
        most: Option<usize>,
        memory: usize,
    ) -> Self {
        Pairs {
            places,
            words: words.max(1),
            law: Law { split, most },
            memory: memory / 2,
            texts: Texts::new(memory / 3),
            of_texts: false,
            begun: None,
            left_out: LeftOut::default(),
            last: None,
            is_full: false,
        }
    }

    /// Finds each pair of texts once, identified by the first rows that have them. A text that
    /// several rows of one table have is paired with itself. [`Pairs::copies`] returns the rows of
    /// a text.
    pub fn of_texts(self) -> Self {
        Self { of_texts: true, ..self }
    }

    /// The rows on this row's side that have its text. `place` is the first of them.
    pub fn copies(&self, place: u32) -> &[u32] {
        self.begun.as_ref().map_or(&[], |begun| begun.classes.members(place))
    }

    /// The keys that were left out. Known from the first batch on.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Writes the next pairs to `found`, at least one. False at the end.
    ///
    /// # Errors
    /// If memory does not even hold the keys of two rows, this call and all later ones fail.
    pub fn next_batch(
        &mut self,
        rows: &mut impl Rows,
        found: &mut Vec<Found>,
    ) -> Result<bool, Full> {
        found.clear();
        while found.len() < BATCH {
            if self.is_full {
                return Err(Full);
            }
            if self.hand_out(rows, found) {
                continue;
            }
            match self.step(rows).inspect_err(|_| self.is_full = true)? {
                Step::Found(pair) => self.last = Some((pair, 0)),
                Step::Nothing => (),
                Step::EndOfRow if found.is_empty() => (),
                Step::EndOfRow | Step::End => break,
            }
        }
        Ok(!found.is_empty())
    }

    /// Adds the pairs of all rows that the rows of the last pair represent. False if there are
    /// none.
    fn hand_out(&mut self, rows: &mut impl Rows, found: &mut Vec<Found>) -> bool {
        let (Some(begun), Some((pair, next))) = (&self.begun, &mut self.last) else {
            return false;
        };
        rows.check();
        if self.of_texts {
            found.push(*pair);
            self.last = None;
            return true;
        }
        let (a, b) = if pair.a == pair.b {
            begun.classes.members(pair.a).split_at(1)
        } else if self.law.split.is_some() {
            (begun.classes.members(pair.a), begun.classes.members(pair.b))
        } else {
            (&[pair.a][..], &[pair.b][..])
        };
        while *next < a.len() * b.len() && found.len() < BATCH {
            let (a, b) = (a[*next / b.len()], b[*next % b.len()]);
            found.push(Found { a, b, ..*pair });
            *next += 1;
        }
        if *next == a.len() * b.len() {
            self.last = None;
        }
        true
    }

    fn step(&mut self, rows: &mut impl Rows) -> Result<Step, Full> {
        rows.check();
        let Some(begun) = &mut self.begun else {
            if self.places < 2 || self.law.split.is_some_and(|x| x == 0 || x >= self.places) {
                return Ok(Step::End);
            }
            self.begun = Some(self.begin(rows)?);
            return Ok(Step::Nothing);
        };
        let Some(row) = &mut begun.row else {
            begun.row = begun.ahead.pop_front();
            if let Some(Row { candidates, .. }) = &mut begun.row {
                // Texts in memory come first, because they might be discarded.
                let texts = &self.texts;
                let key = |&other: &u32| (!texts.has(other), rows.address(other), other);
                candidates.sort_unstable_by_key(key);
                candidates.reverse();
                return Ok(Step::Nothing);
            }
            if begun.look_ahead(&self.texts, rows) {
                begun.expect(&self.texts, rows);
                return Ok(Step::Nothing);
            }
            // Free its lists before the next ones are made.
            begun.meeting = None;
            let Some(meeting) = begun.blocks.next_meeting() else { return Ok(Step::End) };
            let law = (self.law, &begun.classes);
            let lists = walk(rows, self.places, law, &meeting, None, self.memory);
            begun.next = meeting.second.start;
            begun.meeting = Some((meeting, lists.map_err(|_| Full)?));
            return Ok(Step::Nothing);
        };
        let Some(other) = row.candidates.pop() else {
            let was_compared = row.table.is_some();
            begun.row = None;
            return Ok(if was_compared { Step::EndOfRow } else { Step::Nothing });
        };
        if begun.expected_in != self.texts.round() {
            row.candidates.push(other);
            begun.expect(&self.texts, rows);
            return Ok(Step::Nothing);
        }
        let pair = row.compare(other, self.words, &begun.classes, &mut self.texts, rows);
        Ok(pair.map_or(Step::Nothing, Step::Found))
    }

    /// Does the first walks over the keys.
    fn begin(&mut self, rows: &mut impl Rows) -> Result<Begun, Full> {
        let Self { places, law, memory, .. } = *self;
        let classes = Classes::new(places, law.split, rows);
        rows.progress(WALK);
        let mut account = Account::new(places);
        let mut blocks = Blocks::of_all(places, law.split);
        let mut meeting = blocks.next_meeting().ok_or(Full)?;
        let account_of = Some(&mut account);
        let lists = match walk(rows, places, (law, &classes), &meeting, account_of, memory) {
            Ok(lists) => lists,
            Err(degrees) => {
                blocks = Blocks::divided(degrees.into_iter(), law.split, memory);
                meeting = blocks.next_meeting().ok_or(Full)?;
                walk(rows, places, (law, &classes), &meeting, None, memory).map_err(|_| Full)?
            }
        };
        self.left_out = account.left_out;
        let mut copied = Vec::new();
        if law.split.is_none() {
            copied.extend(classes.copied().filter(|&row| account.proposed[row as usize]));
            copied.sort_unstable_by_key(|&row| std::cmp::Reverse((rows.address(row), row)));
        }
        let next = meeting.second.start;
        let (meeting, ahead) = (Some((meeting, lists)), VecDeque::new());
        let expected_in = self.texts.round();
        Ok(Begun { classes, copied, blocks, meeting, next, ahead, expected_in, row: None })
    }
}

impl Begun {
    /// Adds the next rows that have candidates to `ahead`, until enough texts are to be read or
    /// there are very many candidates. A row that represents copies is its own candidate. False if
    /// there are no more rows.
    fn look_ahead(&mut self, texts: &Texts, rows: &mut impl Rows) -> bool {
        let together = rows.together().max(1);
        let most = if together == 1 { 1 } else { AHEAD };
        let (mut count, mut read) = (0, HashSet::new());
        while read.len() < together && count < most {
            rows.check();
            let Some(row) = self.next_row(rows) else { break };
            if row.candidates.is_empty() {
                continue;
            }
            count += row.candidates.len();
            if together > 1 {
                let places = row.candidates.iter().chain([&row.place]).copied();
                read.extend(places.filter(|&place| !texts.has(place)));
            }
            self.ahead.push_back(row);
        }
        !self.ahead.is_empty()
    }

    /// The next row of the meeting.
    fn next_row(&mut self, rows: &mut impl Rows) -> Option<Row> {
        if let Some(first) = self.copied.pop() {
            return Some(Row { place: first, table: None, candidates: vec![first] });
        }
        let (meeting, lists) = self.meeting.as_mut()?;
        if self.next == meeting.second.end {
            return None;
        }
        let (place, mut candidates) = (self.next, Vec::new());
        let below = meeting.split().unwrap_or(place);
        lists.candidates(place, below, &mut candidates, &Interrupt::new(&mut || rows.check()));
        self.next += 1;
        report(&self.blocks, meeting, self.next, rows);
        Some(Row { place, table: None, candidates })
    }

    /// Announces the texts to be read next, if `rows` reads texts together.
    fn expect(&mut self, texts: &Texts, rows: &mut impl Rows) {
        self.expected_in = texts.round();
        if rows.together() <= 1 {
            return;
        }
        let (mut places, mut met) = (Vec::new(), HashSet::new());
        let mut candidates = Vec::new();
        for row in self.row.iter().chain(&self.ahead) {
            // In the order in which they will be sorted when they are compared.
            candidates.clone_from(&row.candidates);
            candidates.sort_unstable_by_key(|&place| (rows.address(place), place));
            let of_row = [row.place].into_iter().chain(candidates.iter().copied());
            places.extend(of_row.filter(|&place| !texts.has(place) && met.insert(place)));
        }
        rows.expect_tokens(&places);
    }
}

fn report(blocks: &Blocks, meeting: &Meeting, next: u32, rows: &mut impl Rows) {
    if next.is_multiple_of(64) || next == meeting.second.end {
        let rows_of = f64::from(meeting.second.end - meeting.second.start);
        let within = f64::from(next - meeting.second.start) / rows_of;
        // Each row is compared with those before it, so the work grows with the square.
        let within = if meeting.is_of_one() { within * within } else { within };
        rows.progress(WALK + (1.0 - WALK) * blocks.share(WALK + (1.0 - WALK) * within));
    }
}

/// What two equal texts have in common. The places are to be set by the caller.
fn equal(tokens: usize) -> Found {
    let (passages, words) = (1, tokens as u32);
    Found { a: NONE, b: NONE, passages, words, share_a: 1.0, share_b: 1.0 }
}

impl Row {
    fn compare(
        &mut self,
        other: u32,
        words: usize,
        classes: &Classes,
        texts: &mut Texts,
        rows: &mut impl Rows,
    ) -> Option<Found> {
        texts.load(self.place, NONE, rows);
        if texts.get(self.place).len() < words {
            self.candidates.clear();
            return None;
        }
        if classes.text(self.place) == classes.text(other) {
            return Some(Found { a: other, b: self.place, ..equal(texts.get(self.place).len()) });
        }
        texts.load(other, self.place, rows);
        let (text, of_other) = (texts.get(self.place), texts.get(other));
        if of_other.len() < words {
            return None;
        }
        let mut check = || rows.check();
        let interrupt = Interrupt::new(&mut check);
        let table = match &mut self.table {
            Some((round, table)) if *round == texts.round() => table,
            table => {
                let base = RandomState::new().hash_one(words);
                let new = Table::new(text, words, base, &interrupt);
                &mut table.insert((texts.round(), new)).1
            }
        };
        let common = table.compare(of_other, text, &interrupt)?;
        let share = |tokens: u32, text: &[u32]| f64::from(tokens) / text.len() as f64;
        Some(Found {
            a: other,
            b: self.place,
            passages: common.passages,
            words: common.tokens,
            share_a: share(common.tokens, of_other),
            share_b: share(common.of_text, text),
        })
    }
}
