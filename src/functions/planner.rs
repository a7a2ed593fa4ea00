//! What the planner calls: support functions of `hamming`, `hamming_within` and `near_duplicate`,
//! and estimators of operators.

use pgrx::{Internal, pg_extern, pg_sys};

use crate::call::pointer;
use crate::planner::selectivity::Clause;
use crate::planner::{near, support, whole};

/// `hamming` has nothing to say, but the question loads this library. So the rewriting hook is
/// installed before the query's relations are looked at.
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
    // SAFETY: PostgreSQL passes a request.
    answered(unsafe { support::answer(request) })
}

/// Of `near_duplicate` and `shares_passage`, and for what they cost also of the functions of `~=`
/// and `&&`.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_duplicate_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if request.is_null() {
        return answered(None);
    }
    // SAFETY: PostgreSQL passes a request.
    answered(unsafe { near::support::answer(request) })
}

/// Of the functions of whole tables: how many rows they return.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_whole_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if request.is_null() {
        return answered(None);
    }
    // SAFETY: PostgreSQL passes a request.
    answered(unsafe { whole::answer(request) })
}

/// No answer is a null *pointer*, not SQL NULL.
fn answered(answer: Option<*mut pg_sys::Node>) -> Internal {
    Internal::from(Some(pg_sys::Datum::from(answer.unwrap_or(std::ptr::null_mut()))))
}

/// The clause that an operator of the query stands in: one that restricts a relation.
fn restriction(root: Internal, arguments: Internal, relation: i32) -> Clause {
    Clause { root: pointer(root), arguments: pointer(arguments), relation, join: None }
}

/// One that joins relations.
fn joining(root: Internal, arguments: Internal, join: Internal) -> Clause {
    let (root, arguments) = (pointer(root), pointer(arguments));
    Clause { root, arguments, relation: 0, join: Some(pointer(join)) }
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
            ) -> f64 {
                // SAFETY: the planner's arguments.
                unsafe { $selectivity(&restriction(root, arguments, relation)) }
            }

            #[pg_extern(sql = false, stable, strict, parallel_safe)]
            fn $join(
                root: Internal,
                _operator: pg_sys::Oid,
                arguments: Internal,
                _join_type: i16,
                join: Internal,
            ) -> f64 {
                // SAFETY: the planner's arguments.
                unsafe { $selectivity(&joining(root, arguments, join)) }
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
