//! Which roles may read the key of a row that the search has found. The search itself needs no
//! privileges.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::catalog::inheritance::parents;
use crate::catalog::rights;

/// Whether the role may read that column of every row of the table: from the table itself, or from
/// a parent, for which the table's own privileges and policies do not count.
pub fn may_read(table: pg_sys::Oid, column: &CStr, role: pg_sys::Oid) -> bool {
    reads(table, column, role)
        || parents(table).into_iter().any(|parent| may_read(parent, column, role))
}

/// Whether links to rows of `table` may show values of that column. `owner` owns the table with the
/// links, whose readers see these values. An owner of both tables may show them: row-level security
/// that is forced on owners protects them from mistakes, not from themselves.
pub fn may_link(table: pg_sys::Oid, column: &CStr, owner: pg_sys::Oid) -> bool {
    rights::owns(table, owner) || may_read(table, column, owner)
}

fn reads(table: pg_sys::Oid, column: &CStr, role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    let number = unsafe { pg_sys::get_attnum(table, column.as_ptr()) };
    number > 0 && !rights::hides_rows(table, role) && rights::may_read(table, Some(number), role)
}
