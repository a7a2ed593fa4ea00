//! Whole tables by copied passages: all pairs of rows that share one.
//!
//! The work is that of [`simhash_core::passages::whole`]. Here are the rows.

use std::collections::HashMap;

use pgrx::PgSqlErrorCode;
use simhash_core::base::hash::feature_hash;
use simhash_core::passages::whole::{self, Found, Frequent, Rows};
use simhash_core::passages::{Winnower, kept_run};

use super::super::places::{BYTES, Places};
use super::super::progress::{self, Command, Progress};
use super::super::target::{Named, Target};
use super::rows::{TextRows, Texts, rows_with_keys, rows_without_keys};
use super::{check_count, expect_room, raise_no_room};
use crate::am::passages::{PassageRecipe, key_of};
use crate::call::interrupts;
use crate::error::{notice, raise};
use crate::guc::work_mem;
use crate::storage::check_for_interrupts;

/// Two rows by the numbers of their visible versions, and what they share.
pub type Pair = (u64, u64, Found);

/// A row by the number of the root of its chain of versions, and that of its visible version.
#[derive(Clone, Copy)]
pub struct Row {
    pub root: u64,
    pub visible: u64,
}

/// All pairs of rows that share a passage, as they are found.
pub struct Pairs {
    target: Target,
    texts: Texts,
    pairs: whole::Pairs,
    most: Option<usize>,
    command: Command,
    winnower: Winnower,
    batch: std::vec::IntoIter<Found>,
    is_done: bool,
    /// Whether it was said what is left out, which is known as of the first batch.
    has_said: bool,
    found: u64,
    _progress: Progress,
}

impl Rows for TextRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool) {
        self.each_key_of_index(each);
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        self.with(place, |_, text| feature_hash::<u128>(text.as_bytes()))
    }

    fn each_token(&mut self, place: u32, sink: &mut dyn FnMut(&str)) -> bool {
        let cut = self.with(place, |simhasher, text| {
            simhasher.for_each_token(text, &mut interrupts(), sink);
        });
        cut.is_some()
    }

    fn address(&self, place: u32) -> u64 {
        simhash_core::whole::sharing::Rows::address(self, place)
    }

    fn check(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        progress::compared(share);
    }
}

/// All pairs of rows that share a passage of so many words, or of as many as the index says.
/// Runs that stand in more than `most` texts propose none. Takes one of so many parts of
/// simhash.work_mem.
pub fn pairs(
    target: Target,
    words: Option<usize>,
    most: Option<usize>,
    command: Command,
    parts: usize,
) -> Option<Pairs> {
    let opened = target.open();
    let first = opened.first()?;
    let recipe = PassageRecipe::of(first.rel());
    let words = words.unwrap_or(recipe.words);
    if words < recipe.words {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "index \"{}\" finds passages of {} words and more, not of {words}",
                first.rel().name(),
                recipe.words
            ),
            &format!("Create one WITH (words = {words}), or ask for more words."),
        )
    }
    // SAFETY: the index is open.
    let simhasher = unsafe { recipe.simhasher(first.rel()) };
    let Named { table, index } = target.named[0];
    let progress = Progress::start(command, table, index, 1, 0);
    let split = target.split.unwrap_or(opened.len());
    let mut numbers = rows_with_keys(&opened, 0, split);
    let places_of_first = target.split.map(|_| numbers.len() as u32);
    numbers.extend(rows_with_keys(&opened, split, opened.len()));
    for (named, from, to) in [(0, 0, split), (1, split, opened.len())] {
        let short = rows_without_keys(&opened, from, to);
        if let Some(named) = target.named.get(named).filter(|_| short > 0) {
            say_short(named, short, recipe.words);
        }
    }
    drop(opened);
    check_count(numbers.len());
    progress.expect_rows(numbers.len());
    let known = numbers.len() * (BYTES + BYTES_OF_PAIRS);
    let allowed = work_mem() / parts;
    let memory = match allowed.checked_sub(known) {
        Some(memory) if memory >= allowed / 4 => memory,
        _ => raise_no_room(numbers.len(), known * parts),
    };
    let places = Places::new(numbers, target.sources.len(), places_of_first);
    let pairs = whole::Pairs::new(places.len(), places_of_first, words, most, memory);
    let texts = Texts { places, bands: None, simhasher, config: None, moved: HashMap::new() };
    let winnower = Winnower::new(recipe.window());
    Some(Pairs {
        target,
        texts,
        pairs,
        most,
        command,
        winnower,
        batch: Vec::new().into_iter(),
        is_done: false,
        has_said: false,
        found: 0,
        _progress: progress,
    })
}

/// What the pairs know of each row, about.
const BYTES_OF_PAIRS: usize = 30;

/// So many characters of a run are shown.
const SHOWN: usize = 60;

impl Pairs {
    fn next_batch(&mut self) {
        let opened = self.target.open();
        let mut rows = TextRows::new(&mut self.texts, &opened);
        let mut found = Vec::new();
        self.is_done = !expect_room(self.pairs.next_batch(&mut rows, &mut found));
        self.found += found.len() as u64;
        progress::found(self.found);
        self.batch = found.into_iter();
        let left_out = self.pairs.left_out();
        if !std::mem::replace(&mut self.has_said, true)
            && let (Some(frequent), Some(most)) = (left_out.most_frequent, self.most)
        {
            let example = example(&mut rows, &mut self.winnower, frequent);
            say_left_out(left_out.keys, most, frequent.texts, example, self.command);
        }
    }
}

impl Pairs {
    /// As this, but for [`Pairs::next_texts`].
    pub fn of_texts(self) -> Self {
        Self { pairs: self.pairs.of_texts(), ..self }
    }

    /// The next pair of texts, each by the place of the first row that has it. Both are the same if
    /// several rows have it.
    pub fn next_texts(&mut self) -> Option<(u32, u32)> {
        self.next_found().map(|found| (found.a, found.b))
    }

    /// The row in a place, of a pair that was found.
    pub fn row(&self, place: u32) -> Row {
        Row { root: self.texts.places.number(place), visible: self.texts.visible(place) }
    }

    /// The rows of a text, of its side.
    pub fn copies(&self, first: u32) -> impl Iterator<Item = Row> {
        self.pairs.copies(first).iter().map(|&place| self.row(place))
    }

    fn next_found(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.batch.next() {
                return Some(found);
            }
            if self.is_done {
                return None;
            }
            self.next_batch();
        }
    }
}

impl Iterator for Pairs {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let found = self.next_found()?;
        Some((self.texts.visible(found.a), self.texts.visible(found.b), found))
    }
}

/// How the most frequent run that was left out begins, in a row that has it.
fn example(
    rows: &mut TextRows<'_>,
    winnower: &mut Winnower,
    Frequent { key, place, .. }: Frequent,
) -> Option<String> {
    let is_wanted = |hash| (key_of::<u64>(hash) >> 32) as u32 == key;
    let shown = rows.with(place, |simhasher, text| {
        let run = kept_run(simhasher, winnower, text, is_wanted, &mut interrupts())?;
        let shown: String = run.chars().take(SHOWN).collect();
        Some(shown.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    shown.flatten()
}

fn say_left_out(keys: u64, most: usize, texts: usize, example: Option<String>, command: Command) {
    let example = example.map(|run| format!(": \"{run}...\"")).unwrap_or_default();
    notice(
        &format!(
            "runs of words left out, which stand in more than {most} texts each: {keys}; the most \
             frequent one in {texts}{example}"
        ),
        match command {
            Command::Passages => {
                "Texts that share nothing else are no pairs. With most => NULL all are taken."
            }
            _ => "Texts that share nothing else, and have far fingerprints, are not compared.",
        },
    );
}

fn say_short(named: &Named, rows: u64, words: usize) {
    let index = crate::catalog::names::relation_name(named.index);
    notice(
        &format!("texts of fewer than {words} words in index \"{index}\": {rows}"),
        "They share no passage with any. An index WITH fewer words finds those of short texts.",
    );
}
