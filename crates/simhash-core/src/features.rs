//! Features: every shingle of k consecutive tokens, stop words left out.

use std::collections::VecDeque;

use crate::config::{Config, StopWords, Weight};
use crate::interrupt::Interrupt;
use crate::levels::Levels;
use crate::stopwords::WordSet;
use crate::tokenize::for_each_token;

/// What stands between the tokens of a shingle; no token holds it.
const SEPARATOR: char = ' ';

/// Cuts normalised texts into features by one configuration.
pub(crate) struct Featurizer {
    /// `None` when no stop word is removed.
    stop_words: Option<WordSet>,
    /// `None` unless features weigh by level.
    levels: Option<Levels>,
    window: Window,
}

impl Featurizer {
    pub(crate) fn new(config: &Config) -> Self {
        Featurizer {
            stop_words: (config.stopwords != StopWords::None)
                .then(|| WordSet::stop_words(config.stopwords, config.normalize)),
            levels: (config.weight == Weight::Level).then(|| Levels::new(config.normalize)),
            window: Window::new(config.shingle),
        }
    }

    /// Hands every token but the stop words to `sink`.
    pub(crate) fn for_each_token(
        &self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str),
    ) {
        match &self.stop_words {
            None => for_each_token(text, config.tokenizer, config.hmm, interrupt, sink),
            Some(stop_words) => for_each_token(text, config.tokenizer, config.hmm, interrupt, &mut |token| {
                if !stop_words.contains(token) {
                    sink(token);
                }
            }),
        }
    }

    /// Hands every feature with its level (0 unless features weigh by level) to `sink`.
    pub(crate) fn for_each_feature(
        &mut self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str, u32),
    ) {
        let mut window = std::mem::take(&mut self.window);
        window.restart(config.shingle);
        let level = |token: &str| self.levels.as_ref().map_or(0, |levels| levels.level(token));
        if config.shingle == 1 {
            self.for_each_token(text, config, interrupt, &mut |token| sink(token, level(token)));
        } else {
            self.for_each_token(text, config, interrupt, &mut |token| window.push(token, level(token), sink));
            window.finish(sink);
        }
        self.window = window;
    }
}

/// The last k tokens, joined, in one buffer.
#[derive(Default)]
struct Window {
    shingle: usize,
    joined: String,
    /// Where each of the last k tokens starts in `joined`, and its level.
    tokens: VecDeque<(usize, u32)>,
}

impl Window {
    fn new(shingle: usize) -> Self {
        Window { shingle, ..Window::default() }
    }

    fn restart(&mut self, shingle: usize) {
        self.shingle = shingle;
        self.joined.clear();
        self.tokens.clear();
    }

    fn push(&mut self, token: &str, level: u32, sink: &mut impl FnMut(&str, u32)) {
        if self.tokens.len() == self.shingle {
            self.tokens.pop_front();
            self.drop_passed();
        }
        if !self.tokens.is_empty() {
            self.joined.push(SEPARATOR);
        }
        self.tokens.push_back((self.joined.len(), level));
        self.joined.push_str(token);
        if self.tokens.len() == self.shingle {
            self.emit(sink);
        }
    }

    /// A text of fewer than k tokens is one shingle of all of them.
    fn finish(&mut self, sink: &mut impl FnMut(&str, u32)) {
        if !self.tokens.is_empty() && self.tokens.len() < self.shingle {
            self.emit(sink);
        }
    }

    fn emit(&self, sink: &mut impl FnMut(&str, u32)) {
        let start = self.tokens.front().map_or(0, |&(start, _)| start);
        let level = self.tokens.iter().map(|&(_, level)| level).max().unwrap_or(0);
        sink(&self.joined[start..], level);
    }

    /// Frees the text before the first token when it is most of the buffer.
    fn drop_passed(&mut self) {
        const SMALL: usize = 64 << 10;
        let first = self.tokens.front().map_or(self.joined.len(), |&(start, _)| start);
        if first > SMALL.max(self.joined.len() / 2) {
            self.joined.drain(..first);
            for (start, _) in &mut self.tokens {
                *start -= first;
            }
        }
    }
}
