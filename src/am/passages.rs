//! Makes the keys of an index of passages, by the index's recipe.
//!
//! The recipe is fixed when the index is built, and is stored on the meta page: the least number of
//! words of a passage, and the config. A key is the lower half of a kept hash. The upper half would
//! be a poor key: the hash is the least of a window, so its upper half is mostly small.

use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_core::passages::{self, WORDS, Window, Winnower};
use simhash_core::{Simhasher, VALUES};
use simhash_index::postings::posting_key;
use simhash_index::{Damage, META_PAGE, Meta, Store};

use super::asked::{Asked, Wanted};
use super::options::Options;
use super::texts::{
    expect_same_values, expect_same_words, lines_of, schema_of, warn_once, words_of,
};
use crate::call::interrupts;
use crate::catalog::Schema;
use crate::models::simhasher_for;
use crate::planner::Expr;
use crate::storage::{IndexRel, meta, note};
use crate::types::datum::Decode;
use crate::types::text::with_text;
use crate::types::{ConfigText, TextPassage};

/// The default of the storage parameter `words`.
pub const DEFAULT_WORDS: usize = 25;

/// How the texts of an index become kept hashes.
#[derive(Clone, Debug, PartialEq)]
pub struct PassageRecipe {
    /// The least number of words of a passage that the index finds.
    pub words: usize,
    /// The canonical text of the config.
    pub config: Rc<str>,
    /// The hashes of the word lists that the config names, one on each line.
    lists: String,
    /// The versions of what made its keys, as `simhash_values()` returns them.
    values: Rc<str>,
}

impl PassageRecipe {
    /// The recipe of a new index of passages. Raises an ERROR if its parameters give none.
    pub fn of_new(rel: IndexRel) -> Self {
        Options::expect_no_blocks(rel);
        Options::expect_no_similarity(rel);
        let words = Options::words(rel).unwrap_or(DEFAULT_WORDS);
        let config: Rc<str> = Options::of_texts(rel).1.as_deref().unwrap_or("{}").into();
        let lists = lists_of(&config, schema_of(rel));
        Self { words, config, lists, values: VALUES.into() }
    }

    /// The recipe of an existing index.
    pub fn of(rel: IndexRel) -> Self {
        let note = note(rel);
        let (config, values, lists) = lines_of(&note);
        let words = meta(rel).rows as usize;
        let is_sound = WORDS.contains(&words);
        if !is_sound || config != "{}" && passages_config(config).is_none() {
            rel.damaged(META_PAGE, &Damage::Other("its recipe for passages is invalid"));
        }
        Self { words, config: config.into(), lists: lists.into(), values: values.into() }
    }

    /// Sets the recipe's numbers in the meta page's content. A posting is made of one kept hash.
    pub fn describe(&self, meta: Meta) -> Meta {
        Meta { bands: 1, rows: self.words as u32, similarity: 0, ..meta }
    }

    /// The note on the meta page: the rest of the recipe.
    pub fn note(&self) -> String {
        format!("{}\n{}\n{}", self.config, self.values, self.lists)
    }

    /// Warns, once in a session, if the storage parameters differ from those that the index was
    /// built with.
    fn warn_of_others(&self, rel: IndexRel) {
        let (words, config) = (Options::words(rel), Options::of_texts(rel).1);
        let is_other = words.is_some_and(|given| given != self.words)
            || config.is_some_and(|given| !ConfigText::same_tokens(&given, &self.config));
        if is_other {
            warn_once(
                rel,
                &format!(
                    "index \"{}\" was built for passages of {} words and the config {}",
                    rel.name(),
                    self.words,
                    self.config
                ),
                "Its storage parameters were changed after the build: REINDEX it to apply them.",
            );
        }
    }

    /// The recipe itself. Raises 55000 unless this library makes the same keys by it.
    pub fn of_same_values(self, rel: IndexRel) -> Self {
        expect_same_values(rel, &self.values);
        self
    }

    /// Whether both recipes cut every text into the same tokens.
    pub fn is_of_same_tokens(&self, other: &Self) -> bool {
        ConfigText::same_tokens(&self.config, &other.config) && self.lists == other.lists
    }

    /// Whether the index's keys can find the rows that meet a clause, as far as the planner knows
    /// its argument.
    ///
    /// # Safety
    /// `clause` is an index qual on the text.
    pub unsafe fn tells(&self, clause: Expr) -> bool {
        // SAFETY: `clause` is an index qual on the text.
        let passage = unsafe { constant_of(clause) };
        passage.is_none_or(|passage| {
            passage.words as usize >= self.words
                && ConfigText::same_tokens(&passage.config, &self.config)
        })
    }

    /// An estimate of how many keys the text of a clause has. If the number of words is unknown, an
    /// index for fewer words can serve more searches, so it gets the smaller estimate, whatever the
    /// text.
    ///
    /// # Safety
    /// `clause` is an index qual on the text.
    pub unsafe fn keys_of(&self, clause: Expr) -> f64 {
        // Two keys from each window, which is half of a passage long.
        let keys = |bytes: usize, words: usize| {
            1.0 + 4.0 * (bytes / BYTES_PER_WORD).saturating_sub(words) as f64 / words as f64
        };
        // SAFETY: `clause` is an index qual on the text.
        match unsafe { constant_of(clause) } {
            Some(passage) => keys(passage.text.len(), self.words),
            None if knows_words(clause) => keys(USUAL_BYTES, self.words),
            None => keys(USUAL_BYTES, *WORDS.start()) + self.words as f64,
        }
    }

    /// Whether the planner knows the number of words in a clause.
    ///
    /// # Safety
    /// `clause` is an index qual on the text.
    pub unsafe fn is_sure_of(&self, clause: Expr) -> bool {
        // SAFETY: `clause` is an index qual on the text.
        unsafe { constant_of(clause) }.is_some() || knows_words(clause)
    }

    /// A tokenizer of texts by this recipe. Raises 55000 if the library makes other keys now, or a
    /// word list is another one than when the index was built.
    ///
    /// # Safety
    /// `rel` is the open index that has this recipe.
    pub unsafe fn simhasher(&self, rel: IndexRel) -> Simhasher {
        let schema = schema_of(rel);
        expect_same_values(rel, &self.values);
        expect_same_words(rel, &self.lists, || lists_of(&self.config, schema));
        simhasher_for(passages::recipe(&ConfigText::config_of(&self.config)), schema)
    }

    pub fn window(&self) -> Window {
        Window::of(self.words).expect("the number of words was checked")
    }
}

/// The assumed length in bytes of a text that the planner does not know, and of a word.
const USUAL_BYTES: usize = 600;
const BYTES_PER_WORD: usize = 6;

/// Whether the right operand of an operator clause is a call with a constant second argument, as
/// text_passage's number of words is.
fn knows_words(clause: Expr) -> bool {
    let call = clause.right_operand().filter(|asked| asked.call().is_some());
    let words = call.and_then(|call| call.argument(1));
    words.is_some_and(Expr::is_constant)
}

/// The right operand of an operator clause, if it is a constant.
///
/// # Safety
/// `clause` is an index qual on a text searched for passages.
unsafe fn constant_of<'a>(clause: Expr) -> Option<TextPassage<'a>> {
    let value = clause.right_operand()?.constant()?.datum();
    // SAFETY: the operator's right-hand type is text_passage, and the constant is not NULL.
    Some(unsafe { TextPassage::decode(value) })
}

fn passages_config(config: &str) -> Option<simhash_core::Config> {
    simhash_core::Config::parse(config).ok()
}

fn lists_of(config: &str, schema: Schema) -> String {
    words_of(&passages::recipe(&ConfigText::config_of(config)).to_string(), schema)
}

/// How many keys one search merges at a time: each is read from two trees.
const TOGETHER: usize = 64;

/// Makes the keys of an index of passages.
pub struct PassageKeys {
    recipe: PassageRecipe,
    simhasher: Simhasher,
    winnower: Winnower,
}

impl PassageKeys {
    pub fn of(rel: IndexRel) -> Self {
        let recipe = PassageRecipe::of(rel);
        recipe.warn_of_others(rel);
        // SAFETY: `rel` is open, and has this recipe.
        let simhasher = unsafe { recipe.simhasher(rel) };
        let winnower = Winnower::new(recipe.window());
        Self { recipe, simhasher, winnower }
    }

    /// The keys of a text, each once, in ascending order. Empty if it has fewer words than a
    /// passage.
    ///
    /// # Safety
    /// `value` is a text, and not NULL.
    pub unsafe fn of_value<F: Key>(&mut self, value: pg_sys::Datum) -> Vec<F> {
        // SAFETY: `value` is a text, and not NULL.
        unsafe { with_text(value, |text| self.of_text(text)) }
    }

    fn of_text<F: Key>(&mut self, text: &str) -> Vec<F> {
        let Self { simhasher, winnower, .. } = self;
        let kept = passages::kept(simhasher, winnower, text, &mut interrupts());
        let mut keys: Vec<F> = kept.iter().map(|kept| key_of(kept.hash)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// What the index has to search for `column && argument`: rows that have one of the keys.
    ///
    /// # Safety
    /// `argument` is a text_passage, and not NULL.
    pub unsafe fn asked<F: Key>(&mut self, argument: pg_sys::Datum) -> Asked<F> {
        let read = |passage: TextPassage<'_>| {
            let own = &self.recipe;
            if (passage.words as usize) < own.words
                || !ConfigText::same_tokens(&passage.config, &own.config)
            {
                return Asked::Everything;
            }
            let keys: Vec<F> = self.of_text(&passage.text);
            if keys.is_empty() {
                return Asked::Nothing;
            }
            let wanted = |keys: &[F]| Wanted { keys: keys.to_vec(), shared: 1 };
            Asked::Keys(keys.chunks(TOGETHER).map(wanted).collect())
        };
        // SAFETY: `argument` is a text_passage, and not NULL.
        unsafe { TextPassage::with(argument, read) }
    }
}

/// The key of a kept hash.
pub fn key_of<F: Key>(hash: u64) -> F {
    posting_key(hash.rotate_left(32))
}
