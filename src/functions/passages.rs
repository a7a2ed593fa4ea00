//! `shares_passage`, `shared_passages` and `passage_share`: the passages that two texts have in
//! common, word for word.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern};
use simhash_core::passages::{Passage, Prepared, recipe, share, shared, shares};
use simhash_core::{Config, Simhasher};

use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::models::simhasher_for;
use crate::types::text_passage::checked_words;
use crate::types::{ConfigText, Text};

/// Cuts texts into the tokens of a config.
fn cutter(config: &Config, call: &Call<'_>) -> Simhasher {
    simhasher_for(recipe(config), Schema::of_call(call))
}

/// What a call site keeps: the tokenizer, and for each of the two arguments its latest text. A
/// constant, or the outer row of a join, is the same text in successive calls.
struct Site {
    cutter: Simhasher,
    words: usize,
    latest: [Latest; 2],
}

/// The latest text of an argument.
enum Latest {
    None,
    /// A text of one call, not cut yet.
    Once(Box<str>),
    Again(Box<Prepared>),
}

impl Latest {
    /// The text, cut, if the previous call had the same one.
    fn again(&mut self, text: &str, cutter: &mut Simhasher, words: usize) -> Option<&mut Prepared> {
        let kept = match &*self {
            Latest::None => None,
            Latest::Once(kept) => Some(&**kept),
            Latest::Again(kept) => Some(kept.text()),
        };
        if kept != Some(text) {
            *self = Latest::Once(text.into());
            return None;
        }
        if let Latest::Once(_) = self {
            let prepared = Prepared::new(cutter, text, words, &mut interrupts());
            *self = Latest::Again(Box::new(prepared));
        }
        match self {
            Latest::Again(prepared) => Some(prepared),
            _ => None,
        }
    }
}

impl Site {
    fn shares(&mut self, [a, b]: [&str; 2], asked: usize) -> bool {
        if self.words != asked {
            (self.words, self.latest) = (asked, [Latest::None, Latest::None]);
        }
        let Self { cutter, words, latest: [first, second] } = self;
        let (of_a, of_b) = (first.again(a, cutter, *words), second.again(b, cutter, *words));
        match (of_a, of_b) {
            (Some(a), _) => a.shares(cutter, b, &mut interrupts()),
            (None, Some(b)) => b.shares(cutter, a, &mut interrupts()),
            (None, None) => shares(cutter, [a, b], *words, &mut interrupts()),
        }
    }
}

/// Whether two texts share a passage, by the call site's [`Site`] for a config.
pub(super) fn shares_at_site(
    mut call: Call<'_>,
    config: &str,
    read: impl FnOnce() -> Config,
    texts: [&str; 2],
    words: usize,
) -> bool {
    let serves = |made_for: &String| made_for == config;
    let make = |call: &Call<'_>| {
        let latest = [Latest::None, Latest::None];
        (config.to_owned(), Site { cutter: cutter(&read(), call), words, latest })
    };
    call.keep(serves, make).shares(texts, words)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn shares_passage(
    a: Text<'_>,
    b: Text<'_>,
    words: i32,
    config: ConfigText<'_>,
    call: Call<'_>,
) -> bool {
    let words = checked_words(words);
    let texts = [a.as_str(), b.as_str()];
    shares_at_site(call, config.as_str(), || config.config(), texts, words)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn passage_share(
    a: Text<'_>,
    b: Text<'_>,
    words: i32,
    config: ConfigText<'_>,
    mut call: Call<'_>,
) -> f64 {
    let words = checked_words(words);
    let serves = |made_for: &String| made_for == config.as_str();
    let make = |call: &Call<'_>| (config.as_str().to_owned(), cutter(&config.config(), call));
    let cutter = call.keep(serves, make);
    share(cutter, [a.as_str(), b.as_str()], words, &mut interrupts())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn shared_passages(
    a: Text<'_>,
    b: Text<'_>,
    words: i32,
    config: ConfigText<'_>,
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(a_start, i32),
        name!(a_length, i32),
        name!(b_start, i32),
        name!(b_length, i32),
        name!(words, i32),
    ),
> {
    let words = checked_words(words);
    let mut cutter = cutter(&config.config(), &call);
    let texts = [a.as_str(), b.as_str()];
    let mut passages = shared(&mut cutter, texts, words, &mut interrupts());
    // The rows go into a tuplestore one by one, because they may exceed the memory.
    let next = move || {
        let Passage { a, b, words } = passages.next(&mut interrupts())?;
        let [a_start, a_length] = [a.start as i32, a.length as i32];
        let [b_start, b_length] = [b.start as i32, b.length as i32];
        Some((a_start, a_length, b_start, b_length, words as i32))
    };
    TableIterator::new(std::iter::from_fn(next))
}
