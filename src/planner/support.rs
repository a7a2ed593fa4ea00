//! Answers the planner's requests about `hamming_within`.

use pgrx::{PgList, pg_sys};

use super::indexed_columns::serves;
use super::measures::Objects;
use super::nodes::within_ball;
use super::selectivity::Clause;

/// Answers a request about `hamming_within(x, y, distance)`: its selectivity, or an index
/// condition. The condition is `x <@ hamming_ball_or_null(y, distance)` for an index on `x`, and
/// its mirror image for an index on `y`.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn answer(request: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: the request is cast only to the type its tag says, and `index_condition` gets the
    // planner's own.
    unsafe {
        match (*request).type_ {
            pg_sys::NodeTag::T_SupportRequestIndexCondition => {
                index_condition(request.cast()).map(<*mut pg_sys::List>::cast)
            }
            pg_sys::NodeTag::T_SupportRequestSelectivity => {
                let asked = request.cast::<pg_sys::SupportRequestSelectivity>();
                let clause = Clause {
                    root: (*asked).root,
                    arguments: (*asked).args,
                    relation: (*asked).varRelid,
                    join: (*asked).is_join.then_some((*asked).sjinfo),
                };
                (*asked).selectivity = clause.within_selectivity();
                Some(request)
            }
            _ => None,
        }
    }
}

unsafe fn index_condition(
    request: *mut pg_sys::SupportRequestIndexCondition,
) -> Option<*mut pg_sys::List> {
    // SAFETY: the request's node is checked to be the call, and its index belongs to the query.
    unsafe {
        if !pgrx::is_a((*request).node, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let measure = Objects::get().of_within((*request).funcid)?;
        let column = usize::try_from((*request).indexcol).ok()?;
        let input_type = *(*(*request).index).opcintype.add(column);
        if input_type != measure.point || !serves((*request).opfamily, &measure) {
            return None;
        }
        let arguments =
            PgList::<pg_sys::Node>::from_pg((*(*request).node.cast::<pg_sys::FuncExpr>()).args);
        let indexed = arguments.get_ptr(usize::try_from((*request).indexarg).ok()?)?;
        let other = arguments.get_ptr(match (*request).indexarg {
            0 => 1,
            1 => 0,
            _ => return None,
        })?;
        let radius = arguments.get_ptr(2)?;
        let own = (*(*(*request).index).rel).relid as i32;
        let usable = [other, radius].into_iter().all(|node| {
            !pg_sys::bms_is_member(own, pg_sys::pull_varnos((*request).root, node))
                && !pg_sys::contain_volatile_functions(node)
        });
        if !usable {
            return None;
        }
        if !measure.may_use((*request).root, &[measure.within, measure.make_ball]) {
            return None;
        }
        let condition = within_ball((*request).root, measure, indexed, other, radius);
        (*request).lossy = false;
        let mut conditions = PgList::<pg_sys::Node>::new();
        conditions.push(condition);
        Some(conditions.into_pg())
    }
}
