//! Markup is removed. What stays is the text that a reader sees, by the tokenizer of the HTML
//! standard.
//!
//! Tags, comments, doctypes and the contents of `script` and `style` are dropped. Entities are
//! decoded. A tag that only formats (`<b>`, `<a>`, `<span>`, ...) leaves nothing. Any other tag
//! leaves a space: `w<b>or</b>d` is one word, and `<li>one<li>two` is two.

use std::convert::Infallible;

use html5gum::Tokenizer;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};

use crate::interrupt::Interrupt;

/// The elements of phrasing content that a word may run through.
const FORMATTING: [&str; 29] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "u", "wbr",
];

pub(super) fn visible_text(html: &str, interrupt: &Interrupt) -> String {
    let mut text = String::new();
    let mut hidden = false;
    let mut emitter = CallbackEmitter::new(
        |event: CallbackEvent<'_>, _: html5gum::Span<()>| -> Option<Infallible> {
            match event {
                CallbackEvent::OpenStartTag { name } => {
                    hidden = is_hidden(name);
                    separate(name, &mut text);
                }
                CallbackEvent::EndTag { name } => {
                    hidden = hidden && !is_hidden(name);
                    separate(name, &mut text);
                }
                CallbackEvent::String { value } if !hidden => {
                    text.push_str(&String::from_utf8_lossy(value));
                }
                _ => {}
            }
            None
        },
    );
    // Raw text elements are recognised by their names alone.
    emitter.naively_switch_states(true);
    let reader = Reader { rest: html.as_bytes(), interrupt };
    let Ok(()) = Tokenizer::new_with_emitter(reader, emitter).finish();
    text
}

fn is_hidden(name: &[u8]) -> bool {
    name == b"script" || name == b"style"
}

fn separate(name: &[u8], text: &mut String) {
    if !FORMATTING.iter().any(|formatting| formatting.as_bytes() == name) {
        text.push(' ');
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
