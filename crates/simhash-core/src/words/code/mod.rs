//! Tokens of source code in any language: the words of its names, its symbols, and the words of its
//! strings.
//!
//! There is no grammar, and the language is unknown. So each rule here is right in most languages
//! and loses nothing in the others. If it is doubtful whether something is a comment, it is code
//! ([`comments`]), and its words are tokens.
//!
//! - A name is cut as programmers read it ([`names`]): `parseHTTPHeader`, `parse_http_header`. A
//!   hyphen between letters is part of a name where a subtraction is impossible: `--dry-run`,
//!   `font-size: 1em`.
//! - Symbols are tokens. One of several characters is one token ([`operators`]).
//! - A string is the token `"` and its words, whichever quotes it has. It ends on the line on which
//!   it starts, unless it begins with three quotes. So a quote that opens no string, as in `don't`,
//!   does no harm beyond its line.
//! - Words of strings, and of comments if these are kept, are those of the tokenizer `auto`, with
//!   names cut as in code.
//!
//! Case separates the words of a name, so letters become small here and not when the text is
//! normalised.

mod comments;
mod ends;
mod names;
mod operators;
mod strings;

use std::marker::PhantomData;
use std::ops::Range;

use crate::base::interrupt::Interrupt;
use crate::config::{Config, Kept, NormalizeStep, NormalizeSteps};
use crate::texts::normalize::normalize_traced;
use crate::texts::place::Place;
use crate::texts::unicode::{Properties, properties};
use crate::words::tokenize::{Cutting, MAX_WORD_RUN, words};
use comments::Marks;
use ends::Unclosed;
use names::for_each_part;

/// The part of a configuration that concerns code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// The steps that map characters.
    steps: NormalizeSteps,
    comments: Kept,
    whitespace: Kept,
}

impl Style {
    pub(crate) fn of(config: &Config) -> Self {
        use NormalizeStep::{Digits, German, Lower, Marks, Nfkc, Simplified};
        let mapping = [Nfkc, German, Marks, Lower, Simplified, Digits];
        Style {
            steps: mapping.into_iter().filter(|&step| config.normalize.contains(step)).collect(),
            comments: config.comments,
            whitespace: config.whitespace,
        }
    }
}

/// Tokens for a new line, for an indented block that begins, and for one that ends.
const NEW_LINE: &str = "↵";
const INDENT: &str = "⇥";
const DEDENT: &str = "⇤";

/// The distance between tab stops, by the Python language reference, section 2.1.8.
const TAB: usize = 8;

/// The token at the beginning of a string.
const QUOTE: &str = "\"";

/// Hands every token of `text` to `sink`, with its place in `text`. The tokens for a line and its
/// indentation have the place of the indentation, which may be empty.
pub(crate) fn code<P: Place>(
    text: &str,
    style: Style,
    cutting: Cutting<'_>,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&str, P),
) {
    const BYTE_ORDER_MARK: char = '\u{FEFF}';
    let whole = text;
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    Lexer {
        start: whole.len() - text.len(),
        text,
        bytes: text.as_bytes(),
        at: 0,
        marks: Marks::of(text, interrupt),
        unclosed: Unclosed::default(),
        last: b'\n',
        line: 0,
        indents: Vec::new(),
        begun: false,
        word: 0..0,
        name_end: 0,
        no_name_end: 0,
        in_backticks: false,
        spaced: String::new(),
        mapped: String::new(),
        places: PhantomData,
        style,
        cutting,
        interrupt,
        sink,
    }
    .run();
}

struct Lexer<'a, 'i, P> {
    /// Where the text begins, after byte order marks.
    start: usize,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    marks: Marks,
    /// The marks that are known not to occur in the rest of the text.
    unclosed: Unclosed,
    /// The last byte of code on this line. A line feed if there is none.
    last: u8,
    /// Where this line starts.
    line: usize,
    /// The columns of the indented blocks around this line, and whether a line has begun.
    indents: Vec<usize>,
    begun: bool,
    /// Where the last word of ASCII is.
    word: Range<usize>,
    /// Hyphens before this are part of a name.
    name_end: usize,
    /// Hyphens before this were examined and are not part of a name.
    no_name_end: usize,
    /// Whether this is between two backticks.
    in_backticks: bool,
    /// Buffers.
    spaced: String,
    mapped: String,
    places: PhantomData<P>,
    style: Style,
    cutting: Cutting<'a>,
    interrupt: &'a Interrupt<'i>,
    sink: &'a mut dyn FnMut(&str, P),
}

impl<P: Place> Lexer<'_, '_, P> {
    /// The place of these bytes.
    #[inline]
    fn place(&self, range: Range<usize>) -> P {
        P::at(self.start + range.start..self.start + range.end)
    }

    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            let start = self.at;
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' => self.ascii_word(),
                0..=b' ' | 0x7F => self.white(),
                0x80.. => self.beyond_ascii(),
                _ => self.symbol(byte),
            }
            self.interrupt.spend(self.at - start);
        }
    }

    fn white(&mut self) {
        while let Some(&byte @ (0..=b' ' | 0x7F)) = self.bytes.get(self.at) {
            self.at += 1;
            if matches!(byte, b'\n' | b'\r') {
                self.last = b'\n';
                self.line = self.at;
            }
        }
    }

    /// Notes that a token starts here. Before the first one of a line, hands out the tokens for the
    /// line and its indentation.
    #[inline]
    fn begin(&mut self) {
        if self.last == b'\n' && self.style.whitespace == Kept::Keep {
            self.begin_line();
        }
    }

    #[cold]
    fn begin_line(&mut self) {
        let place = self.place(self.line..self.at);
        let white = &self.bytes[self.line..self.at];
        let column = white.iter().fold(0, |column, &byte| match byte {
            b'\t' => (column / TAB + 1) * TAB,
            _ => column + 1,
        });
        self.last = b' ';
        if std::mem::replace(&mut self.begun, true) {
            (self.sink)(NEW_LINE, place.clone());
        }
        while self.indents.last().is_some_and(|&last| last > column) {
            self.indents.pop();
            (self.sink)(DEDENT, place.clone());
        }
        if column > self.indents.last().copied().unwrap_or(0) {
            self.indents.push(column);
            (self.sink)(INDENT, place);
        }
    }

    /// A word that starts with ASCII.
    fn ascii_word(&mut self) {
        let start = self.at;
        let longest = self.bytes.len().min(start + MAX_WORD_RUN);
        let window = &self.bytes[..longest];
        let mut end = start;
        let mut capitals = false;
        loop {
            match window.get(end) {
                Some(b'a'..=b'z' | b'0'..=b'9' | b'_') => end += 1,
                Some(b'A'..=b'Z') => {
                    capitals = true;
                    end += 1;
                }
                Some(b'.') if is_point(window, start, end) => end += 1,
                Some(0x80..) if self.continues(end) => return self.mixed_word(),
                _ => break,
            }
        }
        self.begin();
        let word = &self.text[start..end];
        let folded = if capitals && self.style.steps.contains(NormalizeStep::Lower) {
            self.mapped.clear();
            self.mapped.push_str(word);
            self.mapped.make_ascii_lowercase();
            &self.mapped
        } else {
            word
        };
        let first = self.start + start;
        for_each_part(word, |part| {
            let place = P::at(first + part.start..first + part.end);
            (self.sink)(&folded[part], place);
        });
        self.at = end;
        self.last = self.bytes[end - 1];
        self.word = start..end;
        if self.bytes.get(end) == Some(&b'-') && end >= self.name_end.max(self.no_name_end) {
            self.look_for_hyphens(start);
        }
    }

    /// Finds out whether the words from `start` on, with hyphens between them, are a name.
    fn look_for_hyphens(&mut self, start: usize) {
        let is_of_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let mut end = self.at;
        while match self.bytes.get(end) {
            Some(b'-') => {
                is_of_word(self.bytes.get(end - 1))
                    && self.bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic)
            }
            Some(b'_') => true,
            byte => is_of_word(byte),
        } {
            end += 1;
        }
        let before = &self.bytes[..start];
        let after = &self.bytes[end..];
        let is_name = before.ends_with(b"--")
            || before.ends_with(b"</")
            || before.ends_with(b"@")
            || is_value_of(after);
        match is_name {
            true => self.name_end = end,
            false => self.no_name_end = end,
        }
        self.interrupt.spend(end - start);
    }

    /// Whether the character beyond ASCII at `at` is part of a word.
    fn continues(&self, at: usize) -> bool {
        self.text[at..].chars().next().is_some_and(is_of_word)
    }

    fn beyond_ascii(&mut self) {
        let Some(c) = self.text[self.at..].chars().next() else { return };
        let set = properties(c);
        if set.any(Properties::WHITE) || set.any(Properties::IGNORABLE) {
            self.at += c.len_utf8();
        } else if is_of_word(c) {
            self.mixed_word();
        } else {
            self.begin();
            let end = self.at + c.len_utf8();
            let place = self.place(self.at..end);
            (self.sink)(&self.text[self.at..end], place);
            self.at = end;
            self.last = 0x80;
        }
    }

    /// A word that has characters beyond ASCII. It is cut as a name, and then as `auto` does.
    fn mixed_word(&mut self) {
        let rest = &self.text[self.at..];
        let start = self.at;
        let mut length = 0;
        for c in rest.chars() {
            let is_point = c == '.' && is_point(self.bytes, start, start + length);
            if !is_of_word(c) && !is_point || length >= MAX_WORD_RUN {
                break;
            }
            length += c.len_utf8();
        }
        self.begin();
        self.at += length;
        self.last = 0x80;
        let first = self.start + start;
        self.cut_spaced(&rest[..length], self.style.steps, |place| place.before(&[], first));
    }

    /// Cuts the names in `text`, normalises it by `steps`, and cuts it as `auto` does. `place` maps
    /// a place in `text` to one in the whole text.
    fn cut_spaced(&mut self, text: &str, steps: NormalizeSteps, place: impl Fn(P) -> P) {
        let mut traces = Vec::new();
        let mut trace = P::Trace::default();
        self.spaced.clear();
        names::push_spaced(text, &mut self.spaced, &mut trace);
        traces.push(trace);
        normalize_traced(&self.spaced, steps, self.interrupt, &mut self.mapped, &mut traces);
        words::<true>(&self.mapped, self.cutting, self.interrupt, &mut |token| {
            (self.sink)(token, place(P::of(&self.mapped, token).before(&traces, 0)));
        });
    }

    fn symbol(&mut self, byte: u8) {
        let is_inert = self.in_backticks;
        match byte {
            b'\\' if matches!(self.bytes.get(self.at + 1), Some(b'"' | b'\'' | b'`')) => {
                return self.emit(2);
            }
            b'"' | b'\'' if !is_inert && self.string(byte) => return,
            b'`' if self.backtick() => return,
            b'/' | b'#' | b'-' | b'<' if !is_inert && self.comment() => return,
            b'-' if self.at < self.name_end => {
                self.at += 1;
                return;
            }
            _ => {}
        }
        self.emit(operators::length(&self.bytes[self.at..]));
    }

    /// Hands out the symbol of `length` bytes that starts here.
    fn emit(&mut self, length: usize) {
        self.begin();
        let end = self.at + length;
        let place = self.place(self.at..end);
        (self.sink)(&self.text[self.at..end], place);
        self.last = self.bytes[end - 1];
        self.at = end;
    }

    /// Reads a comment, if one starts here.
    fn comment(&mut self) -> bool {
        let here = comments::Here { bytes: self.bytes, at: self.at, last: self.last };
        let Some(found) = here.comment(&self.marks, &mut self.unclosed, self.interrupt) else {
            return false;
        };
        if self.style.comments == Kept::Keep {
            self.begin();
            self.prose(found.text, false);
        }
        if let Some(lines) = self.bytes[self.at..found.end].iter().rposition(|&b| b == b'\n') {
            self.line = self.at + lines + 1;
            self.last = b'\n';
        }
        self.at = found.end;
        true
    }

    /// Reads a string, if one starts here.
    fn string(&mut self, quote: u8) -> bool {
        let follows_word = self.word.end == self.at && !self.word.is_empty();
        let word = if follows_word { &self.bytes[self.word.clone()] } else { b"" };
        let here = strings::Here { bytes: self.bytes, at: self.at, word, last: self.last };
        let Some(found) = here.string(quote, &mut self.unclosed) else { return false };
        self.begin();
        let quotes = self.place(self.at..found.text.start);
        (self.sink)(QUOTE, quotes);
        self.prose(found.text, true);
        self.at = found.end;
        self.last = quote;
        true
    }

    /// Reads a backtick of a pair. Between the two, which may be lines apart, nothing is a comment
    /// or another string.
    fn backtick(&mut self) -> bool {
        if std::mem::take(&mut self.in_backticks) {
            self.at += 1;
            self.last = b'`';
            return true;
        }
        let rest = &self.bytes[self.at + 1..];
        if self.unclosed.backtick || !rest.contains(&b'`') {
            self.unclosed.backtick = true;
            return false;
        }
        self.begin();
        let quote = self.place(self.at..self.at + 1);
        (self.sink)(QUOTE, quote);
        self.in_backticks = true;
        self.at += 1;
        self.last = b'`';
        true
    }

    /// Hands out the words of a string or a comment.
    fn prose(&mut self, range: Range<usize>, has_escapes: bool) {
        let steps = self.style.steps.with(NormalizeStep::Punctuation).with(NormalizeStep::Space);
        let begin = self.start + range.start;
        let without_escapes;
        let mut text = &self.text[range];
        let mut escapes = Vec::new();
        if has_escapes && text.contains('\\') {
            let mut trace = P::Trace::default();
            without_escapes = strings::without_escapes(text, &mut trace);
            text = &without_escapes;
            escapes.push(trace);
        }
        let mut start = 0;
        while start < text.len() {
            let sign = strings::next_sign(text, start);
            self.interrupt.spend(sign.end - start);
            self.cut_spaced(&text[start..sign.start], steps, |place| {
                place.before(&[], start).before(&escapes, begin)
            });
            start = sign.end;
            if !sign.is_empty() {
                let place = P::at(sign.clone()).before(&escapes, begin);
                (self.sink)(&text[sign], place);
            }
        }
    }
}

/// Whether the point at `at` is between two digits, the first not before `start`.
fn is_point(bytes: &[u8], start: usize, at: usize) -> bool {
    at > start
        && bytes[at - 1].is_ascii_digit()
        && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

/// Whether the text after words with hyphens shows that they are a name: an assignment follows, or
/// a colon as after a key or a property. Neither follows a subtraction.
fn is_value_of(after: &[u8]) -> bool {
    const FEW: usize = 16;
    let blanks = after.iter().take(FEW).take_while(|&&byte| byte == b' ').count();
    match &after[blanks..] {
        [b'=', b'=' | b'>' | b'~', ..] => false,
        [b'=', ..] => true,
        [b':'] | [b':', b' ' | b'\t' | b'\n' | b'\r', ..] => blanks == 0,
        _ => false,
    }
}

/// Whether a character is part of a word: a letter, a number, an emoji, or a character that belongs
/// to one.
fn is_of_word(c: char) -> bool {
    const PARTS: Properties =
        Properties::TOKEN.or(Properties::MARK).or(Properties::IGNORABLE).or(Properties::EXTENDS);
    let set = properties(c);
    c == '_' || set.any(PARTS) && !set.any(Properties::WHITE) && !is_symbol(set)
}

fn is_symbol(set: Properties) -> bool {
    set.any(Properties::PUNCTUATION) && !set.any(Properties::WORD)
}
