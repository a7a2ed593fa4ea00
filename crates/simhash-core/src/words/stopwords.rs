//! Stop words: the lists of Stopwords ISO, or one of the user's own, normalised like the texts in
//! which they are looked up.

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::config::{NormalizeSteps, StopList};
use crate::texts::normalize::normalize;
use crate::texts::unicode::{Properties, properties};
use crate::words::lists::{WordList, plain_text};

/// Whether a token is a number. The first character decides, because a token never has both digits
/// and letters.
pub(crate) fn is_number(token: &str) -> bool {
    token.chars().next().is_some_and(|c| properties(c).any(Properties::NUMERIC))
}

/// A set of words, by hash.
pub(crate) struct WordSet(Counter<u64>);

impl WordSet {
    /// The words of a list as they occur in texts normalised by `steps`.
    pub(crate) fn stop_words(list: StopList, steps: NormalizeSteps) -> Self {
        let languages: &[&str] = match list {
            StopList::None => &[],
            StopList::En => &["en"],
            StopList::Zh => &["zh"],
            StopList::Auto => &["en", "zh"],
        };
        let steps = plain_text(steps);
        let mut set = Counter::new();
        for language in languages {
            for word in stop_words::lookup(language).unwrap_or_default() {
                let word = normalize(word, steps, &mut || ());
                // The Chinese list has the digits, but a number distinguishes 5G from 4G.
                if !word.is_empty() && !is_number(&word) {
                    set.count(feature_hash(word.as_bytes()), Some(1));
                }
            }
        }
        WordSet(set)
    }

    /// The words of the user's own list. White space in them is dropped, as it is when a dictionary
    /// joins tokens.
    pub(crate) fn own(list: &WordList, steps: NormalizeSteps, interrupt: &Interrupt) -> Self {
        let mut set = Counter::new();
        list.for_each_normalized(steps, interrupt, |word, _| {
            let token: String =
                word.chars().filter(|&c| !properties(c).any(Properties::WHITE)).collect();
            if !token.is_empty() {
                set.reserve(1, interrupt);
                set.count(feature_hash(token.as_bytes()), Some(1));
            }
        });
        WordSet(set)
    }

    #[inline]
    pub(crate) fn contains(&self, word: &str) -> bool {
        self.0.get(feature_hash(word.as_bytes())).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_normalised_like_the_text() {
        let default = WordSet::stop_words(StopList::Auto, NormalizeSteps::default());
        for word in ["the", "of", "dont", "的", "我们", "什么"] {
            assert!(default.contains(word), "{word}");
        }
        for word in ["don't", "cat", "猫", "", "5", "０"] {
            assert!(!default.contains(word), "{word}");
        }
        let raw = WordSet::stop_words(StopList::En, NormalizeSteps::NONE);
        assert!(raw.contains("don't") && !raw.contains("的"));
        assert!(!WordSet::stop_words(StopList::Zh, NormalizeSteps::NONE).contains("the"));
    }
}
