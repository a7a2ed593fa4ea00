//! Finds the comments of a text.
//!
//! A mark that begins comments in one language is an operator in another: `//` divides in Python,
//! `#` includes in C, `--` decrements. So all lines are examined first ([`Marks`]): a language's
//! comments often begin lines, and its operators rarely do. Then each mark is judged by its context
//! ([`Here`]). In doubt it is code.

use super::ends::{Found, MAX_LEVEL, Unclosed, find};
use crate::base::interrupt::Interrupt;

/// The marks that begin comments in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// `#`, and whether it begins more lines than the marks of C.
    hash: bool,
    mostly_hash: bool,
    /// `//` after code too, not only where no operator is possible.
    slashes_behind_code: bool,
    /// Lines begin with `/*`.
    blocks: bool,
    /// `--`.
    dashes: bool,
}

/// Words after a `#` that begins no comment: directives of the C preprocessor, of C# and of
/// Objective-C.
const DIRECTIVES: [&[u8]; 22] = [
    b"include",
    b"include_next",
    b"import",
    b"define",
    b"undef",
    b"if",
    b"ifdef",
    b"ifndef",
    b"elif",
    b"elifdef",
    b"elifndef",
    b"else",
    b"endif",
    b"error",
    b"warning",
    b"pragma",
    b"line",
    b"ident",
    b"embed",
    b"region",
    b"endregion",
    b"nullable",
];

impl Marks {
    /// The marks of a text, by the beginnings of its lines.
    pub(super) fn of(text: &str, interrupt: &Interrupt) -> Self {
        let [mut hash, mut directives, mut slashes, mut blocks, mut dashes] = [0u64; 5];
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            let (line, others) = rest.split_at(end);
            rest = others;
            interrupt.spend(line.len() / 4);
            let line = line.as_bytes();
            let blanks = line.iter().take_while(|&&byte| is_blank(byte)).count();
            match &line[blanks..] {
                [b'/', b'/', ..] => slashes += 1,
                [b'/', b'*', ..] => blocks += 1,
                [b'#', after @ ..] if is_directive(after) => directives += 1,
                [b'#', after @ ..] if begins_hash_comment(after) => hash += 1,
                [b'-', b'-', b'[', b'[' | b'=', ..] => dashes += 1,
                [b'-', b'-', after @ ..] if ends_word(after) => dashes += 1,
                _ => {}
            }
        }
        let has_hash = hash > directives;
        let mostly_hash = has_hash && hash > slashes + blocks;
        Marks {
            hash: has_hash,
            mostly_hash,
            slashes_behind_code: slashes + blocks > 0,
            blocks: blocks > 0,
            dashes: dashes > 0 && dashes >= slashes && !(has_hash && hash > dashes),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Whether `after` begins with white space or is empty.
fn ends_word(after: &[u8]) -> bool {
    after.first().is_none_or(u8::is_ascii_whitespace)
}

fn begins_hash_comment(after: &[u8]) -> bool {
    ends_word(after) || matches!(after[0], b'!' | b'#' | b'-' | b'=' | b'*')
}

fn is_directive(after: &[u8]) -> bool {
    if after.starts_with(b"[") || after.starts_with(b"![") {
        // An attribute of Rust.
        return true;
    }
    let blanks = after.iter().take_while(|&&byte| is_blank(byte)).count();
    let word = &after[blanks..];
    let length = word.iter().take(16).take_while(|b| b.is_ascii_lowercase() || **b == b'_').count();
    DIRECTIVES.contains(&&word[..length])
}

/// The context of a mark.
pub(super) struct Here<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// The last byte of code before it on its line. A line feed if there is none.
    pub(super) last: u8,
}

impl Here<'_> {
    /// The comment that starts here. `None` if none does, or it is not closed.
    pub(super) fn comment(
        &self,
        marks: &Marks,
        unclosed: &mut Unclosed,
        interrupt: &Interrupt,
    ) -> Option<Found> {
        let found = match &self.bytes[self.at..] {
            [b'/', b'/', ..] if self.slashes_begin(marks) => self.line(2),
            [b'/', b'*', ..] if self.block_begins(marks) => {
                self.closed(2, b"*/", &mut unclosed.block)?
            }
            [b'#', ..] if self.hash_begins(marks) => self.line(1),
            [b'-', b'-', b'[', after @ ..] => {
                let level = after.iter().take(MAX_LEVEL + 1).take_while(|&&b| b == b'=').count();
                match (after.get(level), unclosed.brackets.get_mut(level)) {
                    (Some(b'['), Some(unclosed)) => {
                        let end = [b"]", &b"========"[..level], b"]"].concat();
                        match self.closed(4 + level, &end, unclosed) {
                            Some(found) => found,
                            None if self.dashes_begin(marks) => self.line(2),
                            None => return None,
                        }
                    }
                    _ if self.dashes_begin(marks) => self.line(2),
                    _ => return None,
                }
            }
            [b'-', b'-', ..] if self.dashes_begin(marks) => self.line(2),
            [b'<', b'!', b'-', b'-', ..] => self.closed(4, b"-->", &mut unclosed.markup)?,
            _ => return None,
        };
        interrupt.spend(found.end - self.at);
        Some(found)
    }

    /// A comment up to the end of the line.
    fn line(&self, mark: usize) -> Found {
        let start = self.at + mark;
        let rest = &self.bytes[start..];
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let end = start + length.unwrap_or(rest.len());
        Found { text: start..end, end }
    }

    /// A comment up to its closing mark `end`, if there is one.
    fn closed(&self, mark: usize, end: &[u8], unclosed: &mut bool) -> Option<Found> {
        let start = self.at + mark;
        let found = find(self.bytes, start, end, unclosed)?;
        Some(Found { text: start..found, end: found + end.len() })
    }

    fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).map(|at| self.bytes[at])
    }

    fn is_first(&self) -> bool {
        self.last == b'\n'
    }

    /// Whether `//` begins a comment. At the start of a line, or after one of these characters, it
    /// cannot be an operator. Directly after a word, a colon (`https://`) or a backslash, it begins
    /// none.
    fn slashes_begin(&self, marks: &Marks) -> bool {
        if marks.mostly_hash || self.before() == Some(b':') {
            return false;
        }
        self.is_first()
            || matches!(self.last, b';' | b'{' | b'}' | b',' | b':')
            || marks.slashes_behind_code
                && !self.before().is_some_and(|byte| {
                    byte.is_ascii_alphanumeric()
                        || matches!(byte, b'_' | b'.' | b'/' | b'\\' | b'[')
                })
    }

    /// Whether `/*` begins a comment. Directly after a word and in patterns of file names, it
    /// begins none: `src/*.c`, `**/*`, `/*)`.
    fn block_begins(&self, marks: &Marks) -> bool {
        if marks.mostly_hash && !(marks.blocks && self.is_first()) {
            return false;
        }
        let is_pattern = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'.' | b'*' | b'/' | b'\\' | b'~' | b'$' | b'[' | b'-')
        };
        !self.before().is_some_and(is_pattern) && self.bytes.get(self.at + 2) != Some(&b')')
    }

    fn hash_begins(&self, marks: &Marks) -> bool {
        let after = &self.bytes[self.at + 1..];
        marks.hash
            && if self.is_first() {
                marks.mostly_hash || begins_hash_comment(after) && !is_directive(after)
            } else {
                self.before().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b';')
                    && ends_word(after)
            }
    }

    fn dashes_begin(&self, marks: &Marks) -> bool {
        let after = &self.bytes[self.at + 2..];
        marks.dashes
            && (self.is_first()
                || self.before().is_some_and(|byte| {
                    byte.is_ascii_whitespace() || matches!(byte, b';' | b',' | b')')
                }) && (ends_word(after) || after[0] == b'-'))
    }
}
