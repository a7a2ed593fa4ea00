//! Features: the shingles of k consecutive tokens without the stop words, for one or several k. Or
//! spots, which begin with stop words ([`crate::features::spots`]).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::interrupt::Interrupt;
use crate::config::{Config, Shingles, Spots, StopList, StopWords, Weight};
use crate::features::levels::Levels;
use crate::features::spots::Chains;
use crate::texts::han::is_han;
use crate::texts::place::Place;
use crate::words::code::Style;
use crate::words::lists::{Dictionary, WordList};
use crate::words::phrases::Joiner;
use crate::words::stopwords::{WordSet, is_number};
use crate::words::tokenize::{Cutting, SEPARATOR};
use crate::words::tokens::for_each_token;

/// One occurrence of a feature.
#[derive(Clone, Copy)]
pub(crate) struct Occurrence<'a> {
    /// The token, or the tokens with one space between them.
    pub(crate) text: &'a str,
    /// The level; 0 unless features are weighed by level.
    pub(crate) level: u32,
    /// The index of its size among the configuration's sizes of shingles.
    pub(crate) size: usize,
}

/// Whether a token is one character that is not Han.
fn is_letter(token: &str) -> bool {
    let mut chars = token.chars();
    chars.next().is_some_and(|c| !is_han(c)) && chars.next().is_none()
}

/// Cuts normalised texts into features by one configuration.
pub(crate) struct Featurizer {
    /// The user's dictionary, if there is one.
    dictionary: Option<Arc<Dictionary>>,
    /// `None` if no stop word is removed.
    stop_words: Option<WordSet>,
    /// `None` unless features are weighed by level.
    levels: Option<Levels>,
    window: Window,
    chains: Chains,
}

impl Featurizer {
    /// Makes one for `config`. `dictionary` and `stop_words` are the lists that it names.
    pub(crate) fn new(
        config: &Config,
        dictionary: Option<&WordList>,
        stop_words: Option<&WordList>,
        interrupt: &Interrupt,
    ) -> Self {
        let steps = config.normalize;
        Featurizer {
            dictionary: dictionary.map(|list| list.dictionary(config, interrupt)),
            stop_words: match config.stopwords {
                StopWords::Of(StopList::None) => None,
                StopWords::Of(list) => Some(WordSet::stop_words(list, steps)),
                StopWords::Named(_) => stop_words.map(|list| WordSet::own(list, steps, interrupt)),
            },
            levels: (config.weight == Weight::Level).then(|| Levels::new(config.normalize)),
            window: Window::new(config.shingles()),
            chains: Chains::default(),
        }
    }

    /// Passes every token that is not a stop word to `sink`.
    pub(crate) fn for_each_token(
        &self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str),
    ) {
        self.for_each_placed_token(text, config, interrupt, &mut |token, ()| sink(token));
    }

    /// Passes every token that is not a stop word to `sink`, with its place in `text`.
    pub(crate) fn for_each_placed_token<P: Place>(
        &self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str, P),
    ) {
        self.for_each_told_apart(text, config, interrupt, &mut |token, place, is_stop_word| {
            if !is_stop_word {
                sink(token, place);
            }
        });
    }

    /// Passes every token to `sink`, with whether it is a stop word. A single letter beside a
    /// number is never a stop word: it is half of A4 or i7.
    fn for_each_told_apart<P: Place>(
        &self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str, P, bool),
    ) {
        let Some(stop_words) = &self.stop_words else {
            return self.for_each_word(text, config, interrupt, &mut |token, place| {
                sink(token, place, false);
            });
        };
        // A stop word of one letter, held back until it is known whether a number follows.
        let mut letter = String::new();
        let mut waiting: Option<P> = None;
        let mut after_number = false;
        self.for_each_word(text, config, interrupt, &mut |token, place: P| {
            let is_number = is_number(token);
            if let Some(place) = waiting.take() {
                sink(&letter, place, !is_number);
            }
            if !stop_words.contains(token) || after_number && is_letter(token) {
                sink(token, place, false);
            } else if is_letter(token) {
                letter.clear();
                letter.push_str(token);
                waiting = Some(place);
            } else {
                sink(token, place, true);
            }
            after_number = is_number;
        });
        if let Some(place) = waiting {
            sink(&letter, place, true);
        }
    }

    /// Passes every token to `sink`, including stop words.
    fn for_each_word<P: Place>(
        &self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(&str, P),
    ) {
        let dictionary = self.dictionary.as_deref();
        let style = Style::of(config);
        let cutting = Cutting {
            hmm: config.hmm,
            words: dictionary.and_then(|dictionary| dictionary.han.as_ref()),
            whole: dictionary.and_then(|dictionary| dictionary.whole.as_ref()),
        };
        match dictionary.and_then(|dictionary| dictionary.phrases.as_ref()) {
            None => for_each_token(text, config.tokenizer, style, cutting, interrupt, sink),
            Some(phrases) => {
                let mut joiner = Joiner::new(phrases, interrupt);
                for_each_token(
                    text,
                    config.tokenizer,
                    style,
                    cutting,
                    interrupt,
                    &mut |token, place| {
                        joiner.push(token, place, sink);
                    },
                );
                joiner.finish(sink);
            }
        }
    }

    /// Passes every feature to `sink`, ordered by its last token, and shorter ones first.
    pub(crate) fn for_each_feature(
        &mut self,
        text: &str,
        config: &Config,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(Occurrence<'_>),
    ) {
        if let Some(spots) = config.spots {
            return self.for_each_spot(text, config, spots, interrupt, sink);
        }
        let mut window = std::mem::take(&mut self.window);
        window.restart(config.shingles());
        let level = |token: &str| self.level(token);
        if config.shingles() == Shingles::TOKENS {
            self.for_each_token(text, config, interrupt, &mut |token| {
                sink(Occurrence { text: token, level: level(token), size: 0 });
            });
        } else {
            self.for_each_token(text, config, interrupt, &mut |token| {
                window.push(token, level(token), sink);
            });
            window.finish(sink);
        }
        self.window = window;
    }

    /// Passes every spot to `sink`, ordered by its last token.
    fn for_each_spot(
        &mut self,
        text: &str,
        config: &Config,
        spots: Spots,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(Occurrence<'_>),
    ) {
        let mut chains = std::mem::take(&mut self.chains);
        chains.restart();
        let level = |token: &str| self.level(token);
        self.for_each_told_apart(text, config, interrupt, &mut |token, (), is_stop_word| {
            if is_stop_word {
                chains.push_stop_word(token);
            } else {
                chains.push(token, spots, &level, interrupt, &mut |text, level| {
                    sink(Occurrence { text, level, size: 0 });
                });
            }
        });
        self.chains = chains;
    }

    /// The level of a token; 0 unless features are weighed by level.
    fn level(&self, token: &str) -> u32 {
        self.levels.as_ref().map_or(0, |levels| levels.level(token))
    }
}

/// The last tokens, as many as the longest shingle has, joined in one buffer.
struct Window {
    shingles: Shingles,
    longest: usize,
    joined: String,
    /// The start of each of the last tokens in `joined`, and its level.
    tokens: VecDeque<(usize, u32)>,
}

impl Default for Window {
    fn default() -> Self {
        Window::new(Shingles::TOKENS)
    }
}

impl Window {
    fn new(shingles: Shingles) -> Self {
        Window {
            shingles,
            longest: shingles.longest(),
            joined: String::new(),
            tokens: VecDeque::new(),
        }
    }

    fn restart(&mut self, shingles: Shingles) {
        self.shingles = shingles;
        self.longest = shingles.longest();
        self.joined.clear();
        self.tokens.clear();
    }

    fn push(&mut self, token: &str, level: u32, sink: &mut impl FnMut(Occurrence<'_>)) {
        if self.tokens.len() == self.longest {
            self.tokens.pop_front();
            self.drop_passed();
        }
        if !self.tokens.is_empty() {
            self.joined.push(SEPARATOR);
        }
        self.tokens.push_back((self.joined.len(), level));
        self.joined.push_str(token);
        for (place, size) in
            self.shingles.iter().enumerate().take_while(|&(_, size)| size <= self.tokens.len())
        {
            self.emit(size, place, sink);
        }
    }

    /// Makes one shingle of all tokens if a text has fewer than the shortest shingle.
    fn finish(&mut self, sink: &mut impl FnMut(Occurrence<'_>)) {
        if !self.tokens.is_empty() && self.tokens.len() < self.shingles.shortest() {
            self.emit(self.tokens.len(), 0, sink);
        }
    }

    /// Passes the shingle of the last `tokens` tokens to `sink`.
    fn emit(&self, tokens: usize, size: usize, sink: &mut impl FnMut(Occurrence<'_>)) {
        let of_it = self.tokens.range(self.tokens.len() - tokens..);
        let start = of_it.clone().next().map_or(0, |&(start, _)| start);
        let level = of_it.map(|&(_, level)| level).max().unwrap_or(0);
        sink(Occurrence { text: &self.joined[start..], level, size });
    }

    /// Frees the text before the first token once it is more than half of the buffer.
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
