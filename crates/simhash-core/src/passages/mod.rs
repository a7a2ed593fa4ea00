//! Copied passages: runs of consecutive tokens that two texts have in common.
//!
//! [`shares`] reports whether there is one ([`Prepared`] for one text and many others), [`share`]
//! which share of a text is in such runs, and [`shared`] finds all of them, with their places in
//! the original texts. These functions are exact. [`kept`] returns the hashes of a text that an
//! index keeps, by which it finds texts that share a passage ([`Winnower`]). [`whole`] finds all
//! pairs of a table.
//!
//! The tokens are those of a configuration. Stop words are left out if it removes them.

mod common;
mod order;
mod prepared;
mod rolling;
mod tokens;
pub mod whole;
mod winnow;
mod words;

use std::ops::Range;

use crate::Simhasher;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::sort::sort_checked;
use crate::config::Config;
use common::{Run, Runs, Sequences};
pub use prepared::Prepared;
use tokens::each_token;
pub use winnow::{Kept, WORDS, Window, Winnower};
use words::Words;

/// The part of a configuration that determines a text's tokens.
///
/// ```
/// use simhash_core::{Config, passages::recipe};
/// let config: Config = r#"{"tokenizer": "word", "shingle": 2, "weight": "tf"}"#.parse().unwrap();
/// assert_eq!(recipe(&config).to_string(), r#"{"tokenizer": "word"}"#);
/// ```
pub fn recipe(config: &Config) -> Config {
    Config {
        tokenizer: config.tokenizer,
        normalize: config.normalize,
        dictionary: config.dictionary.clone(),
        stopwords: config.stopwords.clone(),
        hmm: config.hmm,
        comments: config.comments,
        whitespace: config.whitespace,
        ..Config::default()
    }
}

/// Whether two texts have a run of at least `words` consecutive tokens in common. `words` counts as
/// at least 1.
///
/// ```
/// use simhash_core::{Config, Simhasher, passages::shares};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let mut shares = |a, b, words| shares(&mut simhasher, [a, b], words, &mut || ());
/// assert!(shares("The cat sat on the mat.", "My cat sat on the bed", 4));
/// assert!(!shares("The cat sat on the mat.", "My cat sat on the bed", 5));
/// ```
pub fn shares(
    simhasher: &mut Simhasher,
    texts: [&str; 2],
    words: usize,
    interrupt: &mut dyn FnMut(),
) -> bool {
    if is_too_short(simhasher, texts, words, interrupt) {
        return false;
    }
    let sequences = Cut::new(simhasher, texts, false, interrupt).sequences;
    sequences.have_common(words.max(1), &Interrupt::new(interrupt))
}

/// The share of the first text's tokens that are in runs of at least `words` tokens shared with the
/// second text, from 0 to 1. It is 0 for a text without a token.
///
/// ```
/// use simhash_core::{Config, Simhasher, passages::share};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let texts = ["The cat sat on the mat.", "My cat sat on the bed"];
/// assert_eq!(share(&mut simhasher, texts, 3, &mut || ()), 4.0 / 6.0);
/// ```
pub fn share(
    simhasher: &mut Simhasher,
    texts: [&str; 2],
    words: usize,
    interrupt: &mut dyn FnMut(),
) -> f64 {
    if is_too_short(simhasher, texts, words, interrupt) {
        return 0.0;
    }
    let cut = Cut::new(simhasher, texts, false, interrupt);
    let common = cut.sequences.count_common(words.max(1), &Interrupt::new(interrupt));
    if cut.tokens == 0 { 0.0 } else { common as f64 / cut.tokens as f64 }
}

/// The place of a passage in a text: from the first character of its first token to the last
/// character of its last token, with combining marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The number of its first character, counted from 1.
    pub start: u32,
    /// Its number of characters.
    pub length: u32,
}

/// A passage that two texts have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Its place in the first text.
    pub a: Span,
    /// Its place in the second text.
    pub b: Span,
    /// Its number of tokens.
    pub words: u32,
}

/// The passages that two texts have in common, as an iterator ([`shared`]).
pub struct Shared {
    runs: Runs,
    /// The characters of each token of either text, counted from 0.
    places: [Vec<Range<u32>>; 2],
}

/// The maximal runs of at least `words` consecutive tokens that two texts have in common, ordered
/// by their start in the first text and then in the second one. There may be as many as the product
/// of the texts' lengths. Memory is proportional to the sum of the lengths.
///
/// ```
/// use simhash_core::passages::{Passage, Span, shared};
/// use simhash_core::{Config, Simhasher};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let texts = ["The cat -- \u{201c}sat\u{201d}.", "A ＣＡＴ sat"];
/// let mut shared = shared(&mut simhasher, texts, 2, &mut || ());
/// let (a, b) = (Span { start: 5, length: 11 }, Span { start: 3, length: 7 });
/// assert_eq!(shared.next(&mut || ()), Some(Passage { a, b, words: 2 }));
/// assert_eq!(shared.next(&mut || ()), None);
/// ```
pub fn shared(
    simhasher: &mut Simhasher,
    texts: [&str; 2],
    words: usize,
    interrupt: &mut dyn FnMut(),
) -> Shared {
    let is_too_short = is_too_short(simhasher, texts, words, interrupt);
    let texts = if is_too_short { ["", ""] } else { texts };
    let Cut { sequences, places, .. } = Cut::new(simhasher, texts, true, interrupt);
    Shared { runs: Runs::new(sequences, words.max(1), &Interrupt::new(interrupt)), places }
}

impl Shared {
    /// The next passage. The work between two passages is at most linear in the texts' lengths.
    pub fn next(&mut self, interrupt: &mut dyn FnMut()) -> Option<Passage> {
        let Run { a, b, length } = self.runs.next(&Interrupt::new(interrupt))?;
        let span = |places: &[Range<u32>], first: usize| {
            let (start, end) = (places[first].start, places[first + length - 1].end);
            Span { start: start + 1, length: end - start }
        };
        let [of_a, of_b] = &self.places;
        Some(Passage { a: span(of_a, a), b: span(of_b, b), words: length as u32 })
    }
}

/// The hashes of a text that an index keeps, in ascending order, each with the first place where it
/// is kept. There are none if the text has fewer tokens than the passages of `winnower`.
///
/// ```
/// use simhash_core::passages::{Window, Winnower, kept};
/// use simhash_core::{Config, Simhasher};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let mut winnower = Winnower::new(Window::of(5).unwrap());
/// let mut kept = |text| kept(&mut simhasher, &mut winnower, text, &mut || ());
/// assert!(kept("one two three four").is_empty());
/// let hashes = |text| kept(text).into_iter().map(|kept| kept.hash).collect::<Vec<_>>();
/// let [a, b] = ["one two three four five", "zero one two three four five six"].map(hashes);
/// assert!(a.iter().any(|hash| b.contains(hash)));
/// ```
pub fn kept(
    simhasher: &mut Simhasher,
    winnower: &mut Winnower,
    text: &str,
    interrupt: &mut dyn FnMut(),
) -> Vec<Kept> {
    let mut kept = Vec::new();
    winnower.restart();
    simhasher.for_each_token(text, interrupt, |token| {
        winnower.push(feature_hash(token.as_bytes()), &mut |run| kept.push(run));
    });
    sort_checked(&mut kept, interrupt);
    kept.dedup_by_key(|run| run.hash);
    kept
}

/// The first run of the text whose hash is kept and wanted, as it is in the text. `None` if there
/// is no such run.
///
/// ```
/// use simhash_core::passages::{Window, Winnower, kept, kept_run};
/// use simhash_core::{Config, Simhasher};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let mut winnower = Winnower::new(Window::of(5).unwrap());
/// let text = "One two, three four five.";
/// let hash = kept(&mut simhasher, &mut winnower, text, &mut || ())[0].hash;
/// let run = kept_run(&mut simhasher, &mut winnower, text, |kept| kept == hash, &mut || ());
/// assert!(["One two, three", "two, three four", "three four five"].contains(&run.unwrap()));
/// ```
pub fn kept_run<'a>(
    simhasher: &mut Simhasher,
    winnower: &mut Winnower,
    text: &'a str,
    is_wanted: impl Fn(u64) -> bool,
    interrupt: &mut dyn FnMut(),
) -> Option<&'a str> {
    let kept = kept(simhasher, winnower, text, interrupt);
    let first = kept.iter().filter(|kept| is_wanted(kept.hash)).map(|kept| kept.token).min()?;
    let last = first as usize + winnower.run() - 1;
    let (mut token, mut start, mut end) = (0, 0, 0);
    simhasher.for_each_placed_token(text, interrupt, |_, place| {
        if token == first as usize {
            start = place.start;
        }
        if token == last {
            end = place.end;
        }
        token += 1;
    });
    text.get(start..end)
}

/// Whether the shorter text has fewer than `words` tokens, so that the longer one need not be cut.
/// Otherwise the shorter text is cut a second time. It is therefore checked only if it is much
/// shorter.
fn is_too_short(
    simhasher: &mut Simhasher,
    [a, b]: [&str; 2],
    words: usize,
    interrupt: &mut dyn FnMut(),
) -> bool {
    const MUCH: usize = 8;
    let (shorter, longer) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if shorter.len() > longer.len() / MUCH {
        return false;
    }
    let mut tokens = 0;
    simhasher.for_each_token(shorter, interrupt, |_| tokens += 1);
    tokens < words.max(1)
}

/// Two texts cut into tokens.
struct Cut {
    sequences: Sequences,
    /// The number of tokens of the first text.
    tokens: usize,
    /// The characters of each token, if places are wanted.
    places: [Vec<Range<u32>>; 2],
}

impl Cut {
    fn new(
        simhasher: &mut Simhasher,
        [a, b]: [&str; 2],
        with_places: bool,
        interrupt: &mut dyn FnMut(),
    ) -> Self {
        let mut words = Words::default();
        let mut places = [Vec::new(), Vec::new()];
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        let [places_a, places_b] = places.each_mut().map(|places| with_places.then_some(places));
        each_token(simhasher, a, places_a, interrupt, |token| of_a.push(words.add(token)));
        each_token(simhasher, b, places_b, interrupt, |token| of_b.push(words.find(token)));
        let tokens = of_a.len();
        let sequences = Sequences::new(of_a, words.len(), of_b.into_iter());
        Cut { sequences, tokens, places }
    }
}
