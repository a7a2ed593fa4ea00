//! Words of several tokens: where these tokens follow each other in a text, they become one token.
//!
//! The phrase that begins first is joined, and of those that begin together the longest. Text
//! between the tokens does not matter, because the tokenizer has dropped it.

use std::collections::VecDeque;

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::texts::place::Place;

/// Separates tokens. No token contains it.
const SEPARATOR: char = ' ';

/// Appends a token.
pub(super) fn push(tokens: &mut String, token: &str) {
    if !tokens.is_empty() {
        tokens.push(SEPARATOR);
    }
    tokens.push_str(token);
}

/// The sequences of tokens that are joined, and all their prefixes.
pub(crate) struct Phrases(Counter<u64>);

const ONLY_PREFIX: u32 = 0;
const WHOLE: u32 = 1;

impl Default for Phrases {
    fn default() -> Self {
        Phrases(Counter::new())
    }
}

impl Phrases {
    pub(super) fn is_empty(&self) -> bool {
        self.0.hashes().is_empty()
    }

    /// Adds a sequence of tokens with [`SEPARATOR`] between them. A single token is ignored.
    pub(super) fn add(&mut self, tokens: &str, interrupt: &Interrupt) {
        if !tokens.contains(SEPARATOR) {
            return;
        }
        let ends = tokens.match_indices(SEPARATOR).map(|(at, _)| at).chain([tokens.len()]);
        for end in ends {
            let hash = feature_hash(&tokens.as_bytes()[..end]);
            let number = if end == tokens.len() { WHOLE } else { ONLY_PREFIX };
            if self.0.get(hash).is_none_or(|known| known < number) {
                self.0.reserve(1, interrupt);
                self.0.count(hash, Some(number));
            }
            interrupt.spend(end);
        }
    }

    /// `None` if no phrase begins with these tokens. Otherwise whether they are a phrase.
    #[inline]
    fn get(&self, tokens: &str) -> Option<bool> {
        self.0.get(feature_hash(tokens.as_bytes())).map(|number| number == WHOLE)
    }
}

/// Joins the tokens of one text.
pub(crate) struct Joiner<'a, 'i, P> {
    phrases: &'a Phrases,
    interrupt: &'a Interrupt<'i>,
    /// The tokens that are not decided yet. Together they begin a phrase.
    waiting: String,
    /// Where each of them ends in `waiting`, and its place in the text.
    ends: VecDeque<(usize, P)>,
    /// How many of them, from the first on, form the longest phrase so far. 0 if there is none.
    whole: usize,
    /// A buffer for tokens to be joined.
    joined: String,
}

impl<'a, 'i, P: Place> Joiner<'a, 'i, P> {
    pub(crate) fn new(phrases: &'a Phrases, interrupt: &'a Interrupt<'i>) -> Self {
        Joiner {
            phrases,
            interrupt,
            waiting: String::new(),
            ends: VecDeque::new(),
            whole: 0,
            joined: String::new(),
        }
    }

    /// Adds the next token, and hands the tokens that it decides to `sink`.
    pub(crate) fn push(&mut self, token: &str, place: P, sink: &mut dyn FnMut(&str, P)) {
        while !self.take(token, &place) {
            if self.ends.is_empty() {
                return sink(token, place);
            }
            self.give_first(sink);
        }
    }

    /// Hands the remaining tokens to `sink`.
    pub(crate) fn finish(&mut self, sink: &mut dyn FnMut(&str, P)) {
        while !self.ends.is_empty() {
            self.give_first(sink);
        }
    }

    /// Adds a token to the waiting ones, if together they begin a phrase. Otherwise false.
    fn take(&mut self, token: &str, place: &P) -> bool {
        let length = self.waiting.len();
        push(&mut self.waiting, token);
        self.interrupt.spend(self.waiting.len());
        match self.phrases.get(&self.waiting) {
            None => {
                self.waiting.truncate(length);
                false
            }
            Some(is_whole) => {
                self.ends.push_back((self.waiting.len(), place.clone()));
                if is_whole {
                    self.whole = self.ends.len();
                }
                true
            }
        }
    }

    /// Hands the longest phrase, or else the first token, to `sink`. The others are added again.
    fn give_first(&mut self, sink: &mut dyn FnMut(&str, P)) {
        let count = self.whole.max(1);
        let Some((end, last)) = self.ends.get(count - 1).cloned() else { return };
        let Some((_, first)) = self.ends.front().cloned() else { return };
        let places: Vec<P> = self.ends.drain(..).skip(count).map(|(_, place)| place).collect();
        self.joined.clear();
        self.joined.extend(self.waiting[..end].split(SEPARATOR));
        sink(&self.joined, first.to(&last));
        let rest = self.waiting.split_off(end);
        self.waiting.clear();
        self.whole = 0;
        let tokens = rest.split(SEPARATOR).filter(|token| !token.is_empty());
        for (token, place) in tokens.zip(places) {
            self.push(token, place, sink);
        }
    }
}
