//! Finds roles that can make code run on a table without having its owner's privileges.
//!
//! A role that may create triggers on a table can create `simhash_cluster` there, on a column of
//! its choice. And when another role settles a table, it does so as the owner. In both cases code
//! of such roles would run with the owner's privileges, though the owner has done nothing.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::setup::Setup;
use crate::catalog::inheritance::all_inheritors;
use crate::catalog::names::{relation_name, table_name};
use crate::catalog::rights::{self, Grantee};
use crate::error::raise;
use crate::family::on::{On, Open};

/// Raises 42501 if the writer needs privileges of its own on the table and lacks them. This is
/// checked first: a refusal must not reveal which rows exist.
pub fn check_rights(setup: &Setup) {
    rights_for_ids(setup);
}

/// The role with whose privileges groups are read and ids are written. That is the owner, unless a
/// stranger may create triggers; then it is the writer. Raises 42501 if the writer lacks the
/// privileges.
pub fn rights_for_ids(setup: &Setup) -> pg_sys::Oid {
    // SAFETY: `GetUserId` reads the session's state.
    let (table, owner, writer) = (setup.table, setup.owner, unsafe { pg_sys::GetUserId() });
    if rights::has_rights_of(writer, owner) {
        return owner;
    }
    let Some(stranger) = rights::stranger_with_trigger(table, owner) else { return owner };
    if rights::may_read_and_update(table, writer) && !rights::hides_rows(table, writer) {
        return writer;
    }
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!(
            "cannot change group ids of table \"{}\" with the privileges of its owner",
            relation_name(table)
        ),
        &format!("Other roles may create triggers on the table: {};", revoke(table, stranger)),
    )
}

/// Raises 42501 if an UPDATE of ids may run code of a role without the owner's privileges. Such a
/// role owns one of the relations that change, or may create triggers on it. These are the table,
/// its partitions, and tables with ON UPDATE CASCADE, SET NULL or SET DEFAULT, whose triggers fire
/// at the end of the UPDATE.
pub fn refuse(setup: &Setup) {
    let remedy = |&relation: &pg_sys::Oid| remedy(relation, setup.owner);
    let Some(remedy) = updated(setup).iter().find_map(remedy) else { return };
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!(
            "cannot settle groups of table \"{}\" with the privileges of its owner",
            relation_name(setup.table)
        ),
        &format!("Code of other roles would run with the owner's privileges: {remedy};"),
    )
}

/// The statement that would end the influence of such a role on a relation; `None` without one.
fn remedy(relation: pg_sys::Oid, owner: pg_sys::Oid) -> Option<String> {
    let own = rights::owner(relation)?;
    if own != owner && !rights::has_rights_of(own, owner) {
        let to = Grantee::Role(owner).name();
        return Some(format!("ALTER TABLE {} OWNER TO {to}", table_name(relation)));
    }
    rights::stranger_with_trigger(relation, owner).map(|stranger| revoke(relation, stranger))
}

fn revoke(relation: pg_sys::Oid, stranger: Grantee) -> String {
    format!("REVOKE TRIGGER ON {} FROM {}", table_name(relation), stranger.name())
}

/// The relations that an UPDATE of ids changes: the family, and all tables whose foreign keys
/// follow, directly or through others.
fn updated(setup: &Setup) -> Vec<pg_sys::Oid> {
    let mut all = setup.family.relations.clone();
    let mut seen = 0;
    while let Some(&relation) = all.get(seen) {
        for table in updated_along(relation) {
            for table in all_inheritors(table, pg_sys::AccessShareLock) {
                if !all.contains(&table) {
                    all.push(table);
                }
            }
        }
        seen += 1;
    }
    all
}

/// The tables whose foreign keys follow an UPDATE of this relation.
fn updated_along(relation: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let following = [
        pg_sys::F_RI_FKEY_CASCADE_UPD,
        pg_sys::F_RI_FKEY_SETNULL_UPD,
        pg_sys::F_RI_FKEY_SETDEFAULT_UPD,
    ];
    let follows = |on: &On<'_>| following.contains(&on.trigger.tgfoid.to_u32());
    let follow = |table: Open<'_>| {
        table.triggers().filter(follows).map(|on| on.trigger.tgconstrrelid).collect()
    };
    Open::with(relation, pg_sys::AccessShareLock, follow).unwrap_or_default()
}
