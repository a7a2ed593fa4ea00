//! Who may know the key of a row that the search found. The search itself needs no rights.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::catalog::inheritance::parents;
use crate::catalog::rights;

/// Whether the role may read that column of every row of the table: from the table itself, or from
/// a table above, where the table's own privileges and policies do not count.
pub fn may_read(table: pg_sys::Oid, column: &CStr, role: pg_sys::Oid) -> bool {
    reads(table, column, role)
        || parents(table).into_iter().any(|parent| may_read(parent, column, role))
}

/// Whether a table may show values of that column to those who read it, by its owner's rights to
/// the table that the values come from. Who owns both tables may do so: row-level security that is
/// forced on owners protects them from mistakes, not from themselves.
pub fn may_link(table: pg_sys::Oid, column: &CStr, owner: pg_sys::Oid) -> bool {
    rights::owns(table, owner) || may_read(table, column, owner)
}

fn reads(table: pg_sys::Oid, column: &CStr, role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    let number = unsafe { pg_sys::get_attnum(table, column.as_ptr()) };
    number > 0 && !rights::hides_rows(table, role) && rights::may_read(table, Some(number), role)
}
