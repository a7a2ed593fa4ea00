//! Answers the planner's requests about `near_duplicate`, `shares_passage` and the functions of
//! their operators.

use pgrx::pg_sys;

use super::objects::Least;
use super::passages;
use super::recipe::{Call, Recipe};
use super::rows::{Near, work};
use super::secure;
use crate::planner::expr::{Expr, Exprs};
use crate::planner::measures::{Objects, may_execute_all};
use crate::planner::request::{IndexCondition, Request};

/// Answers a request about a function of two texts: its selectivity, its cost, an index condition,
/// or its leakproof form where rows are hidden.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn answer(request: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner's request, which nothing else uses meanwhile.
    match unsafe { Request::of(request) }? {
        Request::IndexCondition(asked) => {
            return Some(Exprs::of(&[index_condition(asked)?]).as_ptr().cast());
        }
        Request::Simplify { root, call } => return Some(secure::simplified(root?, call)?.as_ptr()),
        Request::Selectivity { function, clause, answer } => {
            *answer = match Objects::get().text_calls(function)?.least {
                Least::Similarity => Near::of_call(&clause)?.selectivity(&clause),
                Least::Words => passages::selectivity(&clause),
            };
        }
        Request::Cost { root, node, startup, per_tuple } => {
            *startup = 0.0;
            *per_tuple = work(root?, node?)?;
        }
        Request::Rows { .. } => return None,
    }
    Some(request)
}

/// The condition for an index on one of the texts of a call.
fn index_condition(asked: IndexCondition<'_>) -> Option<Expr> {
    let calls = Objects::get().text_calls(asked.call.call()?.funcid)?;
    let call = Call::of(calls, asked.call)?;
    let index = asked.index.own()?;
    if asked.column != index.last() || !calls.is_of_texts(asked.family) || asked.argument > 1 {
        return None;
    }
    let operands = [call.texts()[1 - asked.argument], call.least()];
    let asked_of = call.asked()?;
    if !operands.into_iter().all(|node| asked.can_compute(node)) {
        return None;
    }
    // SAFETY: the recipe does not keep the index.
    let recipe = unsafe { index.with_open(Recipe::of) }?;
    if !recipe.serves(&asked_of)
        || !may_execute_all(asked.root, &[calls.function, calls.make, calls.operates()])
    {
        return None;
    }
    *asked.lossy = false;
    Some(call.condition(asked.root, asked.argument))
}
