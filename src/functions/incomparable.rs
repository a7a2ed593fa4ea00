//! Functions of the type `simhash_incomparable`: operands of calls that are refused with an ERROR.

use pgrx::{Internal, PgSqlErrorCode, pg_extern, pg_sys};

use crate::call::pointer;
use crate::error::raise;
use crate::planner::incomparable;

/// The body of the casts to the type, and of the functions that take it. Planning a call of the
/// latter raises an ERROR, so only a cast alone is executed.
#[pg_extern(sql = false, stable, parallel_safe)]
fn simhash_incomparable() -> Internal {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "cannot compute a value of type simhash_incomparable".into(),
        "The type is for operands that cannot be compared. Do not cast to it.",
    )
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_incomparable_support(request: Internal) -> Internal {
    let request = pointer::<pg_sys::Node>(request);
    if !request.is_null() {
        // SAFETY: PostgreSQL passes a support request, which is not null.
        unsafe { incomparable::refuse(request) };
    }
    Internal::from(Some(pg_sys::Datum::from(0_usize)))
}
