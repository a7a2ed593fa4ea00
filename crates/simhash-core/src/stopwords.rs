//! Stop words: the lists of Stopwords ISO, normalised like the texts in which they are looked up.

use crate::config::{NormalizeStep, NormalizeSteps, StopWords};
use crate::counter::Counter;
use crate::hash::feature_hash;
use crate::normalize::normalize;
use crate::unicode::{Properties, properties};

/// Whether a token is a number. The first character says it: a token has no digits beside letters.
pub(crate) fn is_number(token: &str) -> bool {
    token.chars().next().is_some_and(|c| properties(c).any(Properties::NUMERIC))
}

/// A set of words, by hash.
pub(crate) struct WordSet(Counter<u64>);

impl WordSet {
    /// The stop words of a configuration as they stand in texts normalised by `steps`.
    pub(crate) fn stop_words(words: StopWords, steps: NormalizeSteps) -> Self {
        let languages: &[&str] = match words {
            StopWords::None => &[],
            StopWords::En => &["en"],
            StopWords::Zh => &["zh"],
            StopWords::Auto => &["en", "zh"],
        };
        // The lists are plain text.
        let steps = steps.without(NormalizeStep::Html);
        let mut set = Counter::new();
        for language in languages {
            for word in stop_words::lookup(language).unwrap_or_default() {
                let word = normalize(word, steps, &mut || ());
                // The Chinese list has the digits. But the number is what tells 5G from 4G.
                if !word.is_empty() && !is_number(&word) {
                    set.count(feature_hash(word.as_bytes()), Some(1));
                }
            }
        }
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
        let default = WordSet::stop_words(StopWords::Auto, NormalizeSteps::default());
        for word in ["the", "of", "dont", "的", "我们", "什么"] {
            assert!(default.contains(word), "{word}");
        }
        for word in ["don't", "cat", "猫", "", "5", "０"] {
            assert!(!default.contains(word), "{word}");
        }
        let raw = WordSet::stop_words(StopWords::En, NormalizeSteps::NONE);
        assert!(raw.contains("don't") && !raw.contains("的"));
        assert!(!WordSet::stop_words(StopWords::Zh, NormalizeSteps::NONE).contains("the"));
    }
}
