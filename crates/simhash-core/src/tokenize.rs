//! Tokens: the words or characters that features are made of.

use unicode_segmentation::UnicodeSegmentation;

use crate::config::{Config, Tokenizer};
use crate::han;

/// The tokens of a normalised text, in order.
pub fn tokens(text: &str, config: &Config, interrupt: &mut dyn FnMut()) -> Vec<String> {
    interrupt();
    let words = |text: &str| text.unicode_words().map(str::to_owned).collect::<Vec<_>>();
    let jieba = |text: &str| {
        let cut = han::dictionary().cut(text, config.hmm);
        cut.iter()
            .map(|token| token.word.to_owned())
            .filter(|word| word.chars().any(char::is_alphanumeric))
            .collect::<Vec<_>>()
    };
    match config.tokenizer {
        Tokenizer::Word => words(text),
        Tokenizer::Jieba => jieba(text),
        Tokenizer::Char => text.graphemes(true).filter(|g| *g != " ").map(str::to_owned).collect(),
        Tokenizer::Auto => text
            .split_inclusive(|c| !han::is_han(c))
            .flat_map(|part| if part.contains(han::is_han) { jieba(part) } else { words(part) })
            .collect(),
    }
}
