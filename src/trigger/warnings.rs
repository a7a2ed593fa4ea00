//! Warnings about what makes the trigger's search slow or incomplete.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::CStr;

use pgrx::pg_sys;
use simhash_index::meta::SCOPE_COLUMNS;

use super::arguments::Arguments;
use super::family::Family;
use super::serving::is_indexable;
use crate::error::warn;
use crate::types::text::server_to_utf8;

thread_local! {
    /// Families that were warned about in this session, by their first topmost parent.
    static WARNED: RefCell<HashSet<pg_sys::Oid>> = RefCell::new(HashSet::new());
}

/// Gives the warnings about a family, once in each session.
pub fn warn_once(family: &Family, arguments: &Arguments) {
    let without_index = family.members.iter().find(|member| member.index.is_none());
    let unlinkable = family.unlinkable.filter(|_| arguments.action.link().is_some());
    let Some(&root) = family.roots.first() else { return };
    if (without_index.is_none() && family.foreign == 0 && unlinkable.is_none())
        || !WARNED.with_borrow_mut(|warned| warned.insert(root))
    {
        return;
    }
    let column = quoted(&arguments.fp_name);
    if let Some(member) = without_index {
        let table = table_name(member.table);
        warn(
            &format!(
                "table {table} has no simhash index on column {column}: \
                 simhash_dedup reads the whole table for every row"
            ),
            &format!(
                "CREATE INDEX ON {} USING simhash ({}{column}{});",
                table_name(root),
                scope_columns(arguments),
                operator_class(arguments.fp.base)
            ),
        );
    }
    if family.foreign > 0 {
        warn(
            &format!(
                "simhash_dedup does not look at the foreign tables below {}",
                table_name(root)
            ),
            "Near-duplicates across servers are found in bulk: see docs/scale-out.md.",
        );
    }
    if let Some(table) = unlinkable {
        warn(
            &format!("simhash_dedup does not link to the rows of table {}", table_name(table)),
            "Its key must be of the same type, \
             and the owner of the trigger's table must be allowed to read it.",
        );
    }
}

/// The columns of the scope that an index can have before the fingerprint's, each with a comma.
fn scope_columns(arguments: &Arguments) -> String {
    let indexable = arguments.scope.iter().filter(|scope| is_indexable(&scope.column));
    indexable.take(SCOPE_COLUMNS).map(|scope| format!("{}, ", quoted(&scope.name))).collect()
}

/// What `CREATE INDEX` says after a fingerprint's column of that type.
pub fn operator_class(base: pg_sys::Oid) -> &'static str {
    if base == pg_sys::INT8OID { " hamming_int8_ops" } else { "" }
}

/// The name of a table as SQL has it.
pub fn table_name(table: pg_sys::Oid) -> String {
    // SAFETY: a name of a locked table, palloc'd, in the server's encoding.
    unsafe {
        let name = pg_sys::get_rel_name(table);
        if name.is_null() {
            return format!("with OID {}", table.to_u32());
        }
        quoted(CStr::from_ptr(name)).to_owned()
    }
}

/// An identifier as SQL has it, in UTF-8. It lives as long as the name or the current memory
/// context.
pub fn quoted(name: &CStr) -> &str {
    // SAFETY: an identifier in the server's encoding; the result is that or palloc'd.
    unsafe { server_to_utf8(CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr())).to_bytes()) }
}
