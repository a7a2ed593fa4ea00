//! Normalises texts: removes the differences between them that should not count.
//!
//! The steps are applied in the order of [`NormalizeStep::ALL`]. First markup is removed
//! ([`html`]), data is dropped ([`data`]), misread text is repaired ([`mojibake`]), and words that
//! are broken at the end of a line are joined ([`hyphens`]). Then characters are mapped
//! ([`mapping`]): confusables, NFKC, umlauts, marks, case folding, simplified characters and
//! digits, and invisible characters are dropped. Then punctuation and white space are cleaned
//! ([`cleaning`]).
//!
//! Normalising a normalised text changes nothing, with these exceptions, in which the output of one
//! pass looks like something else to a second one.
//! - `html` without `punctuation`: escaped markup, such as `&lt;b&gt;`, looks like markup.
//! - `hyphens` without `punctuation` and `space`: a capital letter after a hyphen became small.
//!   With `confusables`: a digit after a hyphen became a letter.
//! - `data` without `lower` and `punctuation`: pieces that were joined look like data.
//! - `mojibake` without `lower`, `punctuation` and `space`: text that changed looks misread.

mod cleaning;
mod data;
mod html;
mod hyphens;
mod mapping;
mod mojibake;
pub(crate) mod trace;

use std::borrow::Cow;
use std::ops::Range;

use crate::base::interrupt::Interrupt;
use crate::config::{NormalizeStep, NormalizeSteps};
use cleaning::Cleaner;
pub use data::MAX_BASE64;
use mapping::{Mapped, Mapping};
use trace::Trace;

/// A longer run of characters that may compose with each other is cut to this many. No script needs
/// more, and an endless run would have to be sorted in one piece.
pub const MAX_COMBINING_RUN: usize = 1024;

/// The text after `steps`.
///
/// ```
/// use simhash_core::texts::normalize::normalize;
/// let default = |text| normalize(text, Default::default(), &mut || ());
/// assert_eq!(default("Hello,\n  World!"), "hello world");
/// assert_eq!(default("你好，世界！"), "你好世界");
/// assert_eq!(default("ＡＢＣ：萬國\n碼"), "abc万国码");
/// assert_eq!(default("don't pay 3.14 for foo/bar"), "dont pay 3.14 for foo bar");
/// ```
pub fn normalize(text: &str, steps: NormalizeSteps, interrupt: &mut dyn FnMut()) -> String {
    let mut out = String::new();
    normalize_into(text, steps, &Interrupt::new(interrupt), &mut out);
    out
}

/// Replaces `out` by the text after `steps`.
pub(crate) fn normalize_into(
    text: &str,
    steps: NormalizeSteps,
    interrupt: &Interrupt,
    out: &mut String,
) {
    normalize_traced::<()>(text, steps, interrupt, out, &mut Vec::new());
}

/// As [`normalize_into`]. Every step that changes the text, in order, leaves a trace.
pub(crate) fn normalize_traced<T: Trace>(
    text: &str,
    steps: NormalizeSteps,
    interrupt: &Interrupt,
    out: &mut String,
    traces: &mut Vec<T>,
) {
    let text = without_markup(text, steps, interrupt, traces);
    clean(&text, steps, interrupt, out, traces);
}

/// The text without markup and runs of base64, if `steps` drop these.
fn without_markup<'a, T: Trace>(
    text: &'a str,
    steps: NormalizeSteps,
    interrupt: &Interrupt,
    traces: &mut Vec<T>,
) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    if steps.contains(NormalizeStep::Html) {
        text = Cow::Owned(html::visible_text(&text, interrupt, traces));
    }
    if steps.contains(NormalizeStep::Data)
        && let Some(rest) = data::without_runs(&text, interrupt, traces)
    {
        text = Cow::Owned(rest);
    }
    text
}

/// The text without markup and data, if `steps` drop these.
pub(crate) fn visible<'a>(
    text: &'a str,
    steps: NormalizeSteps,
    interrupt: &Interrupt,
) -> Cow<'a, str> {
    let untraced: &mut Vec<()> = &mut Vec::new();
    let text = without_markup(text, steps, interrupt, untraced);
    if steps.contains(NormalizeStep::Data)
        && let Some(rest) = data::without_uris(&text, interrupt, untraced)
    {
        return Cow::Owned(rest);
    }
    text
}

/// Replaces `out` by the text after `steps`, except those of [`without_markup`].
///
/// A step that changes the text as a whole is tried only at a character that it may concern, so
/// other texts do not pay for it. If it changes the text, this function starts again with the
/// changed text.
fn clean<T: Trace>(
    text: &str,
    steps: NormalizeSteps,
    interrupt: &Interrupt,
    out: &mut String,
    traces: &mut Vec<T>,
) {
    out.clear();
    out.reserve(text.len());
    let joins_lines = steps.contains(NormalizeStep::Hyphens);
    let mut steps_left = steps;
    let mapping = Mapping::new(steps);
    let mut cleaner = Cleaner::<T>::new(steps, out);
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let first = text.as_bytes()[at];
        at += match first {
            0..0x80 => cleaner.push_ascii(text, at),
            0xE4..=0xE9 => push_han(text, at, &mapping, &mut cleaner),
            _ => 0,
        };
        // A character beyond ASCII may be read together with the one before it.
        let beyond_ascii = || text.as_bytes().get(at + 1).is_some_and(|&next| next >= 0x80);
        if at == start
            && (matches!(first, b':' | b'-' | 0x80..)
                || steps_left.contains(NormalizeStep::Mojibake) && beyond_ascii())
        {
            if let Some(changed) = changed(text, at, &mut steps_left, interrupt, traces) {
                return clean(&changed, steps_left, interrupt, out, traces);
            }
            if joins_lines && hyphens::may_start(first) {
                at += hyphens::broken(text, at);
            }
        }
        if at == start {
            at += push_next(text, at, joins_lines, &mapping, &mut cleaner, interrupt);
        }
        interrupt.spend(at - start);
    }
    traces.push(cleaner.finish());
}

/// The whole text repaired, if it may have been misread: there is a byte beyond ASCII at `at` or
/// directly after it. Otherwise the whole text without URIs, if one may be at `at`. `None` if there
/// is no change. The step that was tried is removed from `steps`.
#[inline(never)]
fn changed<T: Trace>(
    text: &str,
    at: usize,
    steps: &mut NormalizeSteps,
    interrupt: &Interrupt,
    traces: &mut Vec<T>,
) -> Option<String> {
    let bytes = &text.as_bytes()[at..];
    if steps.contains(NormalizeStep::Mojibake) && !bytes[..bytes.len().min(2)].is_ascii() {
        *steps = steps.without(NormalizeStep::Mojibake);
        let right = mojibake::put_right(text, interrupt, traces);
        if right.is_some() {
            return right;
        }
    }
    let may_be_uri = bytes[0] == b':' && steps.contains(NormalizeStep::Data);
    if !may_be_uri || !data::ends_scheme(text, at) {
        return None;
    }
    *steps = steps.without(NormalizeStep::Data);
    data::without_uris(text, interrupt, traces)
}

/// Pushes the Han characters at `start` that map to themselves. They never compose with another
/// character. Punctuation between them is skipped if it is dropped, because it leaves no space
/// there. Returns the number of bytes read.
fn push_han<T: Trace>(
    text: &str,
    start: usize,
    mapping: &Mapping,
    cleaner: &mut Cleaner<T>,
) -> usize {
    const STRETCH: usize = 16 << 10;
    let text = &text[start..];
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut length = mapping.unchanged_han_length(bytes);
    while length > 0 {
        cleaner.push_han(&text[at..at + length], start + at);
        at += length;
        let punctuation = cleaner.dropped_beside_han(&bytes[at..]);
        if punctuation == 0 || at > STRETCH {
            break;
        }
        length = mapping.unchanged_han_length(&bytes[at + punctuation..]);
        at += if length > 0 { punctuation } else { 0 };
    }
    at
}

/// Pushes the character at `start` with those that compose with it. Returns the number of bytes
/// read. With `joins_lines`, it stops before a soft hyphen at the end of a line.
#[inline]
fn push_next<T: Trace>(
    text: &str,
    start: usize,
    joins_lines: bool,
    mapping: &Mapping,
    cleaner: &mut Cleaner<T>,
    interrupt: &Interrupt,
) -> usize {
    let text = &text[start..];
    let Some(c) = text.chars().next() else { return 0 };
    let mut length = c.len_utf8();
    let mapped = mapping.map(c);
    let mut alone = mapping.starts_alone(&text[length..]);
    if !alone && matches!(mapped, Mapped::One(_)) {
        let marks = mapping.dropped_marks(c, &text[length..]);
        if marks > 0 {
            interrupt.spend(marks);
            length += marks;
            alone = mapping.starts_alone(&text[length..]);
        }
    }
    match mapped {
        Mapped::One(mapped) if alone => {
            cleaner.read(start..start + length);
            cleaner.push(mapped);
        }
        Mapped::Nothing => return c.len_utf8(),
        _ => return push_cluster(text, start, joins_lines, mapping, cleaner, interrupt),
    }
    length
}

/// Pushes the character that `text` starts with together with the characters after it that may
/// compose with it or vanish. `text` starts at `start` of the whole text. Returns the number of
/// bytes read.
#[cold]
fn push_cluster<T: Trace>(
    text: &str,
    start: usize,
    joins_lines: bool,
    mapping: &Mapping,
    cleaner: &mut Cleaner<T>,
    interrupt: &Interrupt,
) -> usize {
    let mut chars = text.char_indices();
    let mut cluster = String::new();
    let mut composing = 0;
    let mut end = text.len();
    // The places of its characters, if the trace is kept.
    let mut places = Vec::new();
    let mut put = |at: usize, c: char, cluster: &mut String| {
        cluster.push(c);
        if T::IS_KEPT {
            places.push(start + at..start + at + c.len_utf8());
        }
    };
    if let Some((at, first)) = chars.next() {
        put(at, first, &mut cluster);
    }
    for (at, c) in chars {
        interrupt.spend(c.len_utf8());
        if joins_lines && c == hyphens::SOFT_HYPHEN && hyphens::broken(text, at) > 0 {
            end = at;
            break;
        }
        match mapping.map(c) {
            Mapped::Composing if composing < MAX_COMBINING_RUN => {
                composing += 1;
                put(at, c, &mut cluster);
            }
            Mapped::Composing | Mapped::Nothing => {}
            Mapped::One(_) | Mapped::Several => {
                end = at;
                break;
            }
        }
    }
    let mut run = 0;
    for (mapped, read) in mapped_parts(&cluster, &places, mapping) {
        cleaner.read(read);
        for c in mapped.chars() {
            run = if mapping.composes(c) { run + 1 } else { 0 };
            if run <= MAX_COMBINING_RUN {
                cleaner.push(c);
            }
        }
    }
    end
}

/// What a cluster maps to, in the smallest parts whose own mappings make up that of the cluster.
/// Each has the place of its characters. Without places it is one part.
fn mapped_parts(
    cluster: &str,
    places: &[Range<usize>],
    mapping: &Mapping,
) -> Vec<(String, Range<usize>)> {
    // Longer clusters are noise, and every possible split costs two mappings.
    const LONGEST: usize = 16;
    let mut parts = Vec::new();
    let (mut rest, mut places) = (cluster, places);
    let mut whole = mapping.apply(rest);
    while let [first, others @ ..] = places {
        let last = others.last().unwrap_or(first);
        let splits = rest.char_indices().map(|(at, _)| at).enumerate().skip(1);
        let split = splits.take(LONGEST).find_map(|(count, at)| {
            let (part, after) = (mapping.apply(&rest[..at]), mapping.apply(&rest[at..]));
            (whole.strip_prefix(&part) == Some(&after)).then_some((count, at, part, after))
        });
        let Some((count, at, part, after)) = split.filter(|_| parts.len() < LONGEST) else {
            parts.push((whole, first.start..last.end));
            return parts;
        };
        parts.push((part, first.start..places[count - 1].end));
        (rest, places, whole) = (&rest[at..], &places[count..], after);
    }
    vec![(whole, 0..0)]
}
