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

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_incomparable_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if !request.is_null() {
        // SAFETY: PostgreSQL passes a request.
        unsafe { incomparable::refuse(request) };
    }
    Internal::from(Some(pg_sys::Datum::from(0_usize)))
}
