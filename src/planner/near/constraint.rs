//! `near_duplicate(body, $1, 0.9)` by an index on `near_text(body, 0.8)`, as an exclusion
//! constraint has one.
//!
//! The index finds what `near_text(body, 0.8) ~= near_text($1, 0.9)` asks for. The greater
//! similarity decides, so that is the call, if the call's similarity is known and not smaller than
//! the index's. Configurations must be constant, and equal but for which numbers must agree. The
//! call's argument says that, so that it decides, unless the index's texts are compared by less:
//! then the call stands beside.

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

/// What an index on a near_text serves, in the place of a call. If an index on the other text
/// serves the call itself, it goes beside the call, and the planner chooses.
///
/// # Safety
/// `root` is the planner's, its arrays of relations are set up, and the clause is of its query.
/// `translate` says what an expression of the query is in terms of a relation with indexes.
pub unsafe fn rewritten(
    root: *mut pg_sys::PlannerInfo,
    clause: *mut pg_sys::Node,
    translate: impl Fn(*mut pg_sys::Node) -> Option<*mut pg_sys::Node>,
) -> Option<Rewritten> {
    // SAFETY: as this function's.
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
        // One of the two must say the similarity that is asked for. The other one may be what an
        // index has.
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

/// Whether the texts of a call are of different relations.
unsafe fn are_apart(root: *mut pg_sys::PlannerInfo, call: &Call) -> bool {
    // SAFETY: expressions of the planner's query.
    unsafe {
        let [a, b] = call.texts.map(|text| pg_sys::pull_varnos(root, text));
        !pg_sys::bms_overlap(a, b)
    }
}

/// What index there is for a text of a call.
#[derive(Clone, Copy)]
enum Found {
    Nothing,
    /// One on the text itself.
    Text,
    /// One on its near_text.
    Value(Value),
}

/// A near_text that has an index.
#[derive(Clone, Copy)]
struct Value {
    similarity: f64,
    numbers: Option<Numbers>,
    /// The call of near_text, in terms of the query's table. It is a copy.
    expression: *mut pg_sys::Node,
}

impl Value {
    /// Whether fewer numbers must agree than a call asks for, whatever its argument says.
    fn compares_less_than(&self, asked: Numbers) -> bool {
        Numbers::of_both(self.numbers, Some(asked)) != Some(asked)
    }
}

/// The config of a call, with which numbers must agree, where it leaves that to the default. So
/// the call decides, whatever a value says beside it.
unsafe fn with_numbers(call: &Call, asked_of: &Asked<'_>, numbers: Numbers) -> *mut pg_sys::Node {
    let said = ConfigText::with_numbers(asked_of.config.as_str(), Some(numbers));
    // SAFETY: the config is a constant, for it is known what is asked for.
    unsafe {
        let copy: *mut pg_sys::Const = pg_sys::copyObjectImpl(call.config.cast()).cast();
        (*copy).constvalue = ConfigText::stored(&said).encode();
        copy.cast()
    }
}

/// A call of near_text, with another text. That may be the same one in other words: as a column of
/// a UNION ALL.
unsafe fn with_text(value: *mut pg_sys::Node, text: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: the value is a call of three arguments, and a copy.
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
    // SAFETY: the planner's arrays are as long as it says; a table of the query is locked.
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
            // One of all rows is better than one that the query may not get to use.
            (rank + if rank > 0 && is_whole(index) { 2 } else { 0 }, found)
        });
        all.max_by_key(|(rank, _)| *rank).map_or(Found::Nothing, |(_, found)| found)
    }
}

/// Whether an index is of all rows, and of one column.
unsafe fn is_whole(index: pg_sys::Oid) -> bool {
    // SAFETY: the table is locked, and the index while it is looked at.
    unsafe {
        let rel = PgRelation::with_lock(index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        (*(*rel.as_ptr()).rd_index).indnkeyatts == 1
            && pg_sys::RelationGetIndexPredicate(rel.as_ptr()).is_null()
    }
}

/// How an index of a table serves a text of a call.
unsafe fn serves(
    index: pg_sys::Oid,
    relid: i32,
    text: *mut pg_sys::Node,
    near: &NearObjects,
    asked_of: &Asked<'_>,
) -> Found {
    // SAFETY: the table is locked, and the index while it is looked at.
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
        // RelationGetIndexExpressions gives a copy, whose Vars are of relation 1.
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

/// Whether a clause may be executed by another server: a table of it, or a partition of one, is
/// there.
unsafe fn is_sent_away(root: *mut pg_sys::PlannerInfo, clause: *mut pg_sys::Node) -> bool {
    // SAFETY: the planner's arrays are as long as it says, and have an entry for each number of an
    // expression.
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
