//! Cuts Han text as jieba does, with the user's own words.
//!
//! Jieba chooses the most probable way to cut a text: the one with the greatest sum of ln(frequency
//! / total) over its words. A user's word takes part in that with its own frequency, in place of
//! the one in jieba's dictionary. The total stays that of jieba's dictionary, so a text without a
//! user's word is cut as it is without the list. jieba-rs cuts such text. Other text is cut here,
//! by the same algorithm: jieba-rs would need a copy of its dictionary, of 33 MB, for each list.
//! Here a list needs the memory of its own words, and all lists share one table of jieba's
//! frequencies.

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::lazy::Lazy;
use crate::words::dictionary::{Jieba, WORDS, dictionary};

/// Words with their frequencies, and all prefixes of words.
pub(super) struct Frequencies(Counter<u64>);

/// The number of a prefix that is not itself a word.
const ONLY_PREFIX: u32 = 0;

impl Default for Frequencies {
    fn default() -> Self {
        Frequencies(Counter::new())
    }
}

impl Frequencies {
    pub(super) fn is_empty(&self) -> bool {
        self.0.hashes().is_empty()
    }

    /// Adds a word. If it is already present, the greater frequency counts.
    pub(super) fn add(&mut self, word: &str, frequency: u32, interrupt: &Interrupt) {
        for (end, c) in word.char_indices() {
            let prefix = &word[..end + c.len_utf8()];
            let hash = feature_hash(prefix.as_bytes());
            let known = self.0.get(hash);
            let number =
                if prefix.len() == word.len() { frequency.saturating_add(1) } else { ONLY_PREFIX };
            if known.is_none_or(|known| known < number) {
                self.0.reserve(1, interrupt);
                self.0.count(hash, Some(number));
            }
            interrupt.spend(prefix.len());
        }
    }

    /// `word` is the hash of a string. `None` if no word begins with that string. Otherwise its
    /// frequency, if it is a word.
    #[inline]
    pub(super) fn get(&self, word: u64) -> Option<Option<u32>> {
        self.0.get(word).map(|number| number.checked_sub(1))
    }
}

/// Jieba's dictionary as this module reads it: 10 MB.
struct Base {
    frequencies: Frequencies,
    total: f64,
    /// Jieba without words, so that its model alone guesses them.
    guesser: Jieba,
}

static BASE: Lazy<Base> = Lazy::new(|| {
    let mut frequencies = Frequencies::default();
    let mut total = 0u64;
    let nothing = &mut || ();
    let interrupt = Interrupt::new(nothing);
    let text = std::str::from_utf8(WORDS).unwrap_or_default();
    for line in text.lines() {
        let mut fields = line.split(' ');
        if let (Some(word), Some(Ok(frequency))) = (fields.next(), fields.next().map(str::parse)) {
            frequencies.add(word, frequency, &interrupt);
            total += u64::from(frequency);
        }
    }
    Base { frequencies, total: total as f64, guesser: Jieba::empty() }
});

/// Whether `c` is Han and jieba cuts it together with the characters beside it. Every other Han
/// character (々, 〇, the Hangzhou numerals, the latest extensions) is a word of its own for jieba.
pub(super) fn is_han_of_jieba(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2B73F}'
        | '\u{2B740}'..='\u{2B81F}'
        | '\u{2B820}'..='\u{2CEAF}'
        | '\u{2CEB0}'..='\u{2EBEF}'
        | '\u{2F800}'..='\u{2FA1F}')
}

/// Whether jieba cuts `c` together with the characters beside it.
fn is_of_block(c: char) -> bool {
    is_han_of_jieba(c)
        || c.is_ascii_alphanumeric()
        || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}

/// The user's words of Han characters.
#[derive(Default)]
pub(crate) struct HanWords {
    own: Frequencies,
}

impl HanWords {
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Adds a word. Without a frequency, it gets the least one with which jieba does not cut a text
    /// of this word alone.
    pub(super) fn add(&mut self, word: &str, frequency: Option<u32>, interrupt: &Interrupt) {
        let frequency = frequency.unwrap_or_else(|| sufficient_frequency(word, interrupt));
        self.own.add(word, frequency, interrupt);
    }

    /// Hands the words of `text` to `sink`, as jieba would cut it with the user's words in its
    /// dictionary.
    pub(crate) fn cut<'t>(
        &self,
        text: &'t str,
        hmm: bool,
        interrupt: &Interrupt,
        sink: &mut dyn FnMut(&'t str),
    ) {
        if self.occur_in(text, interrupt) {
            Cutter { own: Some(&self.own), base: &BASE, hmm }.cut(text, interrupt, sink);
        } else {
            dictionary(interrupt).cut(text, hmm).into_iter().for_each(|token| sink(token.word));
        }
    }

    fn occur_in(&self, text: &str, interrupt: &Interrupt) -> bool {
        text.char_indices().any(|(start, _)| {
            let rest = &text[start..];
            for (at, c) in rest.char_indices() {
                let end = at + c.len_utf8();
                interrupt.spend(end);
                match self.own.get(feature_hash(&rest.as_bytes()[..end])) {
                    None => return false,
                    Some(Some(_)) => return true,
                    Some(None) => {}
                }
            }
            false
        })
    }
}

/// The least frequency with which jieba, by its dictionary alone, prefers the whole word to its
/// pieces (jieba's `suggest_freq`), and at least the frequency that the word has there. It uses
/// only multiplications and divisions, so it is the same on every machine.
fn sufficient_frequency(word: &str, interrupt: &Interrupt) -> u32 {
    let cutter = Cutter { own: None, base: &BASE, hmm: false };
    let frequency_of = |piece: &str| f64::from(cutter.frequency(piece).unwrap_or(1));
    let mut share = 1.0;
    cutter.cut(word, interrupt, &mut |piece| share *= frequency_of(piece) / cutter.base.total);
    ((share * cutter.base.total) as u32 + 1).max(frequency_of(word) as u32)
}

/// Jieba's algorithm.
struct Cutter<'a> {
    own: Option<&'a Frequencies>,
    base: &'a Base,
    hmm: bool,
}

/// The best way to cut a block from one of its characters on.
#[derive(Clone, Copy)]
struct Step {
    /// The sum of the logarithms of its words' probabilities.
    probability: f64,
    /// Where its first word ends, in characters.
    end: usize,
}

impl Cutter<'_> {
    /// Whether a word begins with `piece`, and the frequency of `piece` if it is a word. With
    /// frequency 0 it is none.
    #[inline]
    fn look_up(&self, piece: &str) -> (bool, Option<u32>) {
        let hash = feature_hash(piece.as_bytes());
        let own = self.own.and_then(|own| own.get(hash));
        let base = self.base.frequencies.get(hash);
        let frequency = own.flatten().or(base.flatten());
        (own.is_some() || base.is_some(), frequency.filter(|&frequency| frequency > 0))
    }

    fn frequency(&self, piece: &str) -> Option<u32> {
        self.look_up(piece).1
    }

    fn cut<'t>(&self, text: &'t str, interrupt: &Interrupt, sink: &mut dyn FnMut(&'t str)) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match rest.find(|c| !is_of_block(c)).unwrap_or(rest.len()) {
                0 => first.len_utf8(),
                length => length,
            };
            let (block, others) = rest.split_at(length);
            rest = others;
            if is_of_block(first) {
                self.cut_block(block, interrupt, sink);
            } else {
                sink(block);
            }
        }
    }

    /// The best way to cut from each character of a block on. `at` has the start of each character,
    /// and the end of the last one.
    fn route(&self, block: &str, at: &[usize], interrupt: &Interrupt) -> Vec<Step> {
        let log_total = libm::log(self.base.total);
        let length = at.len() - 1;
        let mut route = vec![Step { probability: 0.0, end: length }; at.len()];
        for start in (0..length).rev() {
            let mut best: Option<Step> = None;
            for end in start + 1..=length {
                let piece = &block[at[start]..at[end]];
                let (is_prefix, frequency) = self.look_up(piece);
                interrupt.spend(2 * piece.len());
                if let Some(frequency) = frequency {
                    let word = libm::log(f64::from(frequency)) - log_total;
                    let probability = word + route[end].probability;
                    // Of equally probable ways, the one with the longer first word.
                    if best.is_none_or(|best| best.probability <= probability) {
                        best = Some(Step { probability, end });
                    }
                }
                if !is_prefix {
                    break;
                }
            }
            route[start] = best.unwrap_or(Step {
                probability: route[start + 1].probability - log_total,
                end: start + 1,
            });
        }
        route
    }

    fn cut_block<'t>(&self, block: &'t str, interrupt: &Interrupt, sink: &mut dyn FnMut(&'t str)) {
        let ends = block.char_indices().map(|(at, _)| at).chain([block.len()]);
        let at: Vec<usize> = ends.collect();
        let route = self.route(block, &at, interrupt);
        // Where the current run of single characters began. It may be a word that no dictionary
        // has.
        let mut run = None;
        let mut start = 0;
        while start + 1 < at.len() {
            let end = route[start].end;
            let single = end == start + 1;
            if single && (self.hmm || block.as_bytes()[at[start]].is_ascii_alphanumeric()) {
                run.get_or_insert(start);
            } else {
                if let Some(first) = run.take() {
                    self.cut_run(&block[at[first]..at[start]], sink);
                }
                sink(&block[at[start]..at[end]]);
            }
            start = end;
        }
        if let Some(first) = run {
            self.cut_run(&block[at[first]..], sink);
        }
    }

    /// Cuts a run of characters that the best way leaves single. Without `hmm` it is ASCII and one
    /// word. A run that is itself a word stays single characters, which were more probable. Others
    /// are left to the guesser.
    fn cut_run<'t>(&self, run: &'t str, sink: &mut dyn FnMut(&'t str)) {
        if !self.hmm {
            sink(run);
        } else if self.frequency(run).is_some() {
            let mut rest = run;
            while let Some(c) = rest.chars().next() {
                let (single, others) = rest.split_at(c.len_utf8());
                sink(single);
                rest = others;
            }
        } else {
            self.base.guesser.cut(run, true).into_iter().for_each(|token| sink(token.word));
        }
    }
}

/// Cuts by jieba's own dictionary alone.
#[cfg(test)]
pub(crate) fn cut_without_own<'t>(text: &'t str, hmm: bool, sink: &mut dyn FnMut(&'t str)) {
    Cutter { own: None, base: &BASE, hmm }.cut(text, &Interrupt::new(&mut || ()), sink);
}
