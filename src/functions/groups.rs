//! `simhash_cluster()`, the trigger, with `simhash_cluster_create` and `simhash_cluster_settle`.

use pgrx::{PgSqlErrorCode, VariadicArray, pg_extern, pg_sys};

use crate::call::Call;
use crate::catalog::Schema;
use crate::error::raise;
use crate::groups::create::create;
use crate::groups::settle::settle_table;
use crate::groups::statement;
use crate::types::Text;

/// The record by which PostgreSQL learns the calling convention of the function below.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub extern "C" fn pg_finfo_simhash_cluster_wrapper() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}

/// The SQL function. A statement trigger returns a null pointer without the flag of NULL, which
/// `pg_extern` cannot express. A row trigger returns the row.
///
/// # Safety
/// PostgreSQL passes the call.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub unsafe extern "C-unwind" fn simhash_cluster_wrapper(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    let run = || {
        // SAFETY: PostgreSQL passes the call.
        let call = unsafe { Call::new(fcinfo) };
        pg_sys::Datum::from(statement::run(&call).expose_provenance())
    };
    // SAFETY: everything with a destructor lives inside the guard.
    unsafe { pg_sys::submodules::panic::pgrx_extern_c_guard(run) }
}

#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_cluster_create(
    table: pg_sys::Oid,
    arguments: VariadicArray<'_, Text<'_>>,
    call: Call<'_>,
) -> i64 {
    let arguments = given_arguments(arguments, "simhash_cluster_create");
    create(table, &arguments, Schema::of_call(&call))
}

#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_cluster_settle(table: pg_sys::Oid, full: bool, call: Call<'_>) -> i64 {
    settle_table(table, full, None, Schema::of_call(&call))
}

/// Checks the arguments of a trigger that `function` creates. Raises 22004 for NULL.
pub fn given_arguments(given: VariadicArray<'_, Text<'_>>, function: &str) -> Vec<String> {
    let arguments = given.iter().enumerate().map(|(place, argument)| match argument {
        Some(argument) => argument.as_str().to_owned(),
        None => raise(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("argument {} of {function} is NULL", place + 2),
            "Arguments must be of the form 'key=value'.",
        ),
    });
    arguments.collect()
}
