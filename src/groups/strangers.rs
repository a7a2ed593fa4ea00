//! Roles that have a say in what happens to a table, and have not the rights of its owner.
//!
//! Who may create triggers on a table may create `simhash_cluster` there, and say which column it
//! sets. And somebody else who settles does it as the table's owner. Then code of strangers would
//! run with the owner's rights, although the owner has done nothing.

use pgrx::{PgRelation, PgSqlErrorCode, pg_sys};

use super::setup::Setup;
use crate::catalog::inheritance::all_inheritors;
use crate::catalog::names::{relation_name, table_name};
use crate::catalog::relations::triggers;
use crate::catalog::rights::{self, Grantee};
use crate::error::raise;

/// Raises 42501 if the writer has to have rights on the table himself, and has not: whether rows
/// that he writes have groups must not decide that.
pub fn check_rights(setup: &Setup) {
    rights_for_ids(setup);
}

/// With whose rights groups are read, and ids written: the owner's, unless a stranger may create
/// the trigger. Then it is the writer, who needs the rights himself. Raises 42501 if he has not.
pub fn rights_for_ids(setup: &Setup) -> pg_sys::Oid {
    // SAFETY: reads the session's state.
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
            "ids of table \"{}\" are not changed with its owner's rights",
            relation_name(table)
        ),
        &format!("Others may create triggers that change them: {};", revoke(table, stranger)),
    )
}

/// Raises 42501 if roles that have not the rights of the table's owner have code of theirs run by
/// an UPDATE of ids: who may create triggers on the table, and who owns a partition, its triggers,
/// checks and indexes. So has who owns a table of which a foreign key is updated along, for its
/// triggers fire at the end of the UPDATE.
pub fn refuse(setup: &Setup) {
    let remedy = |&relation: &pg_sys::Oid| remedy(relation, setup.owner);
    let Some(remedy) = updated(setup).iter().find_map(remedy) else { return };
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("groups of table \"{}\" are settled by its owner only", relation_name(setup.table)),
        &format!("Code of others would run with the owner's rights: {remedy};"),
    )
}

/// What would take a table from those who have not the owner's rights; nothing if none of them has
/// it.
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

/// The tables that an UPDATE of ids changes: the family, and those that foreign keys update along,
/// one after the other.
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

/// The tables whose foreign keys follow an UPDATE of this one.
fn updated_along(relation: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let following = [
        pg_sys::F_RI_FKEY_CASCADE_UPD,
        pg_sys::F_RI_FKEY_SETNULL_UPD,
        pg_sys::F_RI_FKEY_SETDEFAULT_UPD,
    ];
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: the triggers of an open relation; each has the table that its constraint is on.
    unsafe {
        let relation = PgRelation::with_lock(relation, lock);
        let follows = |trigger: &&pg_sys::Trigger| following.contains(&trigger.tgfoid.to_u32());
        triggers(relation.as_ptr())
            .iter()
            .filter(follows)
            .map(|trigger| trigger.tgconstrrelid)
            .collect()
    }
}
