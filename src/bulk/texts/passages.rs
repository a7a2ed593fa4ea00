//! Compares whole tables by copied passages: all pairs of rows that share one.
//!
//! [`simhash_core::passages::whole`] has the algorithm. Here are the rows.

use std::collections::HashMap;

use pgrx::PgSqlErrorCode;
use simhash_core::base::hash::feature_hash;
use simhash_core::passages::whole::{self, Found, Frequent, LeftOut, Rows};
use simhash_core::passages::{Winnower, kept_run};

use super::super::places::{BYTES, Places};
use super::super::progress::{self, Command, Progress};
use super::super::servers::messages::expect_tids;
use super::super::servers::parts::Parts;
use super::super::servers::texts::ServerTexts;
use super::super::spool::Spool;
use super::super::target::{Named, Target};
use super::any_rows::AnyRows;
use super::read::{Origin, Read};
use super::rows::{TextRows, Texts, rows_with_keys, rows_without_keys};
use super::{check_count, expect_room, raise_no_room};
use crate::am::passages::{PassageRecipe, key_of};
use crate::call::interrupts;
use crate::catalog::names::relation_name;
use crate::error::{notice, raise};
use crate::guc::work_mem;
use crate::storage::check_for_interrupts;

/// Two rows by the numbers of their visible versions, and what they share.
pub type Pair = (u64, u64, Found);

/// A row, by the number of the root of its HOT chain, and that of its visible version.
#[derive(Clone, Copy)]
pub struct Row {
    pub root: u64,
    pub visible: u64,
}

/// All pairs of rows that share a passage, as they are found.
pub struct Pairs {
    read: Read,
    pairs: whole::Pairs,
    most: Option<usize>,
    command: Command,
    /// For indexes of this server: finds an example of a run that is left out.
    winnower: Option<Winnower>,
    batch: std::vec::IntoIter<Found>,
    is_done: bool,
    /// Whether what is left out has been reported; it is known after the first batch.
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

/// All pairs of rows that share a passage, as [`begin`] has them. Over servers all are found before
/// the first one is returned: while connections are open, no other code of the session may run.
pub fn pairs(
    origin: Origin,
    words: Option<usize>,
    most: Option<usize>,
) -> Box<dyn Iterator<Item = Pair>> {
    let is_here = matches!(origin, Origin::Here(_));
    let pairs = begin(origin, words, most, Command::Passages, 1).into_iter().flatten();
    if is_here {
        return Box::new(pairs);
    }
    let numbers = |(first, second, found): Pair| {
        let Found { a, b, passages, words, share_a, share_b } = found;
        let [places, counts] =
            [(a, b), (passages, words)].map(|(high, low)| u64::from(high) << 32 | u64::from(low));
        [first, second, places, counts, share_a.to_bits(), share_b.to_bits()]
    };
    let pair = |[first, second, places, counts, share_a, share_b]: [u64; 6]| {
        let [(a, b), (passages, words)] =
            [places, counts].map(|both| ((both >> 32) as u32, both as u32));
        let (share_a, share_b) = (f64::from_bits(share_a), f64::from_bits(share_b));
        (first, second, Found { a, b, passages, words, share_a, share_b })
    };
    Box::new(Spool::of(pairs.map(numbers)).map(pair))
}

/// Begins to find all pairs of rows that share a passage of so many words, or of as many as the
/// index has. Runs of words that occur in more than `most` texts propose none. Takes
/// simhash.work_mem divided by `parts`.
pub fn begin(
    origin: Origin,
    words: Option<usize>,
    most: Option<usize>,
    command: Command,
    parts: usize,
) -> Option<Pairs> {
    let Begun { read, words, winnower, memory, progress } = match origin {
        Origin::Here(target) => Begun::of_target(target, words, command, parts)?,
        Origin::Servers(all) => Begun::of_parts(all, words, command, parts),
    };
    let places = read.places();
    let pairs = whole::Pairs::new(places.len(), places.split, words, most, memory);
    Some(Pairs {
        read,
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

/// The rows, and how they are compared.
struct Begun {
    read: Read,
    words: usize,
    winnower: Option<Winnower>,
    memory: usize,
    progress: Progress,
}

impl Begun {
    fn of_target(
        target: Target,
        words: Option<usize>,
        command: Command,
        parts: usize,
    ) -> Option<Self> {
        let opened = target.open();
        let first = opened.first()?;
        let recipe = PassageRecipe::of(first.rel());
        let words = words.unwrap_or(recipe.words);
        if words < recipe.words {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "index \"{}\" finds passages of at least {} words, not of {words}",
                    first.rel().name(),
                    recipe.words
                ),
                &format!(
                    "Create an index WITH (words = {words}), or use a greater number of words."
                ),
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
                let index = relation_name(named.index);
                say_short(&format!("index \"{index}\""), short, recipe.words);
            }
        }
        drop(opened);
        let memory = memory_beside(numbers.len(), parts, &progress);
        let places = Places::new(numbers, target.sources.len(), places_of_first);
        let texts = Texts { places, bands: None, simhasher, config: None, moved: HashMap::new() };
        let winnower = Some(Winnower::new(recipe.window()));
        let read = Read::Here(target, Box::new(texts));
        Some(Self { read, words, winnower, memory, progress })
    }

    /// For parts of a table, whose indexes are for no more words than are asked for.
    fn of_parts(mut all: Parts, words: Option<usize>, command: Command, parts: usize) -> Self {
        let of_index = all.words();
        let progress = Progress::start(command, all.table, all.table, 1, 0);
        let numbers = ServerTexts::all_rows(&mut all, true);
        let short = ServerTexts::all_rows(&mut all, false).len() as u64;
        if short > 0 {
            say_short(&format!("table \"{}\"", relation_name(all.table)), short, of_index);
        }
        expect_tids(&numbers, work_mem());
        let memory = memory_beside(numbers.len(), parts, &progress);
        let places = Places::new(numbers, all.parts.len(), None);
        let texts = ServerTexts::new(all, places, None, None, HashMap::new());
        let words = words.unwrap_or(of_index);
        Self { read: Read::Servers(Box::new(texts)), words, winnower: None, memory, progress }
    }
}

/// The memory left beside the state of so many rows, out of simhash.work_mem divided by `parts`.
fn memory_beside(rows: usize, parts: usize, progress: &Progress) -> usize {
    check_count(rows);
    progress.expect_rows(rows);
    let known = rows * (BYTES + BYTES_OF_PAIRS);
    let allowed = work_mem() / parts;
    match allowed.checked_sub(known) {
        Some(memory) if memory >= allowed / 4 => memory,
        _ => raise_no_room(rows, known * parts),
    }
}

/// About how many bytes the pairs know of each row.
const BYTES_OF_PAIRS: usize = 30;

/// How many characters of a run are shown.
const SHOWN: usize = 60;

impl Pairs {
    fn next_batch(&mut self) {
        let Self { read, pairs, most, winnower, has_said, .. } = self;
        let most = *most;
        let mut found = Vec::new();
        let (is_done, left_out) = read.with_rows(false, |rows| {
            let is_done = !expect_room(pairs.next_batch(rows, &mut found));
            let says = !std::mem::replace(has_said, true);
            let LeftOut { keys, most_frequent } = pairs.left_out();
            let frequent = most_frequent.filter(|_| says && most.is_some());
            let left_out = frequent.map(|frequent| {
                let example = match (rows, winnower) {
                    (AnyRows::Here(rows), Some(winnower)) => example(rows, winnower, frequent),
                    _ => None,
                };
                (keys, frequent.texts, example)
            });
            (is_done, left_out)
        });
        self.found += found.len() as u64;
        progress::found(self.found);
        (self.is_done, self.batch) = (is_done, found.into_iter());
        if let (Some((keys, texts, example)), Some(most)) = (left_out, most) {
            say_left_out(keys, most, texts, example, self.command);
        }
        if self.is_done {
            self.read.end();
        }
    }
}

impl Pairs {
    /// The same, but for [`Pairs::next_texts`].
    pub fn of_texts(self) -> Self {
        Self { pairs: self.pairs.of_texts(), ..self }
    }

    /// The next pair of texts, each by the place of its first row. Both are the same if several
    /// rows have one text.
    pub fn next_texts(&mut self) -> Option<(u32, u32)> {
        self.next_found().map(|found| (found.a, found.b))
    }

    /// The row in a place, of a pair that was found.
    pub fn row(&self, place: u32) -> Row {
        Row { root: self.read.places().number(place), visible: self.read.visible(place) }
    }

    /// The rows that have a text; when two tables are joined, only those of the first row's table.
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
        Some((self.read.visible(found.a), self.read.visible(found.b), found))
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
            "runs of words that more than {most} texts contain were left out: {keys}; the most \
             frequent one is in {texts}{example}"
        ),
        match command {
            Command::Passages => {
                "Texts that share nothing else are not pairs. With most => NULL no runs are left \
                 out."
            }
            _ => "Texts that share nothing else and have distant fingerprints are not compared.",
        },
    );
}

fn say_short(place: &str, rows: u64, words: usize) {
    notice(
        &format!("texts of fewer than {words} words in {place}: {rows}"),
        "Such texts have no passages. An index WITH fewer words finds passages of short texts.",
    );
}
