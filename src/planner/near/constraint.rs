//! Rewrites `near_duplicate(body, $1, 0.9)` for an index on `near_text(body, 0.8)`, such as that of
//! an exclusion constraint.
//!
//! The index serves `near_text(body, 0.8) ~= near_text($1, 0.9)`. `~=` compares by the greater
//! similarity. So it equals the call if the call's similarity is constant and not smaller than the
//! index's. Both configurations must be constant, and may differ only in the numbers that must
//! agree. The operand of `$1` states the call's choice of numbers, which then decides. If the
//! index's value has fewer of them compared, the call stays beside the clause.

use pgrx::pg_sys;
use simhash_core::config::Numbers;

use super::objects::{Least, NearObjects};
use super::recipe::{Asked, Call, Recipe, asked};
use super::rows::{beside, made};
use crate::catalog::inheritance::all_inheritors;
use crate::planner::expr::Expr;
use crate::planner::measures::{Objects, may_execute_all};
use crate::planner::nodes::{Rewritten, operation};
use crate::planner::root::{Entry, Root};
use crate::planner::table::{TableIndex, indexes_of};
use crate::types::ConfigText;

/// The clause that an index on a near_text serves in place of a call. If an index on the other text
/// serves the call itself, the clause goes beside the call, and the planner chooses. `translate`
/// maps an expression of the query to one of a relation with indexes.
pub fn rewritten(
    root: Root,
    clause: Expr,
    translate: impl Fn(Expr) -> Option<Expr>,
) -> Option<Rewritten> {
    let near = Objects::get().near()?;
    let call = Call::of(near.calls, clause)?;
    let asked_of = call.asked()?;
    asked_of.least?;
    let found = call.texts().map(|text| {
        translate(text).map_or(Found::Nothing, |text| look(root, text, &near, &asked_of))
    });
    let numbers = asked_of.config.config().numbers();
    let is_beside = found.iter().any(|found| match found {
        Found::Nothing => false,
        Found::Text => true,
        Found::Value(value) => value.compares_less_than(numbers),
    });
    let [a, b] = call.texts();
    if is_beside && root.relations_in(a).overlaps(root.relations_in(b)) {
        return None;
    }
    // SAFETY: a catalogue look-up in a transaction.
    let compares = unsafe { pg_sys::get_opcode(near.on_values) };
    if is_sent_away(root, clause)
        || clause.is_volatile()
        || !may_execute_all(root, &[near.calls.function, near.calls.make, compares])
    {
        return None;
    }
    let operands = Operands { near, call, asked: &asked_of, is_beside }.of(found)?;
    // SAFETY: both operands are near_texts.
    let clause =
        unsafe { operation(near.on_values, pg_sys::BOOLOID, operands, pg_sys::InvalidOid) };
    Some(if is_beside { Rewritten::Beside(clause) } else { Rewritten::Instead(clause) })
}

/// The index that is found for a text of a call.
#[derive(Clone, Copy)]
enum Found {
    Nothing,
    /// An index on the text itself.
    Text,
    /// An index on near_text of the text.
    Value(Value),
}

/// A near_text that is indexed.
#[derive(Clone, Copy)]
struct Value {
    similarity: f64,
    numbers: Option<Numbers>,
    /// A copy of the index's call of near_text, with Vars of the query's table.
    expression: Expr,
}

impl Value {
    /// Whether `~=` with this value compares fewer numbers than a call asks for, whatever the other
    /// operand states.
    fn compares_less_than(&self, asked: Numbers) -> bool {
        Numbers::of_both(self.numbers, Some(asked)) != Some(asked)
    }
}

/// Makes the near_texts that a call compares.
struct Operands<'a> {
    near: NearObjects,
    call: Call,
    asked: &'a Asked<'a>,
    /// Whether the clause goes beside the call.
    is_beside: bool,
}

impl Operands<'_> {
    /// One operand must state the similarity that the call asks for. The other one may be an
    /// index's own expression. `None` if no near_text is indexed.
    fn of(&self, found: [Found; 2]) -> Option<[Expr; 2]> {
        let numbers = self.asked.config.config().numbers();
        let served = found.map(|found| match found {
            Found::Value(value) => Some(value),
            Found::Nothing | Found::Text => None,
        });
        Some(match served {
            [Some(a), Some(b)]
                if [a, b].iter().any(|own| Some(own.similarity) == self.asked.least)
                    && Numbers::of_both(a.numbers, b.numbers).unwrap_or_default() == numbers =>
            {
                [self.as_indexed(0, a), self.as_indexed(1, b)]
            }
            [Some(a), _] => [self.as_indexed(0, a), self.as_asked(1, a)],
            [None, Some(b)] => [self.as_indexed(1, b), self.as_asked(0, b)],
            [None, None] => return None,
        })
    }

    /// An index's call of near_text, with the query's own text in it. In a UNION ALL that is the
    /// column of the union, in place of the member's.
    fn as_indexed(&self, text: usize, value: Value) -> Expr {
        let arguments = made(&self.near, value.expression);
        arguments.map_or(value.expression, |[_, similarity, config]| {
            let arguments = [self.call.texts()[text], similarity, config];
            // SAFETY: the arguments are those of a call of near_text, with another text.
            unsafe { value.expression.with_arguments(&arguments) }
        })
    }

    /// A text with what the call asks for. If the call leaves the numbers to the default, the
    /// default is stated where the numbers of the index's value would decide otherwise.
    fn as_asked(&self, text: usize, beside_value: Value) -> Expr {
        let config = &self.asked.config;
        let is_left = beside_value.numbers.is_some() && config.config().numbers.is_none();
        let call = if is_left {
            let numbers = Some(config.config().numbers());
            let said = ConfigText::with_numbers(config.as_str(), numbers);
            self.call.with_config(ConfigText::stored(&said))
        } else {
            self.call
        };
        let made = call.value(text);
        if !self.is_beside {
            return made;
        }
        // SAFETY: the value of a call of near_duplicate is a near_text.
        unsafe { beside(&self.near, made) }
    }
}

/// The best index for a text of a call.
fn look(root: Root, text: Expr, near: &NearObjects, asked_of: &Asked<'_>) -> Found {
    let Some(entry) = root.only_entry(text) else { return Found::Nothing };
    let all = indexes_of(entry).map(|index| {
        let found = serves(&index, text, near, asked_of);
        let rank = match found {
            Found::Nothing => 0,
            Found::Value(_) => 1,
            Found::Text => 2,
        };
        // An index of all rows is better than one that the query may be unable to use.
        (rank + if rank > 0 && index.is_whole() { 2 } else { 0 }, found)
    });
    all.max_by_key(|(rank, _)| *rank).map_or(Found::Nothing, |(_, found)| found)
}

/// The way in which an index of a table serves a text of a call.
fn serves(index: &TableIndex, text: Expr, near: &NearObjects, asked_of: &Asked<'_>) -> Found {
    let (family, text) = (index.searched.family(), text.without_domain());
    if near.calls.is_of_texts(family) {
        let serves = index.is_on(text) && is_recipe_fit(index, asked_of);
        return if serves { Found::Text } else { Found::Nothing };
    }
    let indexed = if near.is_of_values(family) { index.expression() } else { None };
    let value = indexed.and_then(|indexed| value_of(indexed, text, near, asked_of));
    value.map_or(Found::Nothing, Found::Value)
}

/// Whether an index on the text itself was made for what is asked for. A partitioned index has no
/// recipe.
fn is_recipe_fit(index: &TableIndex, asked_of: &Asked<'_>) -> bool {
    // SAFETY: the recipe does not keep the index.
    let recipe = unsafe { index.with_open(Recipe::of) };
    recipe.is_none_or(|recipe| recipe.is_some_and(|recipe| recipe.serves(asked_of)))
}

/// An indexed expression, if it is a near_text of the text that serves the call.
fn value_of(indexed: Expr, text: Expr, near: &NearObjects, asked_of: &Asked<'_>) -> Option<Value> {
    let [of, own, config] = made(near, indexed)?;
    // SAFETY: near_text takes a similarity and a config.
    let Asked { least, config, .. } = unsafe { asked(Least::Similarity, own, config) }?;
    let similarity = least?;
    let serves = of.without_domain().equals(text)
        && ConfigText::same_sets(config.as_str(), asked_of.config.as_str())
        && asked_of.least.is_some_and(|asked| asked >= similarity);
    let numbers = config.config().numbers;
    serves.then_some(Value { similarity, numbers, expression: indexed })
}

/// Whether another server may execute a clause: one of its tables, or a partition of one, is
/// foreign.
fn is_sent_away(root: Root, clause: Expr) -> bool {
    let relations = root.relations_in(clause);
    // SAFETY: a catalogue look-up in a transaction.
    let kind = |table| unsafe { pg_sys::get_rel_relkind(table) } as u8;
    let is_foreign = |entry: Entry| {
        let Some(table) = entry.table() else { return false };
        let below =
            if entry.has_children() { all_inheritors(table, pg_sys::NoLock) } else { vec![table] };
        below.into_iter().any(|table| kind(table) == pg_sys::RELKIND_FOREIGN_TABLE)
    };
    let mut entries = root.numbers().filter(|&number| relations.contains(number));
    entries.any(|number| root.entry(number).is_some_and(is_foreign))
}
