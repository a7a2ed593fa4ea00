//! Finds the ends of strings and of comments of several lines.

use std::ops::Range;

/// A string or a comment.
pub(super) struct Found {
    /// The text between its marks.
    pub(super) text: Range<usize>,
    pub(super) end: usize,
}

/// The most `=` between the brackets of a comment in Lua.
pub(super) const MAX_LEVEL: usize = 7;

/// The closing marks that are known not to occur in the rest of a text, so that none is searched
/// for twice.
#[derive(Debug, Default)]
pub(super) struct Unclosed {
    pub(super) block: bool,
    pub(super) markup: bool,
    /// By the number of `=` between the brackets of Lua.
    pub(super) brackets: [bool; MAX_LEVEL + 1],
    pub(super) double_quotes: bool,
    pub(super) single_quotes: bool,
    pub(super) backtick: bool,
}

/// Where `end` first occurs from `start` on. `unclosed` records that it does not.
pub(super) fn find(bytes: &[u8], start: usize, end: &[u8], unclosed: &mut bool) -> Option<usize> {
    if *unclosed {
        return None;
    }
    let rest = bytes.get(start..)?;
    let found = memchr::memmem::find(rest, end);
    *unclosed = found.is_none();
    found.map(|at| start + at)
}
