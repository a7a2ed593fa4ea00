//! Cuts a name into words. A word ends
//! - at an underscore, which vanishes,
//! - where a small letter, or one without case, is followed by a capital one: `camel|Case`,
//! - before the last of several capital letters, if a small one follows: `HTTP|Server`,
//! - where letters and digits meet: `utf|8`.
//!
//! That is how Lucene's WordDelimiterGraphFilter and Apache Commons Lang's
//! `splitByCharacterTypeCamelCase` cut names.

use std::ops::Range;

use crate::texts::normalize::trace::Trace;
use crate::texts::unicode::{Properties, properties};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Capital,
    Letter,
    Digit,
}

/// Hands the places of the words of a name to `sink`. The name has ASCII letters, digits, points
/// between digits, and underscores.
#[inline]
pub(super) fn for_each_part(name: &str, mut sink: impl FnMut(Range<usize>)) {
    let mut start = 0;
    let mut last = None;
    // Whether the last letter is a capital that follows another one.
    let mut several = false;
    for (at, byte) in name.bytes().enumerate() {
        let kind = match byte {
            b'a'..=b'z' => Kind::Letter,
            b'A'..=b'Z' => Kind::Capital,
            b'_' => {
                if start < at {
                    sink(start..at);
                }
                start = at + 1;
                last = None;
                continue;
            }
            _ => Kind::Digit,
        };
        match (last, kind) {
            (Some(Kind::Capital), Kind::Capital) => several = true,
            (Some(Kind::Capital), Kind::Letter) => {
                if several {
                    sink(start..at - 1);
                    start = at - 1;
                }
            }
            (Some(before), _) if before != kind => {
                sink(start..at);
                start = at;
                several = false;
            }
            _ => several = false,
        }
        last = Some(kind);
    }
    if start < name.len() {
        sink(start..name.len());
    }
}

/// Appends `text` with a space between the words of its names, and without invisible characters.
/// Letters and digits are not separated here: every tokenizer does that.
pub(super) fn push_spaced(text: &str, out: &mut String, trace: &mut impl Trace) {
    let mut last = None;
    let mut several = false;
    let mut last_start = out.len();
    for (at, c) in text.char_indices() {
        let kind = match c {
            'a'..='z' => Some(Kind::Letter),
            'A'..='Z' => Some(Kind::Capital),
            '_' => {
                out.push(' ');
                trace.wrote_filler(1);
                last = None;
                continue;
            }
            _ if c.is_ascii() => None,
            _ => {
                let set = properties(c);
                if set.any(Properties::IGNORABLE) {
                    continue;
                }
                if set.any(Properties::EXTENDS) {
                    out.push(c);
                    trace.copied(at, c.len_utf8());
                    continue;
                }
                match set.any(Properties::WORD) {
                    true if set.any(Properties::CAPITAL) => Some(Kind::Capital),
                    true if set.any(Properties::NUMERIC) => None,
                    true => Some(Kind::Letter),
                    false => None,
                }
            }
        };
        match (last, kind) {
            (Some(Kind::Capital), Some(Kind::Capital)) => several = true,
            (Some(Kind::Capital), Some(Kind::Letter)) if several => {
                out.insert(last_start, ' ');
                trace.inserted(last_start);
                several = false;
            }
            (Some(Kind::Letter), Some(Kind::Capital)) => {
                out.push(' ');
                trace.wrote_filler(1);
                several = false;
            }
            _ => several = false,
        }
        last = kind;
        last_start = out.len();
        out.push(c);
        trace.copied(at, c.len_utf8());
    }
}
