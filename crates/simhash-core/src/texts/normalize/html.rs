//! Removes markup and keeps the text that a reader sees, by the tokenizer of the HTML standard.
//!
//! Tags, comments, doctypes and the contents of `script` and `style` are dropped. Entities are
//! decoded. A tag that only formats (`<b>`, `<a>`, `<span>`, ...) leaves nothing. Any other tag
//! leaves a space: `w<b>or</b>d` is one word, and `<li>one<li>two` is two.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Tokenizer};

use super::trace::Trace;
use crate::base::interrupt::Interrupt;

/// The elements of phrasing content that a word may run through.
const FORMATTING: [&str; 29] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "u", "wbr",
];

pub(super) fn visible_text<T: Trace>(
    html: &str,
    interrupt: &Interrupt,
    traces: &mut Vec<T>,
) -> String {
    let mut text = String::new();
    let mut trace = T::default();
    let mut hidden = false;
    let strings = RefCell::new(Vec::new());
    let mut emitter = CallbackEmitter::new(
        |event: CallbackEvent<'_>, _: html5gum::Span<()>| -> Option<Infallible> {
            match event {
                CallbackEvent::OpenStartTag { name } => {
                    hidden = is_hidden(name);
                    separate(name, &mut text, &mut trace);
                }
                CallbackEvent::EndTag { name } => {
                    hidden = hidden && !is_hidden(name);
                    separate(name, &mut text, &mut trace);
                }
                CallbackEvent::String { value } => {
                    let pieces: Vec<Piece> = strings.take();
                    pieces.into_iter().filter(|_| !hidden).for_each(|p| p.tell(&mut trace));
                    if !hidden {
                        text.push_str(&String::from_utf8_lossy(value));
                    }
                }
                _ => {}
            }
            None
        },
    );
    // Raw text elements are recognised by their names alone.
    emitter.naively_switch_states(true);
    let reader = Reader { rest: html.as_bytes(), interrupt };
    let Ok(()) = if T::IS_KEPT {
        let html = html.as_bytes();
        let emitter = Watched { emitter, html, position: 0, end: 0, strings: &strings };
        Tokenizer::new_with_emitter(reader, emitter).finish()
    } else {
        Tokenizer::new_with_emitter(reader, emitter).finish()
    };
    traces.push(trace);
    text
}

/// Some bytes of text, and the markup that they come from.
struct Piece {
    from: Range<usize>,
    length: usize,
    is_copy: bool,
}

impl Piece {
    fn tell<T: Trace>(self, trace: &mut T) {
        if self.is_copy {
            trace.copied(self.from.start, self.length);
        } else {
            trace.read(self.from);
            trace.wrote(self.length);
        }
    }
}

/// An emitter that records where its strings come from.
struct Watched<'a, E> {
    emitter: E,
    html: &'a [u8],
    /// How many bytes were read.
    position: usize,
    /// Where the last emitted string ends.
    end: usize,
    /// The emitted strings that are not in the trace yet.
    strings: &'a RefCell<Vec<Piece>>,
}

impl<E: Emitter> ForwardingEmitter for Watched<'_, E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = E::Token> {
        &mut self.emitter
    }

    fn move_position(&mut self, offset: isize) {
        self.position = self.position.saturating_add_signed(offset);
        self.emitter.move_position(offset);
    }

    fn emit_string(&mut self, string: &[u8]) {
        if !string.is_empty() {
            let piece = self.piece(string);
            self.strings.borrow_mut().push(piece);
            self.end = self.position;
        }
        self.emitter.emit_string(string);
    }
}

impl<E> Watched<'_, E> {
    /// The source of `string`, which ends at the position: a character reference, the same bytes,
    /// or a byte that was replaced (the end of a line, NUL).
    fn piece(&self, string: &[u8]) -> Piece {
        let (end, length) = (self.position.min(self.html.len()), string.len());
        let start = self.reference(end).unwrap_or(end.saturating_sub(length));
        if &self.html[start..end] == string {
            return Piece { from: start..end, length, is_copy: true };
        }
        let start = self.reference(end).unwrap_or(end.saturating_sub(1));
        Piece { from: start..end, length, is_copy: false }
    }

    /// Where the character reference that ends at `end` begins, if there is one.
    fn reference(&self, end: usize) -> Option<usize> {
        let is_of_one = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b';');
        let read = self.html.get(self.end..end)?;
        let length = read.iter().rev().take_while(|&byte| is_of_one(byte)).count();
        let ampersand = end.checked_sub(length + 1).filter(|&at| at >= self.end)?;
        (self.html[ampersand] == b'&').then_some(ampersand)
    }
}

fn is_hidden(name: &[u8]) -> bool {
    name == b"script" || name == b"style"
}

fn separate(name: &[u8], text: &mut String, trace: &mut impl Trace) {
    if !FORMATTING.iter().any(|formatting| formatting.as_bytes() == name) {
        text.push(' ');
        trace.wrote_filler(1);
    }
}

/// Reads a text in pieces, and accounts for each.
struct Reader<'a, 'b, 'c> {
    rest: &'a [u8],
    interrupt: &'b Interrupt<'c>,
}

impl<'a> Reader<'a, '_, '_> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (piece, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.interrupt.spend(length);
        piece
    }
}

impl html5gum::Reader for Reader<'_, '_, '_> {
    type Error = Infallible;

    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        Ok((!self.rest.is_empty()).then(|| self.take(1)[0]))
    }

    fn try_read_string(&mut self, wanted: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        let found = self.rest.get(..wanted.len()).is_some_and(|next| {
            if case_sensitive { next == wanted } else { next.eq_ignore_ascii_case(wanted) }
        });
        if found {
            self.take(wanted.len());
        }
        Ok(found)
    }

    fn read_until<'b>(
        &'b mut self,
        needles: &[u8],
        _: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        const PIECE: usize = 4096;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let window = &self.rest[..self.rest.len().min(PIECE)];
        let length = match window.iter().position(|byte| needles.contains(byte)) {
            Some(0) => 1,
            Some(position) => position,
            None => window.len(),
        };
        Ok(Some(self.take(length)))
    }
}
