//! Finds the ends of strings, and the symbols in prose that are part of names.

use std::ops::Range;

use super::ends::{Found, Unclosed, find};
use crate::texts::normalize::trace::Trace;

/// The context of a quote.
pub(super) struct Here<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// The word directly before it, if there is one.
    pub(super) word: &'a [u8],
    /// The last byte of code before it on its line.
    pub(super) last: u8,
}

/// The words that may be directly before a string in some language: Python, Rust, C, SQL.
const PREFIXES: [&str; 16] =
    ["b", "r", "u", "f", "l", "n", "x", "e", "t", "br", "rb", "fr", "rf", "ur", "u8", "q"];

impl Here<'_> {
    /// The string that the quote opens. `None` if it opens none.
    pub(super) fn string(&self, quote: u8, unclosed: &mut Unclosed) -> Option<Found> {
        if quote == b'\'' && !self.may_open() {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let three = [quote; 3];
        if rest.starts_with(&three) {
            let unclosed = match quote {
                b'"' => &mut unclosed.double_quotes,
                _ => &mut unclosed.single_quotes,
            };
            let start = self.at + 3;
            if let Some(end) = find(self.bytes, start, &three, unclosed) {
                return Some(Found { text: start..end, end: end + 3 });
            }
        }
        let end = self.at + end_on_line(rest, quote)?;
        Some(Found { text: self.at + 1..end, end: end + 1 })
    }

    /// Whether an apostrophe may open a string: it does not end or divide a word (`x'`, `don't`,
    /// `1'000`), and does not begin the name of a lifetime (`&'a str`, `<'a>`).
    fn may_open(&self) -> bool {
        if let Ok(word) = std::str::from_utf8(self.word)
            && !word.is_empty()
        {
            return PREFIXES.iter().any(|prefix| word.eq_ignore_ascii_case(prefix));
        }
        if self.at > 0 && self.bytes[self.at - 1] >= 0x80 {
            return false;
        }
        let name = &self.bytes[self.at + 1..];
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let may_be_lifetime = matches!(self.last, b'&' | b'<')
            && name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        !may_be_lifetime || name.iter().find(|byte| !is_name(byte)) == Some(&b'\'')
    }
}

/// Where the string that `text` starts with ends: on the same line, and not at a quote after a
/// backslash. A backslash at the end of a line continues the string on the next one.
fn end_on_line(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += if text[at + 1..].starts_with(b"\r\n") { 3 } else { 2 },
            b'\n' | b'\r' => return None,
            byte if byte == quote => return Some(at),
            _ => at += 1,
        }
    }
}

/// The text with a space in place of each backslash. The space also replaces a second backslash, or
/// a letter that makes a control character.
pub(super) fn without_escapes(text: &str, trace: &mut impl Trace) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            out.push(c);
            trace.copied(at, c.len_utf8());
            continue;
        }
        out.push(' ');
        trace.wrote_filler(1);
        let next = chars.peek().map(|&(_, c)| c);
        if let Some('0' | 'a' | 'b' | 'e' | 'f' | 'n' | 'r' | 't' | 'v' | '\\') = next {
            chars.next();
        }
    }
    out
}

/// The first sign in prose, from `start` on, that is part of a name: `++` or `#` after a letter
/// (C++, C#), or a point before a letter but not after a word (.NET). An empty range at the end if
/// there is none.
pub(super) fn next_sign(text: &str, start: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_of_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        let after_letter = || at > 0 && is_letter(at - 1);
        let length = match byte {
            b'+' if after_letter() && bytes.get(at + 1) == Some(&b'+') && !is_of_word(at + 2) => 2,
            b'#' if after_letter() && !is_of_word(at + 1) => 1,
            b'.' if is_letter(at + 1) && (at == 0 || bytes[at - 1].is_ascii_whitespace()) => 1,
            _ => continue,
        };
        return at..at + length;
    }
    text.len()..text.len()
}
