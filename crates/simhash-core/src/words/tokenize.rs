//! Words and characters of a normalised text, in order: the tokens of every tokenizer but that for
//! code. Chinese words are found by jieba, those of other scripts without spaces by [`segment`],
//! all others by UAX #29.
//!
//! A token ends where a letter and a digit meet: `iPhone15` and `iPhone 15` are the same two
//! tokens. It also ends at a colon: `iOS：Android` is two tokens, although UAX #29 makes it one
//! word.
//!
//! A token never contains a space, so shingles of tokens that are joined by spaces are unambiguous.
//! Text that has no boundary for very long is cut nevertheless ([`MAX_HAN_RUN`], [`MAX_WORD_RUN`]).
//! That bounds memory and the work between two checks for interruption.

use unicode_segmentation::UnicodeSegmentation;

use crate::base::interrupt::Interrupt;
use crate::texts::han::is_han;
use crate::texts::unicode::{MAIN_HAN, Properties, ascii, is_colon, properties};
use crate::words::cut::HanWords;
use crate::words::dictionary::dictionary;
use crate::words::segment;
use crate::words::whole::WholeWords;

/// The most characters of a script without spaces that are cut into words in one piece. A longer
/// run is split after every such number of characters. For the tokenizer `jieba`, this applies to
/// all characters but white space.
pub const MAX_HAN_RUN: usize = 4096;

/// The most bytes of other text without white space that are cut into words in one piece. A longer
/// run is split at the last character boundary before every such number of bytes.
pub const MAX_WORD_RUN: usize = 4 << 20;

/// Separates the tokens of a shingle or a spot. No token contains it.
pub(crate) const SEPARATOR: char = ' ';

/// How text without spaces is cut into words.
#[derive(Clone, Copy)]
pub(crate) struct Cutting<'a> {
    /// Whether jieba guesses words that are not in its dictionary.
    pub(crate) hmm: bool,
    /// The user's words for jieba.
    pub(crate) words: Option<&'a HanWords>,
    /// Those for text that ICU4X cuts.
    pub(crate) whole: Option<&'a WholeWords>,
}

/// Words by UAX #29. With `HAN`, runs of Han characters go through jieba, and those of other
/// scripts without spaces through ICU4X.
///
/// Only this loop over plain words is compiled for each `sink`, of which there are a hundred. All
/// slower code calls it through a pointer: otherwise it was four fifths of the compiled crate.
pub(crate) fn words<const HAN: bool>(
    text: &str,
    cutting: Cutting<'_>,
    interrupt: &Interrupt,
    sink: &mut impl FnMut(&str),
) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if HAN && bytes[at] >= 0x80 {
            let rest = &text[at..];
            let run = han_run(rest);
            if segment::begins_japanese(rest, run.len()) {
                let run = segment::japanese_run(rest, MAX_HAN_RUN);
                at += run.len();
                cut_spaceless(run, cutting, interrupt, sink);
                continue;
            }
            if !run.is_empty() {
                let runs = han_runs(rest, run.len());
                at += runs.len();
                cut_han(runs, cutting, interrupt, sink);
                continue;
            }
        }
        let (length, is_word) = ascii::word_length(&bytes[at..bytes.len().min(at + MAX_WORD_RUN)]);
        match bytes.get(at + length) {
            Some(b' ') if length == 0 => at += 1,
            None | Some(b' ') => {
                sink(&text[at..at + length]);
                at += length + 1;
            }
            Some(_) if is_word => {
                sink(&text[at..at + length]);
                at += length;
            }
            _ => {
                let (run, kind) = next_run::<HAN>(&text[at..]);
                at += run.len();
                match kind {
                    RunKind::White => {}
                    RunKind::Han => cut_han(run, cutting, interrupt, sink),
                    RunKind::Japanese | RunKind::Southeast => {
                        cut_spaceless(run, cutting, interrupt, sink);
                    }
                    RunKind::Other => cut_words(run, interrupt, sink),
                }
            }
        }
        interrupt.spend(at - start);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunKind {
    White,
    Han,
    /// Starts with hiragana. Japanese that starts with Han is found earlier.
    Japanese,
    Southeast,
    Other,
}

impl RunKind {
    fn of<const HAN: bool>(c: char) -> Self {
        const SPACELESS: Properties = Properties::UNSPACED.or(Properties::SOUTHEAST);
        let set = properties(c);
        if set.any(Properties::WHITE) {
            RunKind::White
        } else if !HAN || !set.any(SPACELESS) {
            RunKind::Other
        } else if set.any(Properties::HAN) {
            RunKind::Han
        } else if set.any(Properties::HIRAGANA) {
            RunKind::Japanese
        } else {
            RunKind::Southeast
        }
    }
}

/// The characters of one kind that `text` starts with, cut to the longest allowed run. `text` must
/// not be empty.
fn next_run<const HAN: bool>(text: &str) -> (&str, RunKind) {
    let window = &text[..char_boundary(text, MAX_WORD_RUN)];
    let kind = window.chars().next().map_or(RunKind::White, RunKind::of::<HAN>);
    let run = match kind {
        RunKind::Han => han_run(text),
        RunKind::Japanese => segment::japanese_run(text, MAX_HAN_RUN),
        RunKind::Southeast => segment::southeast_asian_run(text, MAX_HAN_RUN),
        RunKind::White | RunKind::Other => {
            let end = window.find(|c| RunKind::of::<HAN>(c) != kind);
            &window[..end.unwrap_or(window.len())]
        }
    };
    (run, kind)
}

/// The Han characters that `text` starts with, cut to the longest allowed run.
fn han_run(text: &str) -> &str {
    let main = MAIN_HAN.run_length(text.as_bytes(), MAX_HAN_RUN);
    let longest = MAX_HAN_RUN - main / 3;
    let others = text[main..].chars().take(longest).take_while(|&c| is_han(c));
    &text[..main + others.map(char::len_utf8).sum::<usize>()]
}

/// The run of `length` bytes that `text` starts with, together with the runs that follow it after
/// one space each, up to about a kilobyte. Jieba never joins words across a space, and one call for
/// several runs is faster.
fn han_runs(text: &str, length: usize) -> &str {
    const MANY: usize = 1 << 10;
    let mut length = length;
    while length < MANY && text[length..].starts_with(' ') {
        let rest = &text[length + 1..];
        match han_run(rest).len() {
            0 => break,
            next if segment::begins_japanese(rest, next) => break,
            next => length += 1 + next,
        }
    }
    &text[..length]
}

/// The last character boundary of `text` that is not beyond `bytes`.
fn char_boundary(text: &str, bytes: usize) -> usize {
    if bytes >= text.len() {
        return text.len();
    }
    (0..=bytes).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Words of a run without white space.
fn cut_words(run: &str, interrupt: &Interrupt, sink: &mut dyn FnMut(&str)) {
    if is_plain_word(run) {
        return sink(run);
    }
    for word in run.split_word_bounds() {
        interrupt.spend(word.len());
        for part in parts(word) {
            if is_token(part) {
                sink(part);
            }
        }
    }
}

/// The pieces of `text` between its colons and between its letters and digits.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut last = None;
        let mut ends_before = |c: char| {
            let set = properties(c);
            if set.any(Properties::EXTENDS) {
                return false;
            }
            let letter = set.any(Properties::LETTER.or(Properties::HAN));
            let side = (letter != set.any(Properties::NUMERIC)).then_some(letter);
            let before = std::mem::replace(&mut last, side);
            is_colon(c) || before.zip(side).is_some_and(|(before, side)| before != side)
        };
        let (part, others) = rest.split_at(rest.find(&mut ends_before).unwrap_or(rest.len()));
        // The marks of a colon are dropped with it.
        rest = match others.strip_prefix(is_colon) {
            Some(after) => after.trim_start_matches(|c| properties(c).any(Properties::EXTENDS)),
            None => others,
        };
        (!(part.is_empty() && rest.is_empty())).then_some(part)
    })
}

/// Whether `run` is obviously one word: it has only letters, which UAX #29 never separates.
fn is_plain_word(run: &str) -> bool {
    let mut all = Properties::NONE;
    run.chars().all(|c| {
        let set = properties(c);
        all = all.or(set);
        set.any(Properties::LETTER) && !set.any(Properties::NUMERIC)
    }) && all.any(Properties::WORD)
}

/// Whether the text between two boundaries is a word.
fn is_token(word: &str) -> bool {
    word.chars().any(|c| properties(c).any(Properties::TOKEN))
}

/// Cutting a byte by jieba takes about as long as this many bytes of other work.
const JIEBA_COST: usize = 8;

/// The same for ICU4X.
const SEGMENT_COST: usize = 8;

/// Words of runs of Han characters with spaces between them, by jieba.
fn cut_han(run: &str, cutting: Cutting<'_>, interrupt: &Interrupt, sink: &mut dyn FnMut(&str)) {
    let mut not_space = |word: &str| {
        if word != " " {
            sink(word);
        }
    };
    match cutting.words {
        Some(words) => words.cut(run, cutting.hmm, interrupt, &mut not_space),
        None => {
            dictionary(interrupt)
                .cut(run, cutting.hmm)
                .iter()
                .for_each(|token| not_space(token.word));
        }
    }
    interrupt.spend(JIEBA_COST * run.len());
}

/// Words of a run of Japanese, or of letters of Southeast Asia.
fn cut_spaceless(
    run: &str,
    cutting: Cutting<'_>,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&str),
) {
    let cut = |text: &str, sink: &mut dyn FnMut(&str)| {
        segment::cut(text, &mut |word| {
            if is_token(word) {
                sink(word);
            }
        });
        interrupt.spend(SEGMENT_COST * text.len());
    };
    let mut rest = run;
    while let Some(found) = cutting.whole.and_then(|words| words.find(rest, interrupt)) {
        cut(&rest[..found.start], sink);
        sink(&rest[found.clone()]);
        rest = &rest[found.end..];
    }
    cut(rest, sink);
}

/// Words of the whole text, by jieba.
pub(crate) fn jieba_words(
    text: &str,
    cutting: Cutting<'_>,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&str),
) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = RunKind::of::<false>(first);
        let mut places = rest.char_indices().enumerate();
        let ends = places.find(|&(n, (_, c))| n == MAX_HAN_RUN || RunKind::of::<false>(c) != kind);
        let (piece, others) = rest.split_at(ends.map_or(rest.len(), |(_, (at, _))| at));
        rest = others;
        if kind == RunKind::Other {
            parts(piece).for_each(|part| cut_with_marks(part, cutting, interrupt, sink));
        }
        interrupt.spend(piece.len());
    }
}

/// Words of a part, by jieba. Jieba makes separate words of the marks of other scripts. Here they
/// belong to the word before them.
fn cut_with_marks(
    part: &str,
    cutting: Cutting<'_>,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&str),
) {
    let mut put = |word: &str| {
        if is_token(word) {
            sink(word);
        }
    };
    let (mut start, mut end) = (0, 0);
    cut_han(part, cutting, interrupt, &mut |word| {
        // The words are slices of the part, in its order.
        let at = end + part[end..].find(word).unwrap_or(0);
        let is_mark = word.chars().next().is_some_and(|c| properties(c).any(Properties::MARK));
        if !(is_mark && at == end) {
            put(&part[start..end]);
            start = at;
        }
        end = at + word.len();
    });
    put(&part[start..end]);
}

/// Extended grapheme clusters, without white space.
pub(crate) fn characters(text: &str, interrupt: &Interrupt, sink: &mut dyn FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let (run, kind) = next_run::<false>(rest);
        rest = &rest[run.len()..];
        interrupt.spend(run.len());
        if kind == RunKind::Other {
            for cluster in run.graphemes(true) {
                interrupt.spend(cluster.len());
                sink(cluster);
            }
        }
    }
}
