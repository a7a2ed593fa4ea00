//! Repairs text in UTF-8 that was read as Windows-1252 or Latin-1: `cafÃ©` becomes café.
//!
//! It does so only if that is certain. Every character beyond ASCII must be part of such a
//! misreading, and at least one misreading must be *telling*: no correctly read text has it.
//!
//! A telling misreading has a capital letter, a sign or a control character. So a text that was
//! normalised by `lower`, `punctuation` and `space` has none.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::trace::Trace;
use crate::base::interrupt::Interrupt;
use crate::texts::unicode::{Properties, properties};

/// How often a text may have been misread.
const ROUNDS: usize = 3;

/// The characters of Windows-1252 from 0x80 to 0x9F. It defines none where a control character is
/// listed. A reading as Latin-1 has control characters at all of these places.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The text as it was before it was misread, perhaps several times. `None` if it is right.
pub(super) fn put_right<T: Trace>(
    text: &str,
    interrupt: &Interrupt,
    traces: &mut Vec<T>,
) -> Option<String> {
    let mut right = reread(text, interrupt, traces)?;
    for _ in 1..ROUNDS {
        match reread(&right, interrupt, traces) {
            Some(before) => right = before,
            None => break,
        }
    }
    Some(right)
}

/// The text whose UTF-8 was misread as this one, if that is certain.
fn reread<T: Trace>(text: &str, interrupt: &Interrupt, traces: &mut Vec<T>) -> Option<String> {
    let mut out = String::new();
    let mut trace = T::default();
    let mut telling = false;
    let mut rest = text;
    let mut bytes = Vec::new();
    while let Some(start) = beyond_ascii(rest.as_bytes()) {
        let (ascii, run) = rest.split_at(start);
        let end = run.bytes().position(|byte| byte < 0x80).unwrap_or(run.len());
        let after;
        (rest, after) = (&run[end..], run[end..].chars().next());
        interrupt.spend(start + end);
        bytes.clear();
        for c in run[..end].chars() {
            bytes.push(byte(c)?);
        }
        let right = std::str::from_utf8(&bytes).ok().filter(|right| right.chars().all(is_usual))?;
        let is_small = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
        let beside = is_small(ascii.chars().next_back()) || is_small(after);
        telling |= run[..end].chars().any(is_odd) && is_telling(right, beside);
        if out.is_empty() {
            out.reserve(text.len());
        }
        let at = text.len() - rest.len() - end;
        trace.copied(at - start, start);
        if T::IS_KEPT {
            trace_run(&run[..end], at, right, &mut trace);
        }
        out.push_str(ascii);
        out.push_str(right);
    }
    trace.copied(text.len() - rest.len(), rest.len());
    out.push_str(rest);
    if telling {
        traces.push(trace);
    }
    telling.then_some(out)
}

/// Traces each character of `right` to as many characters of `run`, which begins at `at`, as it has
/// bytes.
fn trace_run<T: Trace>(run: &str, at: usize, right: &str, trace: &mut T) {
    let mut read = run.chars();
    let mut from = at;
    for c in right.chars() {
        let bytes: usize = read.by_ref().take(c.len_utf8()).map(char::len_utf8).sum();
        trace.read(from..from + bytes);
        trace.wrote(c.len_utf8());
        from += bytes;
    }
}

/// The place of the first byte that is not ASCII.
fn beyond_ascii(bytes: &[u8]) -> Option<usize> {
    const CHUNK: usize = 64;
    let chunk = bytes.chunks(CHUNK).position(|chunk| !chunk.is_ascii())?;
    let within = bytes[chunk * CHUNK..].iter().position(|byte| !byte.is_ascii())?;
    Some(chunk * CHUNK + within)
}

/// Whether normalisation drops or changes `c`: a capital letter, a sign or a control character.
fn is_odd(c: char) -> bool {
    properties(c).any(Properties::PUNCTUATION.or(Properties::WHITE))
        || c.general_category() == GeneralCategory::UppercaseLetter
}

/// The byte that was read as `c`.
fn byte(c: char) -> Option<u8> {
    match u8::try_from(u32::from(c)) {
        Ok(byte) => Some(byte),
        Err(_) => WINDOWS.iter().position(|&windows| windows == c).map(|at| 0x80 + at as u8),
    }
}

/// Whether these characters, each of which was misread as two to four, are telling. What looks like
/// one of them may be a capital and a sign in correct text: `CAFÉ»`. So there must be two, or one
/// of these:
/// - its first byte was read as Ã, and a small letter is beside it: `cafÃ©`,
/// - it is a sign whose first byte was read as Â (`Â°`), or whose first two as `â€` or the like,
/// - it has four bytes: `ðŸ˜€`.
fn is_telling(right: &str, beside_small: bool) -> bool {
    let mut chars = right.chars();
    match (chars.next(), chars.next()) {
        (Some(_), Some(_)) => true,
        (Some('\u{80}'..='\u{BF}' | '\u{2000}'..='\u{213F}' | '\u{10000}'..), None) => true,
        (Some('\u{C0}'..='\u{FF}'), None) => beside_small,
        _ => false,
    }
}

/// Whether texts usually have `c`: it is no control, format, private-use or unassigned character,
/// except joiners and direction marks.
fn is_usual(c: char) -> bool {
    c.general_category_group() != GeneralCategoryGroup::Other
        || matches!(c, '\u{200B}'..='\u{200F}')
}
