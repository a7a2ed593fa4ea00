//! Makes the keys of an index of texts, by the index's recipe.
//!
//! The recipe is fixed when the index is built, and is stored on the meta page: the number of bands
//! and of rows in each, the least similarity that they serve, and the config. An index on
//! `near_text(...)` takes it from the expression, any other index from its storage parameters.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::base::key::Key;
use simhash_core::config::recipes::near_recipe;
use simhash_core::config::{Config, Numbers};
use simhash_core::sets::sketch::{LEAST_SIMILARITY, Law, Layout};
use simhash_core::words::lists::WordList;
use simhash_core::{Named, Simhasher, VALUES};
use simhash_index::postings::posting_key;
use simhash_index::{Damage, META_PAGE, Meta, Store};

use super::asked::{Asked, Wanted};
use super::kind::Kind;
use super::options::Options;
use crate::catalog::Schema;
use crate::error::{raise, warn};
use crate::models::sketches::Sketches;
use crate::models::{named, simhasher_for};
use crate::planner::{Constant, Expr, is_near_text, near_text_call};
use crate::storage::{IndexRel, meta, note};
use crate::types::ConfigText;
use crate::types::datum::Decode;
use crate::types::near_text::NearText;
use crate::types::text::with_text;

/// The default of the storage parameter `similarity`.
pub const LEAST_BY_DEFAULT: f64 = 0.5;

/// How the texts of an index become keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The least similarity that the index serves.
    pub similarity: f64,
    /// The canonical text of the config.
    pub config: Rc<str>,
    /// The hashes of the word lists and of the model that the config names, one on each line.
    words: String,
    /// The versions of what made its keys, as `simhash_values()` returns them.
    values: Rc<str>,
}

impl Recipe {
    /// The recipe of a new index of this kind. Raises an ERROR if its parameters or its expression
    /// give none.
    pub fn of_new(rel: IndexRel, kind: Kind) -> Self {
        Options::expect_no_blocks(rel);
        let recipe = if kind == Kind::NearTexts {
            Options::expect_none_of_texts(rel);
            Self::of_expression(rel)
        } else {
            let (similarity, config) = Options::of_texts(rel);
            let similarity = similarity.unwrap_or(LEAST_BY_DEFAULT);
            let config = config.as_deref().unwrap_or("{}").into();
            Self { similarity, config, words: String::new(), values: VALUES.into() }
        };
        let words = words_of(&recipe.config, schema_of(rel));
        let recipe = Self { words, ..recipe };
        if Layout::of(recipe.similarity).is_none() {
            raise_similarity(recipe.similarity)
        }
        recipe
    }

    /// The recipe of an index whose last key column is a call of near_text.
    fn of_expression(rel: IndexRel) -> Self {
        let call = rel.expression(rel.key_columns() - 1);
        // SAFETY: the expression is a copy.
        let call = call.and_then(|call| unsafe { Expr::new(call) });
        let Some((similarity, config)) = call.and_then(constants_of) else {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!(
                    "last key column of index \"{}\" must be a call of near_text with a constant \
                     similarity and a constant config",
                    rel.name()
                ),
                "Use EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=) with the column's name \
                 instead of body.",
            )
        };
        Self { similarity, config: config.into(), words: String::new(), values: VALUES.into() }
    }

    /// The recipe of an existing index.
    pub fn of(rel: IndexRel) -> Self {
        let note = note(rel);
        let (config, values, words) = lines_of(&note);
        let Meta { similarity, bands, rows, .. } = meta(rel);
        let similarity = f64::from_bits(similarity);
        let layout = Layout::of(similarity).map(|layout| (layout.bands, layout.rows));
        let is_sound = layout == Some((bands as usize, rows as usize));
        if !is_sound || config != "{}" && Config::parse(config).is_err() {
            rel.damaged(META_PAGE, &Damage::Other("its recipe for texts is invalid"));
        }
        Self { similarity, config: config.into(), words: words.into(), values: values.into() }
    }

    /// Whether the index's keys can find the rows that meet a clause, as far as the planner knows
    /// its argument.
    pub fn tells(&self, clause: Expr) -> bool {
        let serves = |similarity: f64, config: &str| {
            similarity >= self.similarity && ConfigText::same_sets(config, &self.config)
        };
        let Some(argument) = clause.right_operand() else { return true };
        if let Some((similarity, config)) = constants_of(argument) {
            return serves(similarity, &config);
        }
        let is_near = |constant: &Constant| is_near_text(constant.type_oid());
        let Some(constant) = argument.constant().filter(is_near) else { return true };
        let read = |near: NearText<'_>| serves(near.similarity, &near.config);
        // SAFETY: the constant is a near_text, and not NULL.
        unsafe { NearText::with(constant.datum(), read) }
    }

    /// Sets the recipe's numbers in the meta page's content.
    pub fn describe(&self, meta: Meta) -> Meta {
        let Layout { bands, rows } = self.layout();
        let (bands, rows) = (bands as u32, rows as u32);
        Meta { bands, rows, similarity: self.similarity.to_bits(), ..meta }
    }

    /// The note on the meta page: the rest of the recipe.
    pub fn note(&self) -> String {
        format!("{}\n{}\n{}", self.config, self.values, self.words)
    }

    /// Warns, once in a session, if the storage parameters differ from those that the index was
    /// built with.
    fn warn_of_others(&self, rel: IndexRel, kind: Kind) {
        let (similarity, config) = Options::of_texts(rel);
        let is_other = similarity.is_some_and(|given| given != self.similarity)
            || config.is_some_and(|given| !ConfigText::same_near(&given, &self.config));
        if is_other {
            warn_once(
                rel,
                &format!(
                    "index \"{}\" was built for the similarity {} and the config {}",
                    rel.name(),
                    self.similarity,
                    self.config
                ),
                if kind == Kind::NearTexts {
                    "near_text has its own similarity and config: ALTER INDEX ... RESET \
                     (similarity, config)."
                } else {
                    "Its storage parameters were changed after the build: REINDEX it to apply them."
                },
            );
        }
    }

    /// The recipe itself. Raises 55000 unless this library makes the same keys by it.
    pub fn of_same_values(self, rel: IndexRel) -> Self {
        expect_same_values(rel, &self.values);
        self
    }

    /// Whether the same pairs of texts are near by both recipes, apart from the similarity.
    pub fn is_of_same_texts(&self, other: &Self) -> bool {
        ConfigText::same_near(&self.config, &other.config) && self.words == other.words
    }

    /// The recipe, changed so that these numbers must agree.
    pub fn with_numbers(self, numbers: Numbers) -> Self {
        Self { config: ConfigText::with_numbers(&self.config, Some(numbers)).into(), ..self }
    }

    /// A maker of sets of shingles by this recipe. Raises 55000 as [`expect_same_words`] does.
    ///
    /// # Safety
    /// `rel` is the open index that has this recipe.
    pub unsafe fn simhasher(&self, rel: IndexRel) -> Simhasher {
        let schema = schema_of(rel);
        expect_same_values(rel, &self.values);
        expect_same_words(rel, &self.words, || words_of(&self.config, schema));
        simhasher_for(near_recipe(&ConfigText::config_of(&self.config)), schema)
    }

    /// Whether the config names word lists or a model.
    pub fn names_words(&self) -> bool {
        !self.words.is_empty()
    }

    pub fn layout(&self) -> Layout {
        Layout::of(self.similarity).unwrap_or_else(|| raise_similarity(self.similarity))
    }
}

/// The parts of a note: the config, the versions as `simhash_values()` returns them, and the hashes
/// of word lists and model.
pub(super) fn lines_of(note: &str) -> (&str, &str, &str) {
    let (config, rest) = note.split_once('\n').unwrap_or((note, ""));
    let (values, words) = rest.split_once('\n').unwrap_or((rest, ""));
    (config, values, words)
}

/// Raises 55000 if other rules, another dictionary or other tables made the keys of an index: a
/// search would miss rows.
pub(super) fn expect_same_values(rel: IndexRel, then: &str) {
    if then != VALUES {
        // A version that did not note the values left this line empty, or put the first list there.
        let then = if then.starts_with(|c: char| c.is_ascii_digit()) { then } else { "unknown" };
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "keys of index \"{}\" were made by \"{then}\", but this library makes them by \
                 \"{VALUES}\"",
                rel.name()
            ),
            "The rules, the dictionary or the tables of this library differ: REINDEX the index.",
        )
    }
}

/// Raises 55000 if a word list or the model is not the one that the index was built with: queries
/// would have other keys. `then` and `now` have a line for each of them.
pub(super) fn expect_same_words(rel: IndexRel, then: &str, now: impl FnOnce() -> String) {
    if !then.is_empty() && then != now() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "index \"{}\" was built with another list of words or another model",
                rel.name()
            ),
            "A list or model that its config names was replaced: REINDEX the index.",
        )
    }
}

/// Warns about an index, once in a session.
pub(super) fn warn_once(rel: IndexRel, message: &str, hint: &str) {
    if WARNED.with_borrow_mut(|warned| warned.insert(rel.file())) {
        warn(message, hint);
    }
}

fn raise_similarity(similarity: f64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("similarity {similarity} is out of range"),
        &format!("Allowed: {LEAST_SIMILARITY} to 1."),
    )
}

/// The similarity and the config of a call of near_text, if both are constants.
fn constants_of(call: Expr) -> Option<(f64, String)> {
    let [_, similarity, config] = near_text_call(call)?;
    let (similarity, config) = (similarity.constant()?, config.constant()?);
    // SAFETY: this argument of near_text is a config, and not NULL.
    let config = unsafe { ConfigText::decode(config.datum()) };
    Some((similarity.double(), config.as_str().into()))
}

/// Makes the keys of an index of near texts.
pub struct NearKeys {
    kind: Kind,
    pub recipe: Recipe,
    layout: Layout,
    sketches: Rc<RefCell<Sketches>>,
    made: Vec<u64>,
}

impl NearKeys {
    pub fn of(rel: IndexRel, kind: Kind) -> Self {
        let recipe = Recipe::of(rel);
        recipe.warn_of_others(rel, kind);
        let schema = schema_of(rel);
        expect_same_values(rel, &recipe.values);
        expect_same_words(rel, &recipe.words, || words_of(&recipe.config, schema));
        let layout = recipe.layout();
        let sketches = sketches(&recipe.config, schema);
        Self { kind, recipe, layout, sketches, made: Vec::new() }
    }

    /// The keys of a value of the searched column; empty if its text has no token.
    ///
    /// # Safety
    /// `value` is of the column's type, and not NULL.
    pub unsafe fn of_value<F: Key>(&mut self, value: pg_sys::Datum) -> Vec<F> {
        if self.kind == Kind::Texts {
            // SAFETY: `value` is a text, as the column is, and not NULL.
            return unsafe { with_text(value, |text| self.of_text(text, self.layout.bands)) };
        }
        let read = |near: NearText<'_>| {
            let Recipe { similarity, config, .. } = &self.recipe;
            if near.similarity != *similarity || near.config != **config {
                raise(
                    PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                    format!(
                        "near_text of similarity {} cannot be stored in an index for similarity \
                         {similarity}",
                        near.similarity
                    ),
                    "Similarity and config must be the same for all rows.",
                )
            }
            self.of_text(&near.text, self.layout.bands)
        };
        // SAFETY: `value` is a near_text, as the column is, and not NULL.
        unsafe { NearText::with(value, read) }
    }

    fn of_text<F: Key>(&mut self, text: &str, bands: usize) -> Vec<F> {
        self.sketches.borrow_mut().keys(text, self.layout, &mut self.made);
        self.made.iter().take(bands).map(|&key| posting_key(key)).collect()
    }

    /// What the index has to search for `column ~= argument`, where the argument is a near_text.
    ///
    /// # Safety
    /// `argument` is a near_text, and not NULL.
    pub unsafe fn asked<F: Key>(&mut self, argument: pg_sys::Datum) -> Asked<F> {
        let least = if self.kind == Kind::NearTexts { self.recipe.similarity } else { 0.0 };
        let read = |near: NearText<'_>| {
            self.asked_at(&near.text, near.similarity.max(least), &near.config)
        };
        // SAFETY: `argument` is a near_text, and not NULL.
        unsafe { NearText::with(argument, read) }
    }

    /// What the index has to search for `column ~= argument`, where the argument is a text.
    ///
    /// # Safety
    /// `argument` is a text, and not NULL.
    pub unsafe fn asked_by_text<F: Key>(&mut self, argument: pg_sys::Datum) -> Asked<F> {
        let Recipe { similarity, config, .. } = self.recipe.clone();
        // SAFETY: `argument` is a text, and not NULL.
        unsafe { with_text(argument, |text| self.asked_at(text, similarity, &config)) }
    }

    /// What the index has to search for `column = argument`. Texts of equal bytes have equal keys.
    /// Under a nondeterministic collation other texts are equal too.
    ///
    /// # Safety
    /// `argument` is a text, and not NULL.
    pub unsafe fn asked_equal<F: Key>(
        &mut self,
        argument: pg_sys::Datum,
        collation: pg_sys::Oid,
    ) -> Asked<F> {
        // SAFETY: a catalogue look-up in a transaction.
        let is_deterministic = collation == pg_sys::InvalidOid
            || unsafe { pg_sys::get_collation_isdeterministic(collation) };
        if !is_deterministic {
            return Asked::Everything;
        }
        let bands = self.layout.bands;
        // SAFETY: `argument` is a text, and not NULL.
        let keys: Vec<F> = unsafe { with_text(argument, |text| self.of_text(text, bands)) };
        if keys.is_empty() {
            return Asked::Everything;
        }
        // Equal texts share all keys, so a few suffice.
        let shared = keys.len().min(4);
        Asked::Keys(vec![Wanted { keys: keys.into_iter().take(4).collect(), shared }])
    }

    fn asked_at<F: Key>(&mut self, text: &str, similarity: f64, config: &str) -> Asked<F> {
        let Some(law) = Law::of(similarity) else { raise_similarity(similarity) };
        let own = &self.recipe;
        if similarity < own.similarity || !ConfigText::same_sets(config, &own.config) {
            return Asked::Everything;
        }
        let keys: Vec<F> = self.of_text(text, law.bands);
        if keys.is_empty() {
            return Asked::Nothing;
        }
        Asked::Keys(vec![Wanted { keys, shared: law.shared }])
    }
}

/// The extension's schema, a config, and what makes sketches by it.
type Last = (Schema, Rc<str>, Rc<RefCell<Sketches>>);

thread_local! {
    /// The files of indexes for which this session has given the warning.
    static WARNED: RefCell<HashSet<(pg_sys::Oid, u32)>> = RefCell::default();
    /// The maker of sketches that was used last. One whose config names a word list or a model is
    /// not kept, since these may be replaced.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The maker of sketches by a config.
fn sketches(config: &Rc<str>, schema: Schema) -> Rc<RefCell<Sketches>> {
    let known = LAST.with_borrow(|last| {
        let last = last.as_ref().filter(|(of, known, _)| *of == schema && known == config);
        last.map(|(.., sketches)| sketches.clone())
    });
    known.unwrap_or_else(|| {
        let read = ConfigText::config_of(config);
        let sketches = Rc::new(RefCell::new(Sketches::new(&read, schema)));
        if !near_recipe(&read).names_something() {
            LAST.set(Some((schema, config.clone(), sketches.clone())));
        }
        sketches
    })
}

/// The extension's schema: that of the support function of an index's last key column.
pub(super) fn schema_of(rel: IndexRel) -> Schema {
    let function = rel.support_function(rel.key_columns() - 1);
    // SAFETY: PostgreSQL keeps the function in the open index's cache entry.
    let function = function.map_or(pg_sys::InvalidOid, |function| unsafe { (*function).fn_oid });
    Schema::of_function(function)
}

/// The hashes of the word lists and of the model that a config names, one on each line.
pub(super) fn words_of(config: &str, schema: Schema) -> String {
    let config = near_recipe(&ConfigText::config_of(config));
    // SAFETY: a variable that is set when the server starts. See `ambuild`.
    if !config.names_something() || unsafe { pg_sys::IsBinaryUpgrade } {
        return String::new();
    }
    let Named { dictionary, stop_words, model } = named(&config, schema);
    let model = model.map(|model| format!("model {}\n", model.content_hash()));
    let lists = [("dictionary", dictionary), ("stopwords", stop_words)];
    let line = |(kind, list): (&str, Option<Arc<WordList>>)| {
        list.map(|list| format!("{kind} {}\n", list.content_hash()))
    };
    lists.into_iter().filter_map(line).chain(model).collect()
}
