//! Texts as sequences of word numbers.

use std::collections::HashMap;
use std::ops::Range;

use super::rows::Rows;
use crate::base::interrupt::Interrupt;
use crate::passages::words::Words;

/// Texts by their places. Two words have equal numbers if and only if they are equal.
///
/// When the texts exceed `memory` bytes, all texts and words are discarded. A text that is cut
/// again may then have other numbers.
pub(super) struct Texts {
    words: Words,
    tokens: Vec<u32>,
    texts: HashMap<u32, Range<usize>>,
    memory: usize,
    /// Texts are discarded when they exceed this size in bytes.
    limit: usize,
    /// The number of times that all texts were discarded.
    round: u32,
}

impl Texts {
    pub(super) fn new(memory: usize) -> Self {
        Texts {
            words: Words::default(),
            tokens: Vec::new(),
            texts: HashMap::new(),
            memory,
            limit: memory,
            round: 0,
        }
    }

    /// Whether a text is in memory.
    pub(super) fn has(&self, place: u32) -> bool {
        self.texts.contains_key(&place)
    }

    /// The current round. Word numbers are comparable only within one round.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// The tokens of a loaded text. Empty if it was discarded since.
    pub(super) fn get(&self, place: u32) -> &[u32] {
        self.texts.get(&place).map_or(&[], |text| &self.tokens[text.clone()])
    }

    /// Cuts a text unless it is in memory. The text of a row that no longer exists has no tokens.
    /// The text of `kept` is not discarded.
    pub(super) fn load(&mut self, place: u32, kept: u32, rows: &mut impl Rows) {
        if self.has(place) {
            return;
        }
        if self.bytes() > self.limit {
            self.begin_anew(kept, &Interrupt::new(&mut || rows.check()));
        }
        let start = self.tokens.len();
        let (tokens, words) = (&mut self.tokens, &mut self.words);
        if !rows.each_token(place, &mut |token| tokens.push(words.add(token))) {
            tokens.truncate(start);
        }
        self.texts.insert(place, start..self.tokens.len());
    }

    fn bytes(&self) -> usize {
        const OF_TEXT: usize = 2 * size_of::<(u32, Range<usize>)>();
        self.words.memory() + self.tokens.capacity() * size_of::<u32>() + self.texts.len() * OF_TEXT
    }

    fn begin_anew(&mut self, kept: u32, interrupt: &Interrupt) {
        let round = self.round.wrapping_add(1);
        let old = std::mem::replace(self, Self { round, ..Self::new(self.memory) });
        if let Some(text) = old.texts.get(&kept) {
            for &number in &old.tokens[text.clone()] {
                interrupt.spend(16);
                self.tokens.push(self.words.add(old.words.get(number)));
            }
            self.texts.insert(kept, 0..self.tokens.len());
        }
        // The kept text may be large. A higher limit avoids copying it for each small text.
        self.limit = self.memory.max(2 * self.bytes());
    }
}
