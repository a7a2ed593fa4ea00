//! Privileges: ownership of relations, SELECT, UPDATE, INSERT and EXECUTE, and row-level security.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::cache;
use super::names::{quoted, relation_name};
use crate::compat;
use crate::error::{raise, shown, with_hint};

const ALLOWED: pg_sys::AclResult::Type = pg_sys::AclResult::ACLCHECK_OK;

/// Whether a role owns a relation. A superuser counts as the owner of every relation.
pub fn owns(relation: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { compat::owns_relation(relation, role) }
}

/// Whether the current role may execute a function.
pub fn may_execute(function: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { compat::may_execute(function) }
}

/// Whether every role may execute a function because it has the default privileges (its ACL is
/// NULL).
pub fn all_may_execute(function: pg_sys::Oid) -> bool {
    let own_rights = cache::by_oid(function, |row: &cache::Row<pg_sys::FormData_pg_proc>| {
        row.column(pg_sys::Anum_pg_proc_proacl).is_some()
    });
    own_rights == Some(false)
}

/// The outcome of a check of a role's privilege on a relation.
fn checked(
    relation: pg_sys::Oid,
    role: pg_sys::Oid,
    right: pg_sys::AclMode,
) -> pg_sys::AclResult::Type {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::pg_class_aclcheck(relation, role, right) }
}

/// Whether a role has SELECT on a table, or on `column` if one is given.
pub fn may_read(table: pg_sys::Oid, column: Option<pg_sys::AttrNumber>, role: pg_sys::Oid) -> bool {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let of_column = |column| {
        // SAFETY: a catalogue look-up in a transaction.
        unsafe { pg_sys::pg_attribute_aclcheck(table, column, role, select) == ALLOWED }
    };
    checked(table, role, select) == ALLOWED || column.is_some_and(of_column)
}

/// Whether a role has SELECT and UPDATE on a table.
pub fn may_read_and_update(table: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    let rights = (pg_sys::ACL_SELECT | pg_sys::ACL_UPDATE) as pg_sys::AclMode;
    let all = pg_sys::AclMaskHow::ACLMASK_ALL;
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::pg_class_aclmask(table, role, rights, all) == rights }
}

/// Whether a role has all privileges of another one, as a member of it or as a superuser.
pub fn has_rights_of(role: pg_sys::Oid, other: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::has_privs_of_role(role, other) }
}

/// The owner of a relation, if it exists.
pub fn owner(relation: pg_sys::Oid) -> Option<pg_sys::Oid> {
    cache::by_oid(relation, |row: &cache::Row<pg_sys::FormData_pg_class>| row.relowner)
}

/// A role that has TRIGGER on a table without having its owner's privileges, if there is one.
pub fn stranger_with_trigger(table: pg_sys::Oid, owner: pg_sys::Oid) -> Option<Grantee> {
    let trigger = pg_sys::ACL_TRIGGER as pg_sys::AclMode;
    let granted = cache::by_oid(table, |row: &cache::Row<pg_sys::FormData_pg_class>| {
        let rights = row.column(pg_sys::Anum_pg_class_relacl)?;
        let mut roles = std::ptr::null_mut();
        // SAFETY: the column is an array of privileges.
        let rights = unsafe { pg_sys::pg_detoast_datum(rights.cast_mut_ptr()) };
        // SAFETY: the array was detoasted.
        let count = unsafe { pg_sys::aclmembers(rights.cast(), &mut roles) };
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: aclmembers made a palloc'd array of that length, unless there are no members.
        let roles = (count > 0).then(|| unsafe { std::slice::from_raw_parts(roles, count) });
        Some(roles.unwrap_or_default().to_vec())
    });
    // If the ACL is NULL, only the owner has privileges. aclmembers does not return PUBLIC.
    let roles = granted.flatten()?.into_iter().map(Grantee::Role);
    std::iter::once(Grantee::Public).chain(roles).find(|grantee| {
        let role = grantee.oid();
        checked(table, role, trigger) == ALLOWED && !has_rights_of(role, owner)
    })
}

/// A grantee of privileges.
#[derive(Clone, Copy, Debug)]
pub enum Grantee {
    Public,
    Role(pg_sys::Oid),
}

impl Grantee {
    fn oid(self) -> pg_sys::Oid {
        match self {
            Grantee::Public => pg_sys::InvalidOid,
            Grantee::Role(role) => role,
        }
    }

    /// The name in the syntax of GRANT and REVOKE.
    pub fn name(self) -> String {
        let Grantee::Role(role) = self else { return "PUBLIC".to_owned() };
        // SAFETY: a catalogue look-up in a transaction; the name is a palloc'd C string.
        quoted(unsafe { CStr::from_ptr(pg_sys::GetUserNameFromId(role, false)) })
    }
}

/// Whether row-level security hides rows of a table from a role.
pub fn hides_rows(table: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    let enabled = unsafe { pg_sys::check_enable_rls(table, role, true) };
    enabled as u32 == pg_sys::CheckEnableRlsResult::RLS_ENABLED
}

/// Raises 0A000 if row-level security hides rows of the table from the current role: only queries
/// apply policies. If row_security is off, PostgreSQL raises its own ERROR.
pub fn check_rows_are_all(table: pg_sys::Oid, hint: &str) {
    // SAFETY: a catalogue look-up in a transaction; InvalidOid means the current role.
    let enabled = unsafe { pg_sys::check_enable_rls(table, pg_sys::InvalidOid, false) };
    if enabled as u32 == pg_sys::CheckEnableRlsResult::RLS_ENABLED {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "query would be affected by row-level security policy for table \"{}\"",
                relation_name(table)
            ),
            hint,
        );
    }
}

/// Raises 42501, as PostgreSQL does, unless the current role has SELECT on the table.
pub fn check_select(table: pg_sys::Oid, name: &CStr) {
    check(table, name, pg_sys::ACL_SELECT, |_| false);
}

/// Raises 42501, as PostgreSQL does, unless the current role has INSERT on the table or on any of
/// its columns.
pub fn check_insert(table: pg_sys::Oid, name: &CStr) {
    let any = pg_sys::AclMaskHow::ACLMASK_ANY;
    let hint = format!(
        "The owner of the database can grant it: GRANT INSERT, DELETE ON {} TO ...",
        shown(name)
    );
    let hint = CString::new(hint).unwrap_or_default();
    with_hint(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, &hint, || {
        check(table, name, pg_sys::ACL_INSERT, |(role, right)| {
            // SAFETY: a catalogue look-up in a transaction.
            unsafe { pg_sys::pg_attribute_aclcheck_all(table, role, right, any) == ALLOWED }
        });
    });
}

fn check(
    table: pg_sys::Oid,
    name: &CStr,
    right: u32,
    otherwise: impl FnOnce((pg_sys::Oid, pg_sys::AclMode)) -> bool,
) {
    let right = right as pg_sys::AclMode;
    // SAFETY: reads this backend's current user.
    let role = unsafe { pg_sys::GetUserId() };
    let found = checked(table, role, right);
    if found != ALLOWED && !otherwise((role, right)) {
        let kind = pg_sys::ObjectType::OBJECT_TABLE;
        // SAFETY: raises an ERROR; `name` ends with NUL.
        unsafe { pg_sys::aclcheck_error(found, kind, name.as_ptr()) };
    }
}
