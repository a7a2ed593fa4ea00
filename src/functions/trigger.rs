//! `simhash_dedup()`, the trigger, and `simhash_dedup_create`. The trigger does without
//! `pg_extern`, whose errors cannot carry a SQLSTATE of our own.

use pgrx::{VariadicArray, pg_extern, pg_sys};

use super::groups::given_arguments;
use crate::call::Call;
use crate::catalog::Schema;
use crate::trigger::create::create;
use crate::trigger::judge::{Verdict, judge};
use crate::types::Text;

/// The record by which PostgreSQL learns the calling convention of the function below.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub extern "C" fn pg_finfo_simhash_dedup_wrapper() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}

/// The SQL function.
///
/// # Safety
/// PostgreSQL passes the call.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub unsafe extern "C-unwind" fn simhash_dedup_wrapper(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: PostgreSQL passes the call.
    let judge = || judge(unsafe { Call::new(fcinfo) });
    // SAFETY: everything with a destructor lives inside the guard; a verdict has none.
    match unsafe { pg_sys::submodules::panic::pgrx_extern_c_guard(judge) } {
        Verdict::Row(row) => pg_sys::Datum::from(row),
        Verdict::NoRow => pg_sys::Datum::null(),
        // SAFETY: outside the guard, where nothing has a destructor.
        Verdict::Violation(violation) => unsafe { violation.raise() },
    }
}

#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_dedup_create(
    table: pg_sys::Oid,
    arguments: VariadicArray<'_, Text<'_>>,
    call: Call<'_>,
) -> String {
    create(table, &given_arguments(arguments, "simhash_dedup_create"), Schema::of_call(&call))
}
