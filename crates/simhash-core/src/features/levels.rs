//! Importance of words in five levels, with which Manku, Jain and Das Sarma weigh features. Level 1
//! is the least important.
//!
//! - A Han word has a level by its frequency in the dictionary. Each level holds a fifth of the
//!   running text on which the dictionary was counted: level 1 the most frequent words, level 5 the
//!   rarest ones and those that are not listed.
//! - Any other stop word (of the English or the Chinese list) has level 1.
//! - Any other token has a level by its length in characters: 2 up to 3 characters, 3 up to 6, 4 up
//!   to 9, and 5 beyond.
//!
//! A shingle has the level of its most important token.
//!
//! The levels of Han words are a data file, because jieba-rs does not publish frequencies. They
//! therefore need no dictionary, and do not change with it.

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::config::{NormalizeSteps, StopList};
use crate::texts::han::is_han;
use crate::words::stopwords::WordSet;

/// The levels of tokens under one configuration.
pub(crate) struct Levels {
    han: Counter<u64>,
    stop_words: WordSet,
}

/// The level of rare words.
const HIGHEST: u32 = 5;

impl Levels {
    pub(crate) fn new(steps: NormalizeSteps) -> Self {
        let mut han = Counter::new();
        let lines = include_str!("../../data/zh_word_levels.txt").lines();
        for (level, words) in lines
            .filter(|line| !line.starts_with('#'))
            .zip(1u32..)
            .map(|(line, level)| (level, line))
        {
            // The first field repeats the level.
            for word in words.split(' ').skip(1) {
                han.count(feature_hash(word.as_bytes()), Some(level));
            }
        }
        Levels { han, stop_words: WordSet::stop_words(StopList::Auto, steps) }
    }

    /// The level of a token, from 1 to 5.
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
        // Their counts in the dictionary are at least 318,825, then 35,966, 9,604, 2,470 and 271.
        // The last word is not in it.
        assert_eq!(["的", "成为", "德国", "堆", "大象", "驫麤"].map(level), [1, 2, 3, 4, 5, 5]);
        assert_eq!(
            ["the", "cat", "tiger", "database", "encyclopaedia"].map(level),
            [1, 2, 3, 4, 5]
        );
        assert_eq!(level("😀"), 2);
    }
}
