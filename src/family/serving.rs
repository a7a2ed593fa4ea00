//! Which index serves the trigger's search: one that finds every row by its fingerprint or text, at
//! best among the rows of one scope only.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use pgrx::pg_sys;

use super::column::Column;
use super::on::Index;
use crate::am::kind::Kind;
use crate::am::passages::PassageRecipe;
use crate::am::texts::Recipe;
use crate::planner::access_method;
use crate::storage::IndexRel;
use crate::types::{ConfigText, strategy};

/// How texts are near: from which similarity, or by a passage of how many words, and with which
/// config.
#[derive(Clone, Debug)]
pub struct Similar {
    /// 0 if they are searched by passages.
    pub similarity: f64,
    /// How many words in a row near texts have in common, if they are searched by passages.
    pub words: Option<usize>,
    /// The config's canonical form.
    pub config: Rc<str>,
}

impl Similar {
    /// Whether an index of texts finds all such texts.
    fn is_served(&self, index: &Index) -> bool {
        // SAFETY: the index is an open simhash index.
        let (kind, rel) = unsafe { (Kind::of_index(index.raw()), IndexRel::new(index.raw())) };
        let is_of_passages = kind == Kind::Passages;
        if let Some(words) = self.words {
            let serves = |recipe: PassageRecipe| {
                recipe.words <= words && ConfigText::same_tokens(&recipe.config, &self.config)
            };
            return is_of_passages && serves(PassageRecipe::of(rel));
        }
        if is_of_passages {
            return false;
        }
        let recipe = Recipe::of(rel);
        recipe.similarity <= self.similarity && ConfigText::same_sets(&recipe.config, &self.config)
    }

    /// The parts by which two are compared.
    fn parts(&self) -> (u64, Option<usize>, &str) {
        (self.similarity.to_bits(), self.words, &self.config)
    }
}

impl PartialEq for Similar {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Similar {}

impl Hash for Similar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// An index that finds every row by its fingerprint or its text.
#[derive(Clone, Debug)]
pub struct Serving {
    pub index: pg_sys::Oid,
    pub conditions: Vec<Condition>,
}

/// A key column of an index that can be asked for the value of a column of the scope.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The number of the index's column, from 1.
    pub number: pg_sys::AttrNumber,
    /// The position of the column in the scope.
    pub place: usize,
}

/// The index that has to be searched the least: the one with conditions for the most columns of the
/// scope. An index with other columns before the fingerprint comes last, because it has to be
/// searched once for each of their values. Among equals the first one counts.
pub fn best(
    indexes: impl Iterator<Item = Index>,
    searched: &Column,
    scope: &[Column],
    similar: Option<&Similar>,
) -> Option<Serving> {
    let rank = |index: Index| {
        let conditions =
            serves(&index, searched, scope, similar).then(|| conditions(&index, scope))?;
        let others = index.keys() - 1 - conditions.len();
        let rank = (others > 0, Reverse(conditions.len()));
        Some((rank, Serving { index: index.oid(), conditions }))
    };
    indexes.filter_map(rank).min_by_key(|(rank, _)| *rank).map(|(_, serving)| serving)
}

/// All simhash indexes on the searched column that rows are put into, whether they serve the search
/// or not: valid, partial, or being built.
pub fn all(indexes: impl Iterator<Item = Index>, searched: &Column) -> Vec<pg_sys::Oid> {
    let is_one = |index: &Index| {
        index.form().indisready
            && Some(index.method()) == access_method()
            && index.column(index.keys() - 1) == searched.number
    };
    indexes.filter(is_one).map(|index| index.oid()).collect()
}

/// A B-tree that finds every row by its time.
pub fn by_time(mut indexes: impl Iterator<Item = Index>, time: &Column) -> Option<pg_sys::Oid> {
    let serves = |index: &Index| {
        let (family, input) = index.operators(0);
        index.form().indisvalid
            && index.method() == pg_sys::BTREE_AM_OID
            && index.column(0) == time.number
            && input == time.base
            && not_before_of(family, time.base).is_some()
            && index.predicate().is_none()
    };
    indexes.find(serves).map(|index| index.oid())
}

/// The conditions of an index: its key columns that are columns of the scope, with the same
/// equality.
fn conditions(index: &Index, scope: &[Column]) -> Vec<Condition> {
    let condition = |at: usize| {
        let place = scope.iter().position(|column| column.number == index.column(at))?;
        let (family, input) = index.operators(at);
        compares(family, input, &scope[place])
            .then_some(Condition { number: at as pg_sys::AttrNumber + 1, place })
    };
    (0..index.keys() - 1).filter_map(condition).collect()
}

/// Whether the operator family and the column have the same equality. Under a nondeterministic
/// collation they do not: values with different bytes may be equal, and the index compares bytes.
fn compares(family: pg_sys::Oid, input: pg_sys::Oid, column: &Column) -> bool {
    let collation = column.collation;
    // SAFETY: catalogue look-ups.
    unsafe {
        equality(family, input) == Some(column.equality())
            && (collation == pg_sys::InvalidOid || pg_sys::get_collation_isdeterministic(collation))
    }
}

/// Whether a simhash index with the default operator class has the column's equality.
pub fn is_indexable(column: &Column) -> bool {
    let Some(method) = access_method() else { return false };
    // SAFETY: catalogue look-ups.
    unsafe {
        let class = pg_sys::GetDefaultOpClass(column.base, method);
        class != pg_sys::InvalidOid
            && compares(
                pg_sys::get_opclass_family(class),
                pg_sys::get_opclass_input_type(class),
                column,
            )
    }
}

/// Whether the index finds every row of a scope by its fingerprint or text.
fn serves(index: &Index, searched: &Column, scope: &[Column], similar: Option<&Similar>) -> bool {
    // The last key column is searched by distance, or for texts.
    let last = index.keys() - 1;
    let (family, input) = index.operators(last);
    index.form().indisvalid
        && index.column(last) == searched.number
        && Some(index.method()) == access_method()
        // The operator class is one of fingerprints or texts. Those of balls have no equality.
        && (similar.is_some_and(|similar| similar.words.is_some())
            || equality(family, input).is_some())
        // SAFETY: the index is an open simhash index.
        && match (unsafe { Kind::of_index(index.raw()) }.is_of_texts(), similar) {
            (false, None) => true,
            (true, Some(similar)) => similar.is_served(index),
            _ => false,
        }
        && holds_every_row(index, searched, scope)
}

/// The operator of equality of an operator family for a type.
fn equality(family: pg_sys::Oid, input: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: a catalogue look-up.
    let equal =
        unsafe { pg_sys::get_opfamily_member(family, input, input, strategy::EQUAL as i16) };
    (equal != pg_sys::InvalidOid).then_some(equal)
}

/// Whether the index has no predicate, or only `IS NOT NULL` of the fingerprint or of a column of
/// the scope.
fn holds_every_row(index: &Index, searched: &Column, scope: &[Column]) -> bool {
    let Some(predicate) = index.predicate() else { return true };
    // SAFETY: the text is of an expression. Each node is cast only to the type of its tag.
    unsafe {
        let node = pg_sys::stringToNode(predicate.as_ptr()).cast::<pg_sys::Node>();
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_NullTest) {
            return false;
        }
        let test = node.cast::<pg_sys::NullTest>();
        let argument = (*test).arg.cast::<pg_sys::Node>();
        // For a composite value, the test would be about all of its fields.
        (*test).nulltesttype == pg_sys::NullTestType::IS_NOT_NULL
            && !(*test).argisrow
            && pgrx::is_a(argument, pg_sys::NodeTag::T_Var)
            && scope
                .iter()
                .chain([searched])
                .any(|column| (*argument.cast::<pg_sys::Var>()).varattno == column.number)
    }
}

/// The operator `>=` of an operator family for B-trees.
pub fn not_before_of(family: pg_sys::Oid, base: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let strategy = pg_sys::BTGreaterEqualStrategyNumber as i16;
    // SAFETY: a catalogue look-up.
    let operator = unsafe { pg_sys::get_opfamily_member(family, base, base, strategy) };
    (operator != pg_sys::InvalidOid).then_some(operator)
}
