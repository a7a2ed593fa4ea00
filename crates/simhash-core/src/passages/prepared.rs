//! A text to be compared with many others: it is cut once, and its runs are in a table.

use std::hash::{BuildHasher, RandomState};

use super::common::Sequences;
use super::rolling::Rolling;
use super::tokens::each_token;
use super::words::Words;
use crate::Simhasher;
use crate::base::counter::Counter;
use crate::base::interrupt::Interrupt;

/// A text cut into tokens, with the place of each of its runs.
///
/// ```
/// use simhash_core::passages::Prepared;
/// use simhash_core::{Config, Simhasher};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let mut text = Prepared::new(&mut simhasher, "The cat sat on the mat.", 4, &mut || ());
/// assert!(text.shares(&mut simhasher, "My cat sat on the bed", &mut || ()));
/// assert!(!text.shares(&mut simhasher, "My cat sat on a mat", &mut || ()));
/// ```
pub struct Prepared {
    text: Box<str>,
    length: usize,
    words: Words,
    tokens: Vec<u32>,
    /// The place of one run for each hash.
    runs: Counter<u64>,
    rolling: Rolling,
}

impl Prepared {
    /// Prepares a text for runs of `length` tokens, which counts as at least 1.
    pub fn new(
        simhasher: &mut Simhasher,
        text: &str,
        length: usize,
        interrupt: &mut dyn FnMut(),
    ) -> Self {
        let length = length.max(1);
        let (mut words, mut tokens) = (Words::default(), Vec::new());
        each_token(simhasher, text, None, interrupt, |token| tokens.push(words.add(token)));
        let mut rolling = Rolling::new(RandomState::new().hash_one(length), length);
        let mut runs = Counter::new();
        let interrupt = Interrupt::new(interrupt);
        for (end, &number) in tokens.iter().enumerate() {
            interrupt.spend(16);
            let Some(hash) = rolling.push(u64::from(number)) else { continue };
            if runs.get(hash).is_none() {
                runs.reserve(1, &interrupt);
                runs.count(hash, Some((end + 1 - length) as u32));
            }
        }
        Prepared { text: text.into(), length, words, tokens, runs, rolling }
    }

    /// The text itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The share of the text's tokens that are in runs shared with another text.
    pub fn share(
        &self,
        simhasher: &mut Simhasher,
        other: &str,
        interrupt: &mut dyn FnMut(),
    ) -> f64 {
        if self.tokens.is_empty() {
            return 0.0;
        }
        let common = self.beside(simhasher, other, interrupt);
        let common = common.count_common(self.length, &Interrupt::new(interrupt));
        common as f64 / self.tokens.len() as f64
    }

    /// Whether another text, cut by the same `simhasher`, shares a run with this text.
    pub fn shares(
        &mut self,
        simhasher: &mut Simhasher,
        other: &str,
        interrupt: &mut dyn FnMut(),
    ) -> bool {
        let Self { length, words, tokens, runs, rolling, .. } = self;
        if tokens.len() < *length {
            return false;
        }
        let length = *length;
        rolling.restart();
        // The numbers of the latest consecutive tokens that the text has, too.
        let mut latest: Vec<u32> = Vec::new();
        let (mut is_found, mut is_doubtful) = (false, false);
        simhasher.for_each_token(other, interrupt, |token| {
            if is_found {
                return;
            }
            let Some(number) = words.find(token) else {
                rolling.restart();
                latest.clear();
                return;
            };
            latest.push(number);
            let found = rolling.push(u64::from(number)).and_then(|hash| runs.get(hash));
            if let Some(start) = found {
                let start = start as usize;
                let run = &latest[latest.len() - length..];
                is_found = tokens[start..start + length] == *run;
                // Two different runs have one hash. The random base makes that practically
                // impossible.
                is_doubtful |= !is_found;
            }
        });
        is_found
            || is_doubtful && {
                let both = self.beside(simhasher, other, interrupt);
                both.have_common(length, &Interrupt::new(interrupt))
            }
    }

    /// The sequences of this text and another one.
    fn beside(
        &self,
        simhasher: &mut Simhasher,
        other: &str,
        interrupt: &mut dyn FnMut(),
    ) -> Sequences {
        let mut of_other = Vec::new();
        simhasher.for_each_token(other, interrupt, |token| of_other.push(self.words.find(token)));
        Sequences::new(self.tokens.clone(), self.words.len(), of_other.into_iter())
    }
}
