//! The functions that the planner calls: support functions of `hamming`, `hamming_within`,
//! `near_duplicate` and of whole tables, and estimators of operators.

use pgrx::{Internal, pg_extern, pg_sys};

use crate::call::pointer;
use crate::planner::selectivity::Clause;
use crate::planner::{near, support, whole};

/// Answers nothing: the request only loads the library, as [`crate::planner`] explains.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_support(_request: Internal) -> Internal {
    answered(None)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if request.is_null() {
        return answered(None);
    }
    // SAFETY: PostgreSQL passes a support request, which is not null.
    answered(unsafe { support::answer(request) })
}

/// For `near_duplicate` and `shares_passage`, and for the cost of the functions of `~=` and `&&`.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_duplicate_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if request.is_null() {
        return answered(None);
    }
    // SAFETY: PostgreSQL passes a support request, which is not null.
    answered(unsafe { near::support::answer(request) })
}

/// For the functions of whole tables: how many rows they return, and their cost.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_whole_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if request.is_null() {
        return answered(None);
    }
    // SAFETY: PostgreSQL passes a support request, which is not null.
    answered(unsafe { whole::answer(request) })
}

/// Without an answer, a support function returns a null *pointer*, not SQL NULL.
fn answered(answer: Option<*mut pg_sys::Node>) -> Internal {
    Internal::from(Some(pg_sys::Datum::from(answer.unwrap_or(std::ptr::null_mut()))))
}

/// The selectivity of an operator's clause, which restricts a relation or joins relations. `None`
/// if the planner passes no state.
fn estimated(
    selectivity: impl FnOnce(&Clause) -> f64,
    [root, arguments]: [Internal; 2],
    relation: i32,
    join: Option<Internal>,
) -> Option<f64> {
    let join = join.map_or(std::ptr::null_mut(), pointer);
    // SAFETY: the planner passes its own state, the clause's operands, and its join.
    let clause = unsafe { Clause::new(pointer(root), pointer(arguments), relation, join) };
    clause.map(|clause| selectivity(&clause))
}

macro_rules! estimators {
    ($($restrict:ident and $join:ident by $selectivity:path),+) => {
        $(
            #[pg_extern(sql = false, stable, strict, parallel_safe)]
            fn $restrict(
                root: Internal,
                _operator: pg_sys::Oid,
                arguments: Internal,
                relation: i32,
            ) -> Option<f64> {
                estimated($selectivity, [root, arguments], relation, None)
            }

            #[pg_extern(sql = false, stable, strict, parallel_safe)]
            fn $join(
                root: Internal,
                _operator: pg_sys::Oid,
                arguments: Internal,
                _join_type: i16,
                join: Internal,
            ) -> Option<f64> {
                estimated($selectivity, [root, arguments], 0, Some(join))
            }
        )+
    };
}
estimators!(
    hamming_within_sel and hamming_within_joinsel by Clause::ball_selectivity,
    hamming_near_sel and hamming_near_joinsel by Clause::near_selectivity,
    near_text_sel and near_text_joinsel by near::rows::selectivity,
    text_passage_sel and text_passage_joinsel by near::passages::selectivity
);
