//! `simhash_dedup()`, as PostgreSQL calls it. Not by `pg_extern`, whose errors cannot carry a
//! SQLSTATE of our own.

use pgrx::pg_sys;

use crate::trigger::judge::{Verdict, judge};

/// PostgreSQL's record of the function below.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub extern "C" fn pg_finfo_simhash_dedup_wrapper() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}

/// The SQL function.
///
/// # Safety
/// Called by PostgreSQL.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub unsafe extern "C-unwind" fn simhash_dedup_wrapper(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: everything with a destructor lives inside the guard; a verdict has none.
    unsafe {
        match pg_sys::submodules::panic::pgrx_extern_c_guard(|| judge(fcinfo)) {
            Verdict::Row(row) => pg_sys::Datum::from(row),
            Verdict::NoRow => pg_sys::Datum::null(),
            Verdict::Violation(violation) => violation.raise(),
        }
    }
}
