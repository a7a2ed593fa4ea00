//! The type `simhash_incomparable` and what takes it: operands of calls that end in an error.

use pgrx::{Internal, PgSqlErrorCode, pg_extern, pg_sys};

use crate::call::pointer;
use crate::error::raise;
use crate::planner::incomparable;

/// The casts to the type and the functions that take it. They do not come to be executed: planning
/// a call raises.
#[pg_extern(sql = false, stable, parallel_safe)]
fn simhash_incomparable() -> Internal {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "nothing is computed of type simhash_incomparable".into(),
        "The type stands for operands that cannot be compared. Use no cast to it.",
    )
}

/// The casts between fingerprints of two widths.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint_of_other_width(fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    // SAFETY: PostgreSQL's call.
    let (from, to) = unsafe {
        let function = (*fcinfo).flinfo;
        (pg_sys::get_fn_expr_argtype(function, 0), pg_sys::get_fn_expr_rettype(function))
    };
    incomparable::refuse_width(from, to)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_incomparable_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if !request.is_null() {
        // SAFETY: PostgreSQL passes a request.
        unsafe { incomparable::refuse(request) };
    }
    Internal::from(Some(pg_sys::Datum::from(0_usize)))
}
