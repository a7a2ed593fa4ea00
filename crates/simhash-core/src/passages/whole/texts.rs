//! Texts that were cut into tokens, as numbers of their words.

use std::collections::HashMap;
use std::ops::Range;

use super::rows::Rows;
use crate::base::interrupt::Interrupt;
use crate::passages::words::Words;

/// Texts by their places. Equal words have equal numbers, and others have not.
///
/// When so many bytes are full, all are thrown away, and all words. What is cut again may take
/// other numbers then.
pub(super) struct Texts {
    words: Words,
    tokens: Vec<u32>,
    texts: HashMap<u32, Range<usize>>,
    memory: usize,
    /// More bytes are full.
    limit: usize,
    /// How often all were thrown away.
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

    /// Whether a text can be had at once.
    pub(super) fn has(&self, place: u32) -> bool {
        self.texts.contains_key(&place)
    }

    /// Numbers of words are comparable only if they were had in the same round.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// The tokens of a text that was loaded. None if it was thrown away since.
    pub(super) fn get(&self, place: u32) -> &[u32] {
        self.texts.get(&place).map_or(&[], |text| &self.tokens[text.clone()])
    }

    /// Cuts a text, unless it was. A row that is gone has a text without tokens. The text of `kept`
    /// is not thrown away.
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
        // What is kept may be large. It must not be copied for each small text.
        self.limit = self.memory.max(2 * self.bytes());
    }
}
