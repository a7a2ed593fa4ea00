//! Finds the user's own words in text that ICU4X cuts ([`segment`]). ICU4X accepts no user's words,
//! so they are searched for first: the one that begins first in a run, and of those that begin
//! together the longest. ICU4X cuts the text between them.
//!
//! [`segment`]: crate::words::segment

use std::ops::Range;

use super::cut::Frequencies;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::words::segment::{continues_word, is_spaceless};

/// The user's words that can be part of such a run, including Han ones.
#[derive(Default)]
pub(crate) struct WholeWords(Frequencies);

impl WholeWords {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `word` if it could be part of a run.
    pub(super) fn add(&mut self, word: &str, interrupt: &Interrupt) {
        if word.chars().all(is_spaceless) && !word.starts_with(continues_word) {
            self.0.add(word, 1, interrupt);
        }
    }

    /// The place of the first of them in `run`.
    pub(crate) fn find(&self, run: &str, interrupt: &Interrupt) -> Option<Range<usize>> {
        let starts = run.char_indices().filter(|&(_, c)| !continues_word(c));
        starts.map(|(start, _)| start).find_map(|start| {
            let mut longest = None;
            for (at, c) in run[start..].char_indices() {
                let end = start + at + c.len_utf8();
                interrupt.spend(end - start);
                match self.0.get(feature_hash(&run.as_bytes()[start..end])) {
                    None => break,
                    Some(Some(_)) if !run[end..].starts_with(continues_word) => longest = Some(end),
                    Some(_) => {}
                }
            }
            longest.map(|end| start..end)
        })
    }
}
