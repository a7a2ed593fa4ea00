//! Joins words that a hyphen breaks at the end of a line.

use crate::texts::unicode::{Properties, properties};

/// The hyphens, and the characters that NFKC turns into one.
const HYPHENS: [char; 6] = ['-', SOFT_HYPHEN, '\u{2010}', '\u{2011}', '\u{FE63}', '\u{FF0D}'];

pub(super) const SOFT_HYPHEN: char = '\u{AD}';

/// Whether a hyphen may start with this byte in UTF-8.
#[inline]
pub(super) fn may_start(byte: u8) -> bool {
    matches!(byte, b'-' | 0xC2 | 0xE2 | 0xEF)
}

/// The number of bytes from the hyphen at `at` to the rest of the word that it breaks: the hyphen,
/// the end of the line, and the blanks before and after that. 0 if there is no such hyphen. It must
/// follow a letter, and the rest must start with a small letter, so that names such as Jean-Paul
/// remain two words.
pub(super) fn broken(text: &str, at: usize) -> usize {
    let Some(hyphen) = text[at..].chars().next().filter(|c| HYPHENS.contains(c)) else {
        return 0;
    };
    let after_hyphen = text[at + hyphen.len_utf8()..].trim_start_matches(BLANKS);
    let after_break = after_hyphen
        .strip_prefix("\r\n")
        .or_else(|| after_hyphen.strip_prefix(['\n', '\r', '\u{85}', '\u{2028}']));
    let Some(rest) = after_break.map(|line| line.trim_start_matches(BLANKS)) else { return 0 };
    let letter = |c: char| properties(c).any(Properties::LETTER.or(Properties::MARK));
    let begun = text[..at].chars().next_back().is_some_and(letter);
    if begun && rest.starts_with(is_small) { text.len() - at - rest.len() } else { 0 }
}

const BLANKS: [char; 3] = [' ', '\t', '\u{A0}'];

fn is_small(c: char) -> bool {
    properties(c).any(Properties::SMALL)
}
