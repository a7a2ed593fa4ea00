//! Rewrites `near_duplicate(body, $1, 0.9)` for an index on `near_text(body, 0.8)`, such as that of
//! an exclusion constraint.
//!
//! The index serves `near_text(body, 0.8) ~= near_text($1, 0.9)`. `~=` compares by the greater
//! similarity. So it equals the call if the call's similarity is constant and not smaller than the
//! index's. Both configurations must be constant, and may differ only in the numbers that must
//! agree. The operand of `$1` states the call's choice of numbers, which then decides. If the
//! index's value has fewer of them compared, the call stays beside the clause.

use pgrx::{PgList, PgRelation, pg_sys};
use simhash_core::config::Numbers;

use super::objects::{Least, NearObjects};
use super::recipe::{Asked, Call, Recipe, asked};
use super::rows::{beside, made};
use crate::catalog::inheritance::all_inheritors;
use crate::planner::index::{simhash_indexes, without_domain};
use crate::planner::indexed_columns::SearchedColumn;
use crate::planner::measures::{Objects, may_execute_all};
use crate::planner::nodes::{Rewritten, call, operator_clause};
use crate::types::ConfigText;
use crate::types::datum::Encode;

/// The clause that an index on a near_text serves in place of a call. If an index on the other text
/// serves the call itself, the clause goes beside the call, and the planner chooses.
///
/// # Safety
/// `root` is the planner's state, its arrays of relations are set up, and the clause is of its
/// query. `translate` maps an expression of the query to one of a relation with indexes.
pub unsafe fn rewritten(
    root: *mut pg_sys::PlannerInfo,
    clause: *mut pg_sys::Node,
    translate: impl Fn(*mut pg_sys::Node) -> Option<*mut pg_sys::Node>,
) -> Option<Rewritten> {
    // SAFETY: `root` is set up as the caller promises, and `clause` is an expression of its query.
    unsafe {
        let near = Objects::get().near()?;
        let call_of = Call::of(&near.calls(), clause)?;
        let asked_of = call_of.asked()?;
        let similarity = asked_of.least?;
        let found = call_of.texts.map(|text| {
            translate(text).map_or(Found::Nothing, |text| look(root, text, &near, &asked_of))
        });
        let numbers = asked_of.config.config().numbers();
        let says_less = |found: &Found| match found {
            Found::Value(value) => value.compares_less_than(numbers),
            _ => false,
        };
        let is_beside = found.iter().any(|found| matches!(found, Found::Text) || says_less(found));
        let served = found.map(|found| match found {
            Found::Value(value) => Some(value),
            Found::Nothing | Found::Text => None,
        });
        if is_beside && !are_apart(root, &call_of) {
            return None;
        }
        let operator = pg_sys::get_opcode(near.on_values);
        if is_sent_away(root, clause)
            || pg_sys::contain_volatile_functions(clause)
            || !may_execute_all(root, &[near.near_duplicate, near.make, operator])
        {
            return None;
        }
        // One operand must state the similarity that the call asks for. The other one may be an
        // index's own expression.
        let as_indexed = |i: usize, value: Value| with_text(value.expression, call_of.texts[i]);
        let as_asked = |i: usize, beside_value: Value| {
            let is_left =
                beside_value.numbers.is_some() && asked_of.config.config().numbers.is_none();
            let config =
                if is_left { with_numbers(&call_of, &asked_of, numbers) } else { call_of.config };
            let arguments = [call_of.texts[i], call_of.least, config];
            let made = call(near.make, near.value, &arguments);
            if is_beside { beside(&near, made) } else { made }
        };
        let (a, b) = match served {
            [Some(own), Some(other)]
                if (own.similarity == similarity || other.similarity == similarity)
                    && Numbers::of_both(own.numbers, other.numbers).unwrap_or_default()
                        == numbers =>
            {
                (as_indexed(0, own), as_indexed(1, other))
            }
            [Some(own), _] => (as_indexed(0, own), as_asked(1, own)),
            [None, Some(own)] => (as_indexed(1, own), as_asked(0, own)),
            [None, None] => return None,
        };
        let clause = operator_clause(near.on_values, a, b, pg_sys::InvalidOid);
        Some(if is_beside { Rewritten::Beside(clause) } else { Rewritten::Instead(clause) })
    }
}

/// Whether the texts of a call have no relation in common.
unsafe fn are_apart(root: *mut pg_sys::PlannerInfo, call: &Call) -> bool {
    // SAFETY: expressions of the planner's query.
    unsafe {
        let [a, b] = call.texts.map(|text| pg_sys::pull_varnos(root, text));
        !pg_sys::bms_overlap(a, b)
    }
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
    expression: *mut pg_sys::Node,
}

impl Value {
    /// Whether `~=` with this value compares fewer numbers than a call asks for, whatever the other
    /// operand states.
    fn compares_less_than(&self, asked: Numbers) -> bool {
        Numbers::of_both(self.numbers, Some(asked)) != Some(asked)
    }
}

/// The config of a call that leaves the numbers to the default, with the default stated. Otherwise
/// the numbers of an index's value would decide.
unsafe fn with_numbers(call: &Call, asked_of: &Asked<'_>, numbers: Numbers) -> *mut pg_sys::Node {
    let said = ConfigText::with_numbers(asked_of.config.as_str(), Some(numbers));
    // SAFETY: `asked_of` was read from the call's config, so that is a Const. The change is made to
    // a copy.
    unsafe {
        let copy: *mut pg_sys::Const = pg_sys::copyObjectImpl(call.config.cast()).cast();
        (*copy).constvalue = ConfigText::stored(&said).encode();
        copy.cast()
    }
}

/// A call of near_text, with the query's own text in it. In a UNION ALL that is the column of the
/// union, in place of the member's.
unsafe fn with_text(value: *mut pg_sys::Node, text: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: the value is a FuncExpr of near_text, as `made` checked, and a copy.
    unsafe {
        let call = value.cast::<pg_sys::FuncExpr>();
        let mut arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
        arguments.replace_ptr(0, text);
        (*call).args = arguments.into_pg();
        value
    }
}

unsafe fn look(
    root: *mut pg_sys::PlannerInfo,
    text: *mut pg_sys::Node,
    near: &NearObjects,
    asked_of: &Asked<'_>,
) -> Found {
    // SAFETY: the planner's array has as many entries as its size says, and the query has locked
    // its tables.
    unsafe {
        let mut relid = 0;
        if !pg_sys::bms_get_singleton_member(pg_sys::pull_varnos(root, text), &mut relid)
            || relid >= (*root).simple_rel_array_size
        {
            return Found::Nothing;
        }
        let entry = *(*root).simple_rte_array.add(relid as usize);
        if entry.is_null() || (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION {
            return Found::Nothing;
        }
        let table = PgRelation::open((*entry).relid);
        let all = simhash_indexes(&table).into_iter().map(|index| {
            let found = serves(index, relid, text, near, asked_of);
            let rank = match found {
                Found::Nothing => 0,
                Found::Value(_) => 1,
                Found::Text => 2,
            };
            // An index of all rows is better than one that the query may be unable to use.
            (rank + if rank > 0 && is_whole(index) { 2 } else { 0 }, found)
        });
        all.max_by_key(|(rank, _)| *rank).map_or(Found::Nothing, |(_, found)| found)
    }
}

/// Whether an index has all rows and one key column.
unsafe fn is_whole(index: pg_sys::Oid) -> bool {
    // SAFETY: the query has locked the table, and the index is locked while it is read.
    unsafe {
        let rel = PgRelation::with_lock(index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        (*(*rel.as_ptr()).rd_index).indnkeyatts == 1
            && pg_sys::RelationGetIndexPredicate(rel.as_ptr()).is_null()
    }
}

/// The way in which an index of a table serves a text of a call.
unsafe fn serves(
    index: pg_sys::Oid,
    relid: i32,
    text: *mut pg_sys::Node,
    near: &NearObjects,
    asked_of: &Asked<'_>,
) -> Found {
    // SAFETY: the query has locked the table, and the index is locked while it is read.
    unsafe {
        let Some(searched) = SearchedColumn::of(index) else { return Found::Nothing };
        let of_texts = near.is_of_texts(searched.family());
        if !of_texts && !near.is_of_values(searched.family()) {
            return Found::Nothing;
        }
        let rel = PgRelation::with_lock(index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        let has_file = (*(*rel.as_ptr()).rd_rel).relkind == pg_sys::RELKIND_INDEX as i8;
        let serves =
            || !has_file || Recipe::of(index).is_some_and(|recipe| recipe.serves(asked_of));
        let text = without_domain(text);
        if of_texts && searched.attribute != 0 {
            let is_column = pgrx::is_a(text, pg_sys::NodeTag::T_Var)
                && (*text.cast::<pg_sys::Var>()).varattno == searched.attribute;
            return if is_column && serves() { Found::Text } else { Found::Nothing };
        }
        // RelationGetIndexExpressions returns a copy, whose Vars have the range table index 1.
        let expressions = pg_sys::RelationGetIndexExpressions(rel.as_ptr());
        let expressions = PgList::<pg_sys::Node>::from_pg(expressions);
        let Some(indexed) = expressions.get_ptr(searched.expressions) else {
            return Found::Nothing;
        };
        pg_sys::ChangeVarNodes(indexed, 1, relid, 0);
        let is_text = |node| pg_sys::equal(without_domain(node).cast(), text.cast());
        if of_texts {
            return if is_text(indexed) && serves() { Found::Text } else { Found::Nothing };
        }
        let Some([of, own, config]) = made(near, indexed) else { return Found::Nothing };
        let asked = asked(Least::Similarity, own, config);
        let Some(Asked { least: Some(similarity), config, .. }) = asked else {
            return Found::Nothing;
        };
        let serves = is_text(of)
            && ConfigText::same_sets(config.as_str(), asked_of.config.as_str())
            && asked_of.least.is_some_and(|asked| asked >= similarity);
        if serves {
            let numbers = config.config().numbers;
            Found::Value(Value { similarity, numbers, expression: indexed })
        } else {
            Found::Nothing
        }
    }
}

/// Whether another server may execute a clause: one of its tables, or a partition of one, is
/// foreign.
unsafe fn is_sent_away(root: *mut pg_sys::PlannerInfo, clause: *mut pg_sys::Node) -> bool {
    // SAFETY: the planner's array has as many entries as its size says, and one for each range
    // table index in an expression.
    unsafe {
        let numbers = pg_sys::pull_varnos(root, clause);
        (1..(*root).simple_rel_array_size).any(|number| {
            let entry = *(*root).simple_rte_array.add(number as usize);
            if !pg_sys::bms_is_member(number, numbers)
                || (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION
            {
                return false;
            }
            let is_foreign =
                |table| pg_sys::get_rel_relkind(table) as u8 == pg_sys::RELKIND_FOREIGN_TABLE;
            let below = if (*entry).inh {
                all_inheritors((*entry).relid, pg_sys::NoLock)
            } else {
                vec![(*entry).relid]
            };
            below.into_iter().any(is_foreign)
        })
    }
}
