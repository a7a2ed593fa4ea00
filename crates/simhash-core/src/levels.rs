//! Importance in five levels (Manku, Jain and Das Sarma weigh features so): 1 says little, 5 says much.
//!
//! - A Han word's level is its dictionary frequency's: each level holds a fifth of the running text that the
//!   dictionary was counted on, 1 the most frequent words, 5 the rarest and those that are not listed.
//! - Any other stop word (English or Chinese list) is 1.
//! - Any other token goes by its length in characters: to 3 level 2, to 6 level 3, to 9 level 4, beyond 5.
//!
//! A shingle has the level of its most important token.

use crate::config::{NormalizeSteps, StopWords};
use crate::counter::Counter;
use crate::han::is_han;
use crate::hash::feature_hash;
use crate::stopwords::WordSet;

/// The levels of tokens under one configuration.
pub(crate) struct Levels {
    han: Counter<u64>,
    stop_words: WordSet,
}

/// The level of what is rare.
const HIGHEST: u32 = 5;

impl Levels {
    pub(crate) fn new(steps: NormalizeSteps) -> Self {
        let mut han = Counter::new();
        let lines = include_str!("../data/zh_word_levels.txt").lines();
        for (level, words) in
            lines.filter(|line| !line.starts_with('#')).zip(1u32..).map(|(line, level)| (level, line))
        {
            // The first field repeats the level.
            for word in words.split(' ').skip(1) {
                han.count(feature_hash(word.as_bytes()), Some(level));
            }
        }
        Levels { han, stop_words: WordSet::stop_words(StopWords::Auto, steps) }
    }

    /// 1 to 5.
    pub(crate) fn level(&self, token: &str) -> u32 {
        if token.chars().all(is_han) {
            return self.han.get(feature_hash(token.as_bytes())).unwrap_or(HIGHEST);
        }
        if self.stop_words.contains(token) {
            return 1;
        }
        match token.chars().take(10).count() {
            0..=3 => 2,
            4..=6 => 3,
            7..=9 => 4,
            _ => HIGHEST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_unimportant() {
        let levels = Levels::new(NormalizeSteps::default());
        let level = |token| levels.level(token);
        // Counts in the dictionary: 318,825 at least, 35,966, 9,604, 2,470, 271; the last is not in it.
        assert_eq!(["的", "成为", "德国", "堆", "大象", "驫麤"].map(level), [1, 2, 3, 4, 5, 5]);
        assert_eq!(["the", "cat", "tiger", "database", "encyclopaedia"].map(level), [1, 2, 3, 4, 5]);
        assert_eq!(level("😀"), 2);
    }
}
