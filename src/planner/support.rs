//! Answers the planner's requests about `hamming_within`.

use pgrx::pg_sys;

use super::distance::Distance;
use super::expr::{Expr, Exprs};
use super::indexed_columns::serves;
use super::request::{IndexCondition, Request};

/// Answers a request about `hamming_within(x, y, distance)`: its selectivity, or an index
/// condition. The condition is `x <@ hamming_ball_or_null(y, distance)` for an index on `x`, and
/// its mirror image for an index on `y`.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn answer(request: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner's request, which nothing else uses meanwhile.
    match unsafe { Request::of(request) }? {
        Request::IndexCondition(asked) => {
            Some(Exprs::of(&[index_condition(asked)?]).as_ptr().cast())
        }
        Request::Selectivity { clause, answer, .. } => {
            *answer = clause.within_selectivity();
            Some(request)
        }
        _ => None,
    }
}

fn index_condition(asked: IndexCondition<'_>) -> Option<Expr> {
    let (distance, radius) = Distance::within(asked.call)?;
    let distance = match asked.argument {
        0 => distance,
        1 => distance.mirrored(),
        _ => return None,
    };
    let measure = distance.measure();
    let is_point = asked.index.input_type(asked.column) == Some(measure.point);
    if !is_point
        || !serves(asked.family, measure)
        || ![distance.y(), radius.expr()].into_iter().all(|node| asked.can_compute(node))
        || !measure.may_use(asked.root, &[measure.within, measure.make_ball])
    {
        return None;
    }
    *asked.lossy = false;
    Some(distance.within_ball(asked.root, radius))
}
