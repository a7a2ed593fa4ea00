//! Support functions: what the planner asks about `hamming` and `hamming_within`.

use pgrx::{Internal, PgList, pg_extern, pg_sys};

use super::catalog::Catalog;
use super::index::serves;
use super::pattern::within_ball;
use super::selectivity::{Place, within_selectivity};
use crate::compat;

/// No answer: a null *pointer*, not SQL NULL.
fn no_answer() -> Internal {
    Internal::from(Some(pg_sys::Datum::from(0usize)))
}

/// `hamming` has nothing to say; but asking loads this library, and so installs the rewriting hook
/// before the query's relations are looked at.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_support(_request: Internal) -> Internal {
    no_answer()
}

/// `hamming_within(x, y, distance)`: how many rows it keeps, and `x <@ hamming_ball(y, distance)`
/// or its mirror image for an index on `x` or on `y`.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_support(request: Internal) -> Internal {
    let Some(datum) = request.unwrap() else { return no_answer() };
    // SAFETY: PostgreSQL passes a request node; it is cast only to the type its tag says.
    unsafe {
        let node: *mut pg_sys::Node = datum.cast_mut_ptr();
        match (*node).type_ {
            pg_sys::NodeTag::T_SupportRequestIndexCondition => index_condition(node.cast())
                .map_or_else(no_answer, |conditions| Internal::from(Some(pg_sys::Datum::from(conditions)))),
            pg_sys::NodeTag::T_SupportRequestSelectivity => {
                let request = node.cast::<pg_sys::SupportRequestSelectivity>();
                (*request).selectivity = within_selectivity(
                    (*request).args,
                    &Place {
                        root: (*request).root,
                        relation: (*request).varRelid,
                        join: (*request).is_join.then_some((*request).sjinfo),
                    },
                );
                Internal::from(Some(datum))
            }
            _ => no_answer(),
        }
    }
}

unsafe fn index_condition(request: *mut pg_sys::SupportRequestIndexCondition) -> Option<*mut pg_sys::List> {
    // SAFETY: the request's node is the function call, its index is being planned for.
    unsafe {
        if !pgrx::is_a((*request).node, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let measure = Catalog::get().of_within((*request).funcid)?;
        let column = usize::try_from((*request).indexcol).ok()?;
        let input_type = *(*(*request).index).opcintype.add(column);
        if input_type != measure.point || !serves((*request).opfamily, &measure) {
            return None;
        }
        let arguments = PgList::<pg_sys::Node>::from_pg((*(*request).node.cast::<pg_sys::FuncExpr>()).args);
        let indexed = arguments.get_ptr(usize::try_from((*request).indexarg).ok()?)?;
        let other = arguments.get_ptr(match (*request).indexarg {
            0 => 1,
            1 => 0,
            _ => return None,
        })?;
        let radius = arguments.get_ptr(2)?;
        let own = (*(*(*request).index).rel).relid as i32;
        let usable = [other, radius].into_iter().all(|node| {
            !pg_sys::bms_is_member(own, compat::pull_varnos((*request).root, node))
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
