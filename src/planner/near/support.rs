//! Answers the planner's requests about `near_duplicate`, `shares_passage` and the functions of
//! their operators.

use pgrx::{PgList, pg_sys};

use super::objects::Least;
use super::passages;
use super::recipe::{Call, Recipe};
use super::rows::{Near, work};
use super::secure;
use crate::planner::measures::{Objects, may_execute_all};
use crate::planner::nodes::{call, operator_clause};
use crate::planner::selectivity::Clause;

/// Answers a request about a function of two texts: its selectivity, its cost, an index condition,
/// or its leakproof form where rows are hidden.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn answer(request: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: the request is cast only to the type its tag says, and the planner filled it in.
    unsafe {
        match (*request).type_ {
            pg_sys::NodeTag::T_SupportRequestIndexCondition => {
                index_condition(request.cast()).map(<*mut pg_sys::List>::cast)
            }
            pg_sys::NodeTag::T_SupportRequestSimplify => secure::simplified(request.cast()),
            pg_sys::NodeTag::T_SupportRequestSelectivity => {
                let asked = request.cast::<pg_sys::SupportRequestSelectivity>();
                let clause = Clause {
                    root: (*asked).root,
                    arguments: (*asked).args,
                    relation: (*asked).varRelid,
                    join: (*asked).is_join.then_some((*asked).sjinfo),
                };
                (*asked).selectivity = match Objects::get().text_calls((*asked).funcid)?.least {
                    Least::Similarity => Near::of_call(&clause)?.selectivity(&clause),
                    Least::Words => passages::selectivity(&clause),
                };
                Some(request)
            }
            pg_sys::NodeTag::T_SupportRequestCost => {
                let asked = request.cast::<pg_sys::SupportRequestCost>();
                (*asked).startup = 0.0;
                (*asked).per_tuple = work((*asked).root, (*asked).node)?;
                Some(request)
            }
            _ => None,
        }
    }
}

/// The condition `indexed ~= near_text(other, similarity, config)`, or
/// `indexed && text_passage(other, words, config)`. It is true, false or NULL exactly where the
/// call is.
unsafe fn index_condition(
    request: *mut pg_sys::SupportRequestIndexCondition,
) -> Option<*mut pg_sys::List> {
    // SAFETY: `Call::of` checks that the request's node is the call, and its index belongs to the
    // query.
    unsafe {
        let calls = Objects::get().text_calls((*request).funcid)?;
        let asked_of = Call::of(&calls, (*request).node)?;
        let index = (*request).index;
        // Only the last key column is searched by similarity: a text before it is a scope.
        if (*request).indexcol != (*index).nkeycolumns - 1
            || !calls.is_of_texts((*request).opfamily)
            || (*index).hypothetical
        {
            return None;
        }
        let [indexed, other] = match (*request).indexarg {
            0 => asked_of.texts,
            1 => [asked_of.texts[1], asked_of.texts[0]],
            _ => return None,
        };
        let asked = asked_of.asked()?;
        let own = (*(*index).rel).relid as i32;
        let usable = [other, asked_of.least].into_iter().all(|node| {
            !pg_sys::bms_is_member(own, pg_sys::pull_varnos((*request).root, node))
                && !pg_sys::contain_volatile_functions(node)
        });
        if !usable || !Recipe::of((*index).indexoid)?.serves(&asked) {
            return None;
        }
        let operator = pg_sys::get_opcode(calls.on_text);
        if !may_execute_all((*request).root, &[calls.function, calls.make, operator]) {
            return None;
        }
        let made = call(calls.make, calls.value, &[other, asked_of.least, asked_of.config]);
        let made = pg_sys::eval_const_expressions((*request).root, made);
        let clause = operator_clause(calls.on_text, indexed, made, asked_of.collation);
        (*request).lossy = false;
        let mut conditions = PgList::<pg_sys::Node>::new();
        conditions.push(clause);
        Some(conditions.into_pg())
    }
}
