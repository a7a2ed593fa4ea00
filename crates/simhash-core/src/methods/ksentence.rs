//! KSentence: the K longest sentences of a text, hashed by MD5. Equal hashes mean duplicates.
//!
//! Definitions that publications leave open: a sentence ends at every punctuation mark (Unicode
//! category P) and at every line break. Its length is in characters (Unicode scalar values), with
//! each run of white space as one space. Sentences of equal length are ordered by their bytes, so
//! their order in the text does not matter. The sentences are joined by line feeds, the longest
//! first.

use std::cmp::Ordering;

use md5::{Digest, Md5};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::base::interrupt::Interrupt;
use crate::base::sort::sort_checked_by;
use crate::config::{Config, NormalizeStep, NormalizeSteps};
use crate::texts::unicode::{CharTable, MAIN_HAN};

/// The normalisation that [`ksentence`] expects: the default without the steps that would remove
/// the ends of sentences.
pub fn normalize_config() -> Config {
    let normalize =
        NormalizeSteps::default().without(NormalizeStep::Punctuation).without(NormalizeStep::Space);
    Config { normalize, ..Config::default() }
}

/// The MD5 of the `k` longest sentences of a text that was normalised by [`normalize_config`].
/// `None` when it has no sentence.
///
/// ```
/// use simhash_core::methods::ksentence::ksentence;
/// let a = ksentence("a first sentence. and the second one, with a part", 2, &mut || ());
/// assert!(a.is_some());
/// assert_eq!(a, ksentence("and the second one; a   first sentence!\nno.", 2, &mut || ()));
/// assert_ne!(a, ksentence("and the second one; a first sentence", 1, &mut || ()));
/// assert_eq!(ksentence("... !", 2, &mut || ()), None);
/// ```
pub fn ksentence(normalized: &str, k: usize, interrupt: &mut dyn FnMut()) -> Option<[u8; 16]> {
    let interrupt = Interrupt::new(interrupt);
    let mut longest = Longest::new(k);
    let mut spaced = false;
    let mut at = 0;
    while let Some(c) = normalized[at..].chars().next() {
        let rest = &normalized.as_bytes()[at..];
        let words = words_length(rest);
        let han = if words == 0 { MAIN_HAN.run_length(rest, STRETCH / 3) } else { 0 };
        let run = &normalized[at..at + words + han];
        let length = if run.is_empty() { c.len_utf8() } else { run.len() };
        interrupt.spend(2 * length);
        if run.is_empty() && ENDS_SENTENCE.get(c, ends_sentence) {
            longest.finish(&interrupt);
            spaced = false;
        } else if run.is_empty() && c.is_whitespace() {
            spaced = !longest.is_between();
        } else {
            if std::mem::take(&mut spaced) {
                longest.push(' ');
            }
            match run {
                "" => longest.push(c),
                _ => longest.push_run(run, words + han / 3),
            }
        }
        at += length;
    }
    longest.finish(&interrupt);
    longest.md5(&interrupt)
}

/// The most bytes that are read at once, before a check for interruption.
const STRETCH: usize = 16 << 10;

/// The length of the ASCII words that `bytes` starts with, separated by single spaces and all in
/// one sentence.
fn words_length(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(STRETCH)];
    let is_word = |&byte: &u8| WORD[usize::from(byte)];
    let mut length = 0;
    loop {
        let word = bytes[length..].iter().position(|byte| !is_word(byte));
        length += word.unwrap_or(bytes.len() - length);
        match &bytes[length..] {
            [b' ', next, ..] if word != Some(0) && is_word(next) => length += 1,
            _ => return length,
        }
    }
}

/// The ASCII bytes that neither end a sentence nor are white space.
static WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0;
    while byte < 0x80 {
        let c = byte as u8;
        // Unicode classes these ASCII punctuation characters as symbols (category S).
        let symbol = matches!(c, b'$' | b'+' | b'<' | b'=' | b'>' | b'^' | b'`' | b'|' | b'~');
        let white = matches!(c, b' ' | b'\t'..=b'\r');
        word[byte] = symbol || !white && !c.is_ascii_punctuation();
        byte += 1;
    }
    word
};

static ENDS_SENTENCE: CharTable<bool> = CharTable::new();

fn ends_sentence(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
        || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The longest sentences so far. Shorter ones are dropped in batches.
struct Longest {
    k: usize,
    /// All kept sentences, one after the other, and the one being read.
    text: String,
    sentences: Vec<Sentence>,
    /// The one being read.
    open: Sentence,
}

#[derive(Clone, Copy)]
struct Sentence {
    chars: usize,
    start: usize,
    end: usize,
}

impl Longest {
    fn new(k: usize) -> Self {
        let open = Sentence { chars: 0, start: 0, end: 0 };
        Longest { k, text: String::new(), sentences: Vec::new(), open }
    }

    /// Whether no character of the next sentence has been read.
    fn is_between(&self) -> bool {
        self.open.chars == 0
    }

    fn push(&mut self, c: char) {
        self.text.push(c);
        self.open.chars += 1;
    }

    /// Adds `run`, which has `chars` characters.
    fn push_run(&mut self, run: &str, chars: usize) {
        self.text.push_str(run);
        self.open.chars += chars;
    }

    fn finish(&mut self, interrupt: &Interrupt) {
        if !self.is_between() {
            self.open.end = self.text.len();
            self.sentences.push(self.open);
            const FEW: usize = 1024;
            if self.sentences.len() >= self.k.saturating_mul(2).max(FEW) {
                self.drop_shorter(interrupt);
            }
            self.open = Sentence { chars: 0, start: self.text.len(), end: 0 };
        }
    }

    /// Drops all sentences but the `k` longest, and leaves these in no particular order.
    fn select(&mut self, interrupt: &Interrupt) {
        let Longest { k, text, sentences, .. } = self;
        if sentences.len() > *k {
            sentences.select_nth_unstable_by(*k, |a, b| order(text, a, b, interrupt));
            sentences.truncate(*k);
        }
    }

    fn drop_shorter(&mut self, interrupt: &Interrupt) {
        self.select(interrupt);
        let Longest { text, sentences, .. } = self;
        let mut kept = String::with_capacity(sentences.iter().map(|s| s.end - s.start).sum());
        for sentence in sentences {
            let start = kept.len();
            kept.push_str(&text[sentence.start..sentence.end]);
            interrupt.spend(kept.len() - start);
            (sentence.start, sentence.end) = (start, kept.len());
        }
        *text = kept;
    }

    fn md5(mut self, interrupt: &Interrupt) -> Option<[u8; 16]> {
        self.select(interrupt);
        let text = &self.text;
        let check = &mut || interrupt.check();
        sort_checked_by(&mut self.sentences, check, |a, b| order(text, a, b, interrupt));
        let mut md5 = Md5::new();
        for (place, sentence) in self.sentences.iter().enumerate() {
            if place > 0 {
                md5.update("\n");
            }
            for piece in text.as_bytes()[sentence.start..sentence.end].chunks(16 << 10) {
                md5.update(piece);
                interrupt.spend(2 * piece.len());
            }
        }
        (!self.sentences.is_empty()).then(|| md5.finalize().into())
    }
}

/// Longer sentences first, and those of equal length by their bytes.
fn order(text: &str, a: &Sentence, b: &Sentence, interrupt: &Interrupt) -> Ordering {
    interrupt.spend(32);
    b.chars.cmp(&a.chars).then_with(|| {
        interrupt.spend((a.end - a.start) / 8);
        text[a.start..a.end].cmp(&text[b.start..b.end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: Option<[u8; 16]>) -> String {
        bytes.map_or("none".into(), |bytes| bytes.iter().map(|b| format!("{b:02x}")).collect())
    }

    /// Expected values: `printf '...' | md5sum`.
    #[test]
    fn hashes_the_longest_sentences() {
        let text = "床前明月光，疑是地上霜。举头望明月\n低头思故乡 ok";
        // printf '低头思故乡 ok\n举头望明月' | md5sum
        assert_eq!(hex(ksentence(text, 2, &mut || ())), KSENTENCE_2);
        // All four: the three of five characters are ordered by their bytes.
        assert_eq!(hex(ksentence(text, 9, &mut || ())), KSENTENCE_4);
    }

    /// As defined: all sentences, sorted, the first k joined.
    fn plain(text: &str, k: usize) -> Option<[u8; 16]> {
        let mut sentences: Vec<(usize, String)> = text
            .split(ends_sentence)
            .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|sentence| !sentence.is_empty())
            .map(|sentence| (sentence.chars().count(), sentence))
            .collect();
        sentences.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let longest: Vec<&str> =
            sentences.iter().take(k).map(|(_, sentence)| sentence.as_str()).collect();
        (!longest.is_empty()).then(|| Md5::digest(longest.join("\n")).into())
    }

    #[test]
    fn hashes_as_defined_however_many_sentences_there_are() {
        let text: String = (0..9_000u32)
            .map(|i| {
                let i = i.wrapping_mul(2_654_435_761);
                let word = ["ab", "c  d", "汉 字", "", " \t", "é"][i as usize % 6];
                let end = [". ", "\n", "，", " ", "! ?", ""][i as usize / 7 % 6];
                word.repeat(i as usize / 64 % 4) + end
            })
            .collect();
        // Runs longer than `STRETCH`, with various characters after them.
        let long: String = (0..40)
            .map(|i| {
                let words = ["a bc de ", "汉字", "é x"][i % 3].repeat(3000 - 7 * i);
                words + ["", " ", "$ ", ". ", "，"][i % 5]
            })
            .collect();
        for text in [text, long] {
            for k in [1, 2, 7, 400, 513, 3_000, usize::MAX] {
                assert_eq!(ksentence(&text, k, &mut || ()), plain(&text, k), "{k}");
            }
        }
    }

    /// `WORD` agrees with Unicode's properties of each character.
    #[test]
    fn ascii_within_a_sentence() {
        for byte in 0..=255u8 {
            let within = byte < 0x80 && {
                let c = char::from(byte);
                !ends_sentence(c) && !c.is_whitespace()
            };
            assert_eq!(WORD[usize::from(byte)], within, "{byte}");
        }
    }

    const KSENTENCE_2: &str = "62537c5387e1a5bbb74638965f19ba3b";
    const KSENTENCE_4: &str = "539035a3b29a8486cc837094bc20e25d";
}
