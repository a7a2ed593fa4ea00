//! Spot signatures (Theobald, Siddharth and Paepcke, SIGIR 2008): chains of words that follow a
//! stop word. Sentences have many of them, menus and other lists of links almost none.

use std::collections::VecDeque;

use crate::base::interrupt::Interrupt;
use crate::config::Spots;
use crate::words::tokenize::SEPARATOR;

/// A token that is not a stop word.
#[derive(Default)]
struct Place {
    /// The stop words between the previous such token and this one, each after a separator.
    before: String,
    token: String,
    level: u32,
}

/// The last tokens, as many as a chain spans.
#[derive(Default)]
pub(crate) struct Chains {
    places: VecDeque<Place>,
    /// The stop words since the last token, in the format of [`Place::before`].
    waiting: String,
    /// A chain, with a separator before each token, and the same chain after a stop word.
    chain: String,
    spot: String,
}

impl Chains {
    pub(crate) fn restart(&mut self) {
        self.places.clear();
        self.waiting.clear();
    }

    pub(crate) fn push_stop_word(&mut self, word: &str) {
        self.waiting.push(SEPARATOR);
        self.waiting.push_str(word);
    }

    /// Adds a token, and passes the spots that it completes to `sink`: one for each stop word
    /// before the first token that the chain spans. Each has the level of its most important token.
    pub(crate) fn push(
        &mut self,
        token: &str,
        spots: Spots,
        level: &impl Fn(&str) -> u32,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str, u32),
    ) {
        let span = spots.chain * spots.distance;
        let spare = if self.places.len() == span { self.places.pop_front() } else { None };
        let mut place = spare.unwrap_or_default();
        place.before.clear();
        std::mem::swap(&mut place.before, &mut self.waiting);
        place.token.clear();
        place.token.push_str(token);
        place.level = level(token);
        self.places.push_back(place);
        if let Some(first) = self.places.front()
            && self.places.len() == span
            && !first.before.is_empty()
        {
            self.chain.clear();
            let mut highest = 0;
            for place in self.places.iter().skip(spots.distance - 1).step_by(spots.distance) {
                self.chain.push(SEPARATOR);
                self.chain.push_str(&place.token);
                highest = highest.max(place.level);
            }
            for word in first.before.split(SEPARATOR).skip(1) {
                self.spot.clear();
                self.spot.push_str(word);
                self.spot.push_str(&self.chain);
                interrupt.spend(self.spot.len());
                sink(&self.spot, highest.max(level(word)));
            }
        }
    }
}
