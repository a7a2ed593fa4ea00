//! The tokens of a normalised text, by any tokenizer.

use crate::base::interrupt::Interrupt;
use crate::config::Tokenizer;
use crate::texts::place::Place;
use crate::words::code::{Style, code};
use crate::words::tokenize::{Cutting, characters, jieba_words, words};

/// Hands every token of `text` to `sink`, with its place in `text`.
pub(crate) fn for_each_token<P: Place>(
    text: &str,
    tokenizer: Tokenizer,
    style: Style,
    cutting: Cutting<'_>,
    interrupt: &Interrupt,
    sink: &mut impl FnMut(&str, P),
) {
    if tokenizer == Tokenizer::Code {
        return code(text, style, cutting, interrupt, sink);
    }
    let sink = &mut |token: &str| sink(token, P::of(text, token));
    match tokenizer {
        Tokenizer::Auto => words::<true>(text, cutting, interrupt, sink),
        Tokenizer::Word => words::<false>(text, cutting, interrupt, sink),
        Tokenizer::Jieba => jieba_words(text, cutting, interrupt, sink),
        Tokenizer::Char => characters(text, interrupt, sink),
        Tokenizer::Code => {}
    }
}
