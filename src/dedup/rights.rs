//! Who may know the key of a row that the search found. The search itself asks nobody.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::family::parents;
use crate::compat::owns_relation;

/// Whether the role may read that column of every row of the table: from the table itself, or from
/// one above, where the table's own privileges and policies do not count.
pub fn may_read(table: pg_sys::Oid, column: &CStr, role: pg_sys::Oid) -> bool {
    reads(table, column, role) || parents(table).into_iter().any(|parent| may_read(parent, column, role))
}

/// Whether the owner of another table may have that column's values in it, for those who read that
/// one. Whoever owns both may: row-level security that is forced on owners protects them from
/// mistakes, not from themselves.
pub fn may_link(table: pg_sys::Oid, column: &CStr, owner: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    let owns = unsafe { owns_relation(table, owner) };
    owns || may_read(table, column, owner)
}

fn reads(table: pg_sys::Oid, column: &CStr, role: pg_sys::Oid) -> bool {
    // SAFETY: catalogue look-ups.
    unsafe {
        let number = pg_sys::get_attnum(table, column.as_ptr());
        if number <= 0 {
            return false;
        }
        let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
        let allowed = pg_sys::AclResult::ACLCHECK_OK;
        let hidden =
            pg_sys::check_enable_rls(table, role, true) as u32 == pg_sys::CheckEnableRlsResult::RLS_ENABLED;
        !hidden
            && (pg_sys::pg_class_aclcheck(table, role, select) == allowed
                || pg_sys::pg_attribute_aclcheck(table, number, role, select) == allowed)
    }
}
