//! `simhash_cluster_create`: the triggers of a table in one call, and its first groups.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use super::settle::settle_table;
use crate::catalog::Schema;
use crate::catalog::names::qualified_name;
use crate::error::shown;
use crate::family::create::{check_owner, identifier, literals, run};
use crate::types::text::{server_to_utf8, utf8_to_server};

/// The end of each trigger's name, and what fires it.
const TRIGGERS: [(&CStr, &str); 4] = [
    (c"before", "BEFORE INSERT OR UPDATE OR DELETE ON {}"),
    (c"insert", "AFTER INSERT ON {} REFERENCING NEW TABLE AS new"),
    (c"update", "AFTER UPDATE ON {} REFERENCING OLD TABLE AS old NEW TABLE AS new"),
    (c"delete", "AFTER DELETE ON {} REFERENCING OLD TABLE AS old"),
];

/// Creates the triggers with these arguments, and finds the groups of the rows that are there.
/// Returns how many groups there are.
pub fn create(table: pg_sys::Oid, arguments: &[String], schema: Schema) -> i64 {
    check_owner(table);
    let name = qualified_name(table).unwrap_or_default();
    // A table may have several columns of ids, each with triggers of its own.
    let column = arguments.iter().find_map(|argument| {
        let (key, value) = argument.split_once('=')?;
        (key.trim() == "cluster").then_some(value.trim())
    });
    let column = CString::new(&*utf8_to_server(column.unwrap_or("cluster"))).unwrap_or_default();
    let arguments = literals(arguments);
    for (end, event) in TRIGGERS {
        run(&format!(
            "CREATE TRIGGER {} {} FOR EACH STATEMENT EXECUTE FUNCTION {}.simhash_cluster({})",
            identifier(&trigger_name(table, &column, end)),
            event.replace("{}", &name),
            shown(schema.quoted_name()),
            arguments
        ));
    }
    settle_table(table, true, Some(&column), schema)
}

/// The name of a trigger. Of a long column name it has the beginning, and the column's number:
/// other columns may begin like it.
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
        server_to_utf8(CStr::from_ptr(name).to_bytes()).to_owned()
    }
}
