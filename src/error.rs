//! Errors as PostgreSQL reports them: a SQLSTATE, the offending value, a hint that helps.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode, function_name};

/// Raises an ERROR. The message quotes the value that was wrong; an empty hint is left out.
pub fn raise(code: PgSqlErrorCode, message: String, hint: &str) -> ! {
    let report = ErrorReport::new(code, message, function_name!());
    let report = if hint.is_empty() { report } else { report.set_hint(hint) };
    report.report(PgLogLevel::ERROR);
    unreachable!("report(ERROR) does not return")
}

/// Raises "invalid input syntax for type ..." (22P02), as PostgreSQL's own types do.
pub fn raise_invalid_text(type_name: &str, value: &str, hint: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {type_name}: \"{value}\""),
        hint,
    )
}
