//! Creates triggers: checks of the table, and the parts of the statement.

use std::ffi::CString;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::bulk::verify::notice_of_containment;
use crate::catalog::names::relation_name;
use crate::catalog::rights;
use crate::error::raise;
use crate::types::text::utf8_to_server;

/// Raises 42809 unless the relation is a table.
pub fn expect_table(table: pg_sys::Oid) {
    // SAFETY: a catalogue look-up.
    let kind = unsafe { pg_sys::get_rel_relkind(table) as u8 };
    if ![pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE].contains(&kind) {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a table", relation_name(table)),
            "Name a table, partitioned or not.",
        )
    }
}

/// Raises 42501 unless the caller owns the table, because groups are found with the owner's
/// privileges.
pub fn check_owner(table: pg_sys::Oid) {
    expect_table(table);
    // SAFETY: `GetUserId` reads the session's state.
    let user = unsafe { pg_sys::GetUserId() };
    if !rights::owns(table, user) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("must be owner of table {}", relation_name(table)),
            "",
        )
    }
}

/// Runs a statement that defines an object, as the current role.
pub fn run(source: &str) {
    let text = CString::new(&*utf8_to_server(source)).unwrap_or_default();
    // SAFETY: the sequence of calls that PostgreSQL documents for SPI. SPI_finish ends it, or the
    // transaction's abort.
    unsafe {
        if pg_sys::SPI_connect() != pg_sys::SPI_OK_CONNECT as i32 {
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "could not connect to SPI".into(), "");
        }
        if pg_sys::SPI_execute(text.as_ptr(), false, 0) < 0 {
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("could not run {source}"), "");
        }
        pg_sys::SPI_finish();
    }
}

/// The arguments of a trigger's function, as SQL literals. Gives a NOTICE about
/// measure=containment.
pub fn literals(arguments: &[String]) -> String {
    let is_containment = |argument: &String| {
        let parts = argument.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        parts == Some(("measure", "containment"))
    };
    if arguments.iter().any(is_containment) {
        notice_of_containment();
    }
    let arguments: Vec<_> = arguments.iter().map(|argument| literal(argument)).collect();
    arguments.join(", ")
}

/// A text as an SQL literal, whatever standard_conforming_strings is.
fn literal(text: &str) -> String {
    let escape = if text.contains('\\') { " E" } else { "" };
    format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A name as an SQL identifier.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
