//! Indexes of texts: by which recipe a text becomes keys, and the keys of a value.
//!
//! The recipe is fixed when the index is built, and stands on its meta page: how many bands of how
//! many rows, the least similarity that they serve, and the config. An index on `near_text(...)`
//! takes it from the expression, another one from its storage parameters.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use pgrx::{PgList, PgSqlErrorCode, pg_sys};
use simhash_core::base::key::Key;
use simhash_core::config::recipes::near_recipe;
use simhash_core::config::{Config, Numbers};
use simhash_core::sets::sketch::{LEAST_SIMILARITY, Law, Layout};
use simhash_core::words::lists::WordList;
use simhash_core::{Named, Simhasher, VALUES};
use simhash_index::postings::posting_key;
use simhash_index::{Damage, META_PAGE, Meta, Store};

use super::asked::{Asked, Wanted};
use super::kind::{Kind, key_columns};
use super::options::Options;
use crate::catalog::Schema;
use crate::error::{raise, warn};
use crate::models::sketches::Sketches;
use crate::models::{named, simhasher_for};
use crate::storage::{IndexRel, meta, note};
use crate::types::ConfigText;
use crate::types::datum::Decode;
use crate::types::near_text::NearText;
use crate::types::text::with_text;

/// The least similarity that an index serves if it does not say.
pub const DEFAULT_SIMILARITY: f64 = 0.5;

/// How the texts of an index become keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The least similarity that it serves.
    pub similarity: f64,
    /// The canonical text of the config.
    pub config: Rc<str>,
    /// The hashes of the lists of words and of the model that the config names, a line for each.
    words: String,
    /// What its keys were made by, as `simhash_values` says it.
    values: Rc<str>,
}

impl Recipe {
    /// That of a new index. Raises an ERROR if its parameters or its expression are no recipe.
    ///
    /// # Safety
    /// The index is open, its last key column of this kind.
    pub unsafe fn of_new(rel: IndexRel, kind: Kind) -> Self {
        // SAFETY: as this function's.
        let recipe = unsafe {
            Options::expect_no_blocks(rel);
            if kind == Kind::NearTexts {
                Options::expect_none_of_texts(rel);
                Self::of_expression(rel)
            } else {
                let (similarity, config) = Options::of_texts(rel);
                let similarity = similarity.unwrap_or(DEFAULT_SIMILARITY);
                let config = config.as_deref().unwrap_or("{}").into();
                Self { similarity, config, words: String::new(), values: VALUES.into() }
            }
        };
        // SAFETY: as this function's.
        let words = words_of(&recipe.config, unsafe { schema_of(rel) });
        let recipe = Self { words, ..recipe };
        if Layout::of(recipe.similarity).is_none() {
            raise_similarity(recipe.similarity)
        }
        recipe
    }

    /// That of the call of near_text which the index is on.
    unsafe fn of_expression(rel: IndexRel) -> Self {
        // SAFETY: the caller's index is open; the expressions are copies.
        let found = unsafe {
            let expressions = pg_sys::RelationGetIndexExpressions(rel.as_ptr());
            let expressions = PgList::<pg_sys::Node>::from_pg(expressions);
            let last = key_columns(rel.as_ptr()) - 1;
            let attribute = |i: usize| *(*(*rel.as_ptr()).rd_index).indkey.values.as_ptr().add(i);
            let number = (0..last).filter(|&i| attribute(i) == 0).count();
            let call = expressions.get_ptr(number).filter(|_| attribute(last) == 0);
            call.and_then(|call| constants_of(call))
        };
        let Some((similarity, config)) = found else {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!(
                    "the last column of index \"{}\" is no call of near_text with a constant \
                     similarity and a constant config",
                    rel.name()
                ),
                "Write EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=) with the name of the \
                 column.",
            )
        };
        Self { similarity, config: config.into(), words: String::new(), values: VALUES.into() }
    }

    /// That of an index that is there.
    pub fn of(rel: IndexRel) -> Self {
        let note = note(rel);
        let (config, values, words) = lines_of(&note);
        let Meta { similarity, bands, rows, .. } = meta(rel);
        let similarity = f64::from_bits(similarity);
        let layout = Layout::of(similarity).map(|layout| (layout.bands, layout.rows));
        let is_sound = layout == Some((bands as usize, rows as usize));
        if !is_sound || config != "{}" && Config::parse(config).is_err() {
            rel.damaged(META_PAGE, &Damage::Other("its recipe for texts is impossible"));
        }
        Self { similarity, config: config.into(), words: words.into(), values: values.into() }
    }

    /// Whether the keys tell, as far as one can know while planning, which rows may meet a clause.
    ///
    /// # Safety
    /// An index qual.
    pub unsafe fn tells(&self, clause: *mut pg_sys::Node) -> bool {
        // SAFETY: as this function's; a node is cast only to the type its tag says, a constant
        // read by its type.
        unsafe {
            if !pgrx::is_a(clause, pg_sys::NodeTag::T_OpExpr) {
                return true;
            }
            let arguments =
                PgList::<pg_sys::Node>::from_pg((*clause.cast::<pg_sys::OpExpr>()).args);
            let Some(argument) = arguments.get_ptr(1) else { return true };
            if let Some((similarity, config)) = constants_of(argument) {
                return similarity >= self.similarity
                    && ConfigText::same_sets(&config, &self.config);
            }
            let constant = argument.cast::<pg_sys::Const>();
            let is_known =
                pgrx::is_a(argument, pg_sys::NodeTag::T_Const) && !(*constant).constisnull;
            let is_text = |oid| matches!(oid, pg_sys::TEXTOID | pg_sys::VARCHAROID);
            if !is_known || is_text((*constant).consttype) {
                return true;
            }
            NearText::with((*constant).constvalue, |near| {
                near.similarity >= self.similarity
                    && ConfigText::same_sets(&near.config, &self.config)
            })
        }
    }

    /// What the meta page says of it, in numbers.
    pub fn describe(&self, meta: Meta) -> Meta {
        let Layout { bands, rows } = self.layout();
        let (bands, rows) = (bands as u32, rows as u32);
        Meta { bands, rows, similarity: self.similarity.to_bits(), ..meta }
    }

    /// What it says beside.
    pub fn note(&self) -> String {
        format!("{}\n{}\n{}", self.config, self.values, self.words)
    }

    /// Says once in a session that the storage parameters are others than the index was built with.
    ///
    /// # Safety
    /// The index is open.
    unsafe fn warn_of_others(&self, rel: IndexRel, kind: Kind) {
        // SAFETY: as this function's.
        let (similarity, config) = unsafe { Options::of_texts(rel) };
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
                    "near_text says its own similarity and config: ALTER INDEX ... RESET \
                     (similarity, config)."
                } else {
                    "Its storage parameters were changed since: REINDEX it to have them used."
                },
            );
        }
    }

    /// The recipe, by which this library makes the keys of the index. Raises 55000 if not.
    pub fn of_same_values(self, rel: IndexRel) -> Self {
        expect_same_values(rel, &self.values);
        self
    }

    /// Whether texts are near each other by both if they are by one.
    pub fn is_of_same_texts(&self, other: &Self) -> bool {
        ConfigText::same_near(&self.config, &other.config) && self.words == other.words
    }

    /// The recipe, by which these numbers must agree.
    pub fn with_numbers(self, numbers: Numbers) -> Self {
        Self { config: ConfigText::with_numbers(&self.config, Some(numbers)).into(), ..self }
    }

    /// What makes sets of shingles by this recipe of an index. Raises 55000 as
    /// [`expect_same_words`] does.
    ///
    /// # Safety
    /// The index is open.
    pub unsafe fn simhasher(&self, rel: IndexRel) -> Simhasher {
        // SAFETY: as this function's.
        let schema = unsafe { schema_of(rel) };
        expect_same_values(rel, &self.values);
        expect_same_words(rel, &self.words, || words_of(&self.config, schema));
        simhasher_for(near_recipe(&ConfigText::config_of(&self.config)), schema)
    }

    /// Whether the config names lists of words, or a model.
    pub fn names_words(&self) -> bool {
        !self.words.is_empty()
    }

    pub fn layout(&self) -> Layout {
        Layout::of(self.similarity).unwrap_or_else(|| raise_similarity(self.similarity))
    }
}

/// The lines of a note: the config, what values are made by, and the lists that the config names.
pub(super) fn lines_of(note: &str) -> (&str, &str, &str) {
    let (config, rest) = note.split_once('\n').unwrap_or((note, ""));
    let (values, words) = rest.split_once('\n').unwrap_or((rest, ""));
    (config, values, words)
}

/// Raises 55000 if the keys of an index were made by other rules, another dictionary, or other
/// tables: it would find too few rows.
pub(super) fn expect_same_values(rel: IndexRel, then: &str) {
    if then != VALUES {
        // A version that did not note it has nothing there, or the first list.
        let then = if then.starts_with(|c: char| c.is_ascii_digit()) { then } else { "unknown" };
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "the keys of index \"{}\" were made by \"{then}\", and are made by \"{VALUES}\" \
                 now",
                rel.name()
            ),
            "This library has other rules, another dictionary or other tables: REINDEX it.",
        )
    }
}

/// Raises 55000 if a list of words, or the model, is not the one that the index was built with:
/// its keys would not be those of the queries. `then` and `now` have a line for each of them.
pub(super) fn expect_same_words(rel: IndexRel, then: &str, now: impl FnOnce() -> String) {
    if !then.is_empty() && then != now() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("index \"{}\" was built with another list of words or model", rel.name()),
            "What its config names was made anew: REINDEX it.",
        )
    }
}

/// Says something of an index once in a session.
pub(super) fn warn_once(rel: IndexRel, message: &str, hint: &str) {
    if WARNED.with_borrow_mut(|warned| warned.insert(rel.file())) {
        warn(message, hint);
    }
}

fn raise_similarity(similarity: f64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("the similarity {similarity} is out of range"),
        &format!("Allowed: {LEAST_SIMILARITY} to 1."),
    )
}

/// The similarity and the config of a call of near_text, if both are constants.
///
/// # Safety
/// An expression.
unsafe fn constants_of(call: *mut pg_sys::Node) -> Option<(f64, String)> {
    // SAFETY: a node is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(call, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let arguments = PgList::<pg_sys::Node>::from_pg((*call.cast::<pg_sys::FuncExpr>()).args);
        let constant = |i: usize| {
            let node = arguments.get_ptr(i)?;
            let constant = node.cast::<pg_sys::Const>();
            (pgrx::is_a(node, pg_sys::NodeTag::T_Const) && !(*constant).constisnull)
                .then(|| ((*constant).consttype, (*constant).constvalue))
        };
        let (number, similarity) = constant(1)?;
        let (_, config) = constant(2)?;
        let is_call = arguments.len() == 3 && number == pg_sys::FLOAT8OID;
        is_call.then(|| {
            (f64::from_bits(similarity.value() as u64), ConfigText::decode(config).as_str().into())
        })
    }
}

/// What makes the keys of an index's texts.
pub struct NearKeys {
    kind: Kind,
    pub recipe: Recipe,
    layout: Layout,
    sketches: Rc<RefCell<Sketches>>,
    made: Vec<u64>,
}

impl NearKeys {
    /// # Safety
    /// The index is open, and is of texts.
    pub unsafe fn of(rel: IndexRel, kind: Kind) -> Self {
        let recipe = Recipe::of(rel);
        // SAFETY: as this function's.
        unsafe { recipe.warn_of_others(rel, kind) };
        // SAFETY: as this function's.
        let schema = unsafe { schema_of(rel) };
        expect_same_values(rel, &recipe.values);
        expect_same_words(rel, &recipe.words, || words_of(&recipe.config, schema));
        let layout = recipe.layout();
        let sketches = sketches(&recipe.config, schema);
        Self { kind, recipe, layout, sketches, made: Vec::new() }
    }

    /// The keys of a value of the indexed column. None if its text has no token.
    ///
    /// # Safety
    /// The value is of the column's type, and not NULL.
    pub unsafe fn of_value<F: Key>(&mut self, value: pg_sys::Datum) -> Vec<F> {
        if self.kind == Kind::Texts {
            // SAFETY: as this function's.
            return unsafe { with_text(value, |text| self.of_text(text, self.layout.bands)) };
        }
        // SAFETY: as this function's.
        unsafe {
            NearText::with(value, |near| {
                let Recipe { similarity, config, .. } = &self.recipe;
                if near.similarity != *similarity || near.config != **config {
                    raise(
                        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                        format!(
                            "a near_text of similarity {} does not belong into an index for \
                             {similarity}",
                            near.similarity
                        ),
                        "Similarity and config are the same for all rows.",
                    )
                }
                self.of_text(&near.text, self.layout.bands)
            })
        }
    }

    fn of_text<F: Key>(&mut self, text: &str, bands: usize) -> Vec<F> {
        self.sketches.borrow_mut().keys(text, self.layout, &mut self.made);
        self.made.iter().take(bands).map(|&key| posting_key(key)).collect()
    }

    /// What `column ~= argument` asks for.
    ///
    /// # Safety
    /// The argument is a near_text, and not NULL.
    pub unsafe fn asked<F: Key>(&mut self, argument: pg_sys::Datum) -> Asked<F> {
        let least = if self.kind == Kind::NearTexts { self.recipe.similarity } else { 0.0 };
        // SAFETY: as this function's.
        unsafe {
            NearText::with(argument, |near| {
                self.asked_at(&near.text, near.similarity.max(least), &near.config)
            })
        }
    }

    /// What `column ~= argument` asks for, where the argument is a text.
    ///
    /// # Safety
    /// The argument is a text, and not NULL.
    pub unsafe fn asked_by_text<F: Key>(&mut self, argument: pg_sys::Datum) -> Asked<F> {
        let Recipe { similarity, config, .. } = self.recipe.clone();
        // SAFETY: as this function's.
        unsafe { with_text(argument, |text| self.asked_at(text, similarity, &config)) }
    }

    /// What `column = argument` asks for: texts of equal bytes have equal keys. Under other
    /// collations than deterministic ones, others are equal too.
    ///
    /// # Safety
    /// The argument is a text, and not NULL.
    pub unsafe fn asked_equal<F: Key>(
        &mut self,
        argument: pg_sys::Datum,
        collation: pg_sys::Oid,
    ) -> Asked<F> {
        // SAFETY: a catalogue look-up.
        let is_deterministic = collation == pg_sys::InvalidOid
            || unsafe { pg_sys::get_collation_isdeterministic(collation) };
        if !is_deterministic {
            return Asked::Everything;
        }
        let bands = self.layout.bands;
        // SAFETY: as this function's.
        let keys: Vec<F> = unsafe { with_text(argument, |text| self.of_text(text, bands)) };
        if keys.is_empty() {
            return Asked::Everything;
        }
        // Fewer would do as well: equal texts share all.
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

/// What makes sketches, its config and the extension's schema.
type Last = (Schema, Rc<str>, Rc<RefCell<Sketches>>);

thread_local! {
    /// Files of indexes of which was said that their parameters have changed.
    static WARNED: RefCell<HashSet<(pg_sys::Oid, u32)>> = RefCell::default();
    /// That of the config that was asked for last, if it names no list of words and no model: those
    /// may be made anew.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// What makes sketches by a config.
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

/// The extension's schema.
///
/// # Safety
/// The index is open. Its last key column has a support function, of ours.
pub(super) unsafe fn schema_of(rel: IndexRel) -> Schema {
    // SAFETY: as this function's.
    unsafe {
        let column = key_columns(rel.as_ptr()) as pg_sys::AttrNumber;
        let function = pg_sys::index_getprocinfo(rel.as_ptr(), column, 1);
        Schema::of_function((*function).fn_oid)
    }
}

/// The hashes of the lists of words and of the model that a config names, a line for each.
pub(super) fn words_of(config: &str, schema: Schema) -> String {
    let config = near_recipe(&ConfigText::config_of(config));
    if !config.names_something() {
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
