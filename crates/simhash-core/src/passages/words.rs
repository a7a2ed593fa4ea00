//! Numbers for words.

use std::collections::HashMap;

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;

/// Distinct words, numbered in the order in which they were added.
pub(super) struct Words {
    /// The number of the first word with each hash, and the numbers of other words with the same
    /// hash.
    numbers: Counter<u64>,
    others: HashMap<Box<str>, u32>,
    /// All words, concatenated, and the end of each one.
    all: String,
    ends: Vec<usize>,
}

impl Default for Words {
    fn default() -> Self {
        Words {
            numbers: Counter::new(),
            others: HashMap::new(),
            all: String::new(),
            ends: Vec::new(),
        }
    }
}

impl Words {
    /// The number of words.
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The approximate memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.numbers.memory() + self.all.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The word with a number.
    pub(super) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[number]]
    }

    /// The number of a word, if it was added.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        let number = self.numbers.get(feature_hash(word.as_bytes()))?;
        if self.get(number) == word { Some(number) } else { self.others.get(word).copied() }
    }

    /// The number of a word. A new word is added.
    pub(super) fn add(&mut self, word: &str) -> u32 {
        if let Some(number) = self.find(word) {
            return number;
        }
        let (hash, number) = (feature_hash(word.as_bytes()), self.len());
        if self.numbers.get(hash).is_none() {
            self.numbers.reserve(1, &Interrupt::new(&mut || ()));
            self.numbers.count(hash, Some(number));
        } else {
            self.others.insert(word.into(), number);
        }
        self.all.push_str(word);
        self.ends.push(self.all.len());
        number
    }
}
