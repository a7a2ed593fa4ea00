//! `simhash_cluster_create`: creates the triggers of a table, and finds its first groups.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::settle::settle_table;
use super::setup::{check_alone, forget_warnings};
use crate::catalog::Schema;
use crate::catalog::names::{qualified_name, quoted};
use crate::error::{raise, shown};
use crate::family::column::utf8;
use crate::family::create::{check_owner, identifier, literals, run};
use crate::family::on::Open;
use crate::types::text::utf8_to_server;

/// The suffix of each trigger's name, and what fires it.
const TRIGGERS: [(&CStr, &str); 5] = [
    (c"before", "BEFORE INSERT OR UPDATE OR DELETE ON {table} FOR EACH STATEMENT"),
    (c"id", "BEFORE UPDATE OF {cluster} ON {table} FOR EACH ROW"),
    (c"insert", "AFTER INSERT ON {table} REFERENCING NEW TABLE AS new FOR EACH STATEMENT"),
    (
        c"update",
        "AFTER UPDATE ON {table} REFERENCING OLD TABLE AS old NEW TABLE AS new FOR EACH STATEMENT",
    ),
    (c"delete", "AFTER DELETE ON {table} REFERENCING OLD TABLE AS old FOR EACH STATEMENT"),
];

/// Creates the triggers with these arguments, and finds the groups of the existing rows. Returns
/// how many groups there are.
pub fn create(table: pg_sys::Oid, arguments: &[String], schema: Schema) -> i64 {
    check_owner(table);
    Open::existing(table, pg_sys::AccessShareLock, check_alone);
    let name = qualified_name(table).unwrap_or_default();
    // A table may have several columns of ids, each with triggers of its own.
    let column = arguments.iter().find_map(|argument| {
        let (key, value) = argument.split_once('=')?;
        (key.trim() == "cluster").then_some(value.trim())
    });
    let column = column.unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "argument \"cluster\" of simhash_cluster_create is missing".into(),
            "Give the column that holds the ids of groups: 'cluster=column'.",
        )
    });
    let column = CString::new(&*utf8_to_server(column)).unwrap_or_default();
    let arguments = literals(arguments);
    for (end, event) in TRIGGERS {
        let parts: Vec<_> =
            event.split("{cluster}").map(|part| part.replace("{table}", &name)).collect();
        run(&format!(
            "CREATE TRIGGER {} {} EXECUTE FUNCTION {}.simhash_cluster({})",
            identifier(&trigger_name(table, &column, end)),
            parts.join(&quoted(&column)),
            shown(schema.quoted_name()),
            arguments
        ));
    }
    forget_warnings();
    settle_table(table, true, Some(&column), schema)
}

/// The name of a trigger. A long column name is cut, and the column's number is appended, because
/// other columns may begin with the same characters.
fn trigger_name(table: pg_sys::Oid, column: &CStr, end: &CStr) -> String {
    let whole = c"simhash__".count_bytes() + column.count_bytes() + end.count_bytes();
    // SAFETY: the names are only read; the new one is palloc'd, in the server's encoding.
    unsafe {
        let mut end = end.to_owned();
        if whole >= pg_sys::NAMEDATALEN as usize {
            let number = pg_sys::get_attnum(table, column.as_ptr());
            end = CString::new(format!("{number}_{}", end.to_string_lossy())).unwrap_or(end);
        }
        let name = pg_sys::makeObjectName(c"simhash".as_ptr(), column.as_ptr(), end.as_ptr());
        utf8(CStr::from_ptr(name))
    }
}
