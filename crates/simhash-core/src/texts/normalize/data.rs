//! Drops data within a text: `data:` URIs, and runs of base64 such as keys and attachments. Each
//! becomes a space.

use std::ops::Range;

use memchr::memchr_iter;

use super::trace::Trace;
use crate::base::interrupt::Interrupt;

/// A longer run of base64 is no word.
pub const MAX_BASE64: usize = 200;

/// A line of base64 that continues on the next line has at least this many characters. PEM has 64,
/// and MIME has 76.
const FULL_LINE: usize = 60;

/// The text without URIs, if it has any.
pub(super) fn without_uris<T: Trace>(
    text: &str,
    interrupt: &Interrupt,
    traces: &mut Vec<T>,
) -> Option<String> {
    let uris = uris(text, interrupt);
    (!uris.is_empty()).then(|| without(text, &uris, traces))
}

/// The text without URIs and without runs of base64 that are too long for words, if it has such a
/// run.
#[inline]
pub(super) fn without_runs<T: Trace>(
    text: &str,
    interrupt: &Interrupt,
    traces: &mut Vec<T>,
) -> Option<String> {
    if text.len() <= MAX_BASE64 || long_runs(text.as_bytes(), interrupt).is_empty() {
        return None;
    }
    let text = without_uris(text, interrupt, traces).unwrap_or_else(|| text.to_owned());
    let runs = long_runs(text.as_bytes(), interrupt);
    Some(without(&text, &runs, traces))
}

/// The text with a space in place of each of the ranges, which are ascending.
fn without<T: Trace>(text: &str, ranges: &[Range<usize>], traces: &mut Vec<T>) -> String {
    let mut trace = T::default();
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        out.push_str(&text[end..range.start]);
        trace.copied(end, range.start - end);
        out.push(' ');
        trace.wrote_filler(1);
        end = range.end;
    }
    out.push_str(&text[end..]);
    trace.copied(end, text.len() - end);
    traces.push(trace);
    out
}

const SCHEME: &str = "data";

/// Whether the colon at `colon` ends the scheme of a `data:` URI.
#[inline]
pub(super) fn ends_scheme(text: &str, colon: usize) -> bool {
    let before = &text.as_bytes()[..colon];
    before.last_chunk::<{ SCHEME.len() }>().is_some_and(|scheme| {
        scheme.eq_ignore_ascii_case(SCHEME.as_bytes())
            && before[..colon - SCHEME.len()]
                .last()
                .is_none_or(|byte| !byte.is_ascii_alphanumeric())
    })
}

/// The `data:` URIs (RFC 2397): `data:`, a type such as `image/png` or none, parameters, a comma,
/// and data. Without a type there must be a parameter.
fn uris(text: &str, interrupt: &Interrupt) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for colon in memchr_iter(b':', bytes) {
        interrupt.spend(1);
        let is_new = found.last().is_none_or(|last| last.end < colon);
        if is_new && ends_scheme(text, colon) {
            let length = uri_length(&bytes[colon + 1..]);
            interrupt.spend(length);
            if length > 0 {
                found.push(colon - SCHEME.len()..colon + 1 + length);
            }
        }
    }
    found
}

/// The length of what comes after `data:`, or 0 if that is no URI.
fn uri_length(bytes: &[u8]) -> usize {
    const LONGEST_TYPE: usize = 256;
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"/;=+-._\"%*!#$&^~'".contains(byte);
    let length = bytes.iter().take(LONGEST_TYPE).take_while(|&byte| is_type(byte)).count();
    let media = &bytes[..length];
    let slash = media.iter().position(|&byte| byte == b'/' || byte == b';');
    let is_media =
        slash.is_some_and(|at| media[at] == b';' && at == 0 || at > 0 && at + 1 < length);
    if !is_media || bytes.get(length) != Some(&b',') {
        return 0;
    }
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>()\\".contains(byte);
    let data = bytes[length + 1..].iter().take_while(|&byte| byte.is_ascii() && !ends(byte));
    length + 1 + data.count()
}

/// The runs of base64 that are too long for words.
fn long_runs(bytes: &[u8], interrupt: &Interrupt) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Every run that is too long covers one of the places that are examined.
    let mut at = MAX_BASE64;
    while at < bytes.len() {
        if !in_block(&bytes[at]) {
            at += MAX_BASE64;
            continue;
        }
        let before = bytes[..at].iter().rev().take_while(|&byte| in_block(byte)).count();
        let after = bytes[at..].iter().take_while(|&byte| in_block(byte)).count();
        interrupt.spend(before + after);
        let block = at - before..at + after;
        if block.len() > MAX_BASE64 {
            runs_of_block(bytes, block, &mut found);
        }
        at += after + MAX_BASE64;
    }
    found
}

/// Base64 in both of its alphabets (RFC 4648), and ends of lines.
static BLOCK: [bool; 256] = {
    let mut block = [false; 256];
    let mut byte = 0;
    while byte < 128u8 {
        block[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\r' | b'\n');
        byte += 1;
    }
    block
};

#[inline]
fn in_block(byte: &u8) -> bool {
    BLOCK[usize::from(*byte)]
}

/// The runs of a block: lines, of which all but the last are full.
fn runs_of_block(bytes: &[u8], block: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut run = block.start..block.start;
    let mut full = true;
    let mut at = block.start;
    for line in bytes[block.clone()].split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
        let length = line.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        // The second byte of \r\n is an empty line.
        if length > 0 {
            if !full {
                add_run(bytes, run, found);
                run = at..at;
            }
            full = length >= FULL_LINE;
            run.end = at + length;
        }
        at += line.len();
    }
    add_run(bytes, run, found);
}

/// Adds a run if it is too long for a word and may be base64 of random bytes, which has small and
/// capital letters and digits. A run that lacks a kind is something else: a gene, a laugh, a
/// number, a ruled line.
fn add_run(bytes: &[u8], run: Range<usize>, found: &mut Vec<Range<usize>>) {
    let run_bytes = &bytes[run.clone()];
    let kinds: [fn(&u8) -> bool; 3] =
        [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    if run.len() > MAX_BASE64 && kinds.iter().all(|&kind| run_bytes.iter().any(kind)) {
        found.push(run);
    }
}
