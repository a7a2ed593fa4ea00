//! Cuts text of scripts that put no spaces between words: Thai, Lao, Khmer, Burmese, and Japanese
//! with hiragana. ICU4X cuts it by dictionaries that are compiled in.
//!
//! At each place the longest word of the dictionary is taken. Where none begins, a grapheme cluster
//! is a word. No floating-point numbers are used, so the words are the same on every processor.
//!
//! The dictionaries need no memory of a process and no time to load: the library contains them in
//! the form in which they are read, and all processes share it.

use std::borrow::Cow;

#[cfg(feature = "spaceless")]
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use crate::base::lazy::Lazy;
use crate::texts::unicode::{Properties, properties};

/// Replaces ICU4X in builds without it. There is no simhasher that would cut a text with it.
#[cfg(not(feature = "spaceless"))]
mod absent {
    use std::marker::PhantomData;

    pub(super) struct WordSegmenter;
    pub(super) struct WordSegmenterBorrowed<'a>(PhantomData<&'a ()>);

    impl WordSegmenter {
        pub(super) fn new_dictionary((): ()) -> WordSegmenterBorrowed<'static> {
            WordSegmenterBorrowed(PhantomData)
        }
    }

    impl WordSegmenterBorrowed<'_> {
        pub(super) fn segment_str(&self, _: &str) -> std::iter::Empty<usize> {
            std::iter::empty()
        }
    }
}
#[cfg(not(feature = "spaceless"))]
use absent::{WordSegmenter, WordSegmenterBorrowed};

static SEGMENTER: Lazy<WordSegmenterBorrowed<'static>> =
    Lazy::new(|| WordSegmenter::new_dictionary(Default::default()));

/// The most Han characters in a run beside hiragana that counts as Japanese. A longer run counts as
/// Chinese, so one の in a Chinese text affects the cutting of no more than this beside it.
pub const MAX_KANJI_RUN: usize = 16;

/// Sequences into which NFKC decomposes a character that dictionaries contain: the vowel am of Thai
/// and Lao, and the Lao digraphs ho no and ho mo.
const WHOLE: [(&str, char); 4] = [
    ("\u{E4D}\u{E32}", '\u{E33}'),
    ("\u{ECD}\u{EB2}", '\u{EB3}'),
    ("\u{EAB}\u{E99}", '\u{EDC}'),
    ("\u{EAB}\u{EA1}", '\u{EDD}'),
];

const PROLONGED: char = 'ー';

/// Whether `c` can be part of a run that is cut here.
pub(crate) fn is_spaceless(c: char) -> bool {
    const SPACELESS: Properties = Properties::UNSPACED.or(Properties::SOUTHEAST);
    properties(c).any(SPACELESS) || continues_word(c)
}

/// Whether `c` belongs to the word before it.
pub(crate) fn continues_word(c: char) -> bool {
    c == PROLONGED || properties(c).any(Properties::EXTENDS)
}

/// Whether `text` starts with Japanese. `han` is the number of bytes of the Han characters that it
/// starts with, and may be 0.
#[inline]
pub(crate) fn begins_japanese(text: &str, han: usize) -> bool {
    // The first two bytes of hiragana, and of some katakana.
    matches!(text.as_bytes().get(han..han + 2), Some([0xE3, 0x81 | 0x82]))
        && text[han..].chars().next().is_some_and(|c| properties(c).any(Properties::HIRAGANA))
        && text[..han].chars().count() <= MAX_KANJI_RUN
}

/// The Japanese that `text` starts with, of `longest` characters at most: hiragana, with its marks
/// and prolonged sound marks, and runs of up to [`MAX_KANJI_RUN`] Han characters beside it. Empty
/// if there is none.
pub(crate) fn japanese_run(text: &str, longest: usize) -> &str {
    let mut end = 0;
    let mut after_hiragana = 0;
    let mut kanji = 0;
    for c in text.chars().take(longest) {
        let set = properties(c);
        if set.any(Properties::HAN) {
            kanji += 1;
            if kanji > MAX_KANJI_RUN {
                return &text[..after_hiragana];
            }
        } else if set.any(Properties::HIRAGANA)
            || after_hiragana > 0 && kanji == 0 && continues_word(c)
        {
            kanji = 0;
            after_hiragana = end + c.len_utf8();
        } else {
            break;
        }
        end += c.len_utf8();
    }
    &text[..if after_hiragana > 0 { end } else { 0 }]
}

/// The letters of Southeast Asia that `text` starts with, with all characters that extend them:
/// `longest` characters at most.
pub(crate) fn southeast_asian_run(text: &str, longest: usize) -> &str {
    const OTHERS: Properties = Properties::SOUTHEAST.or(Properties::EXTENDS);
    let run = text.chars().take(longest).take_while(|&c| properties(c).any(OTHERS));
    &text[..run.map(char::len_utf8).sum()]
}

/// Hands the words of such a run to `sink`, and also the text between words.
pub(crate) fn cut<'t>(run: &'t str, sink: &mut dyn FnMut(&'t str)) {
    let whole = as_in_dictionaries(run);
    // `at` in `run` is the place that corresponds to `from` in `whole`.
    let (mut start, mut at, mut from) = (0, 0, 0);
    for to in SEGMENTER.segment_str(&whole) {
        at += length_of(&whole[from..to], &run[at..]);
        from = to;
        if run[at..].chars().next().is_some_and(continues_word) {
            continue;
        }
        if start < at {
            sink(&run[start..at]);
        }
        start = at;
    }
}

/// The run as dictionaries spell it.
fn as_in_dictionaries(run: &str) -> Cow<'_, str> {
    let mut spelt = Cow::Borrowed(run);
    for (parts, whole) in WHOLE {
        if spelt.contains(parts) {
            spelt = Cow::Owned(spelt.replace(parts, whole.encode_utf8(&mut [0; 4])));
        }
    }
    spelt
}

/// The number of bytes at the start of `run` that dictionaries spell as `piece`.
fn length_of(piece: &str, run: &str) -> usize {
    let mut length = 0;
    for c in piece.chars() {
        let parts = WHOLE.iter().find(|(_, whole)| *whole == c).map(|(parts, _)| *parts);
        let parts = parts.filter(|parts| run[length..].starts_with(parts));
        length += parts.map_or(c.len_utf8(), str::len);
    }
    length
}
