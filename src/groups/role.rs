//! The role that reads the rows of groups and tells them ids: the owner of the table, or whoever
//! writes to it.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::setup::Setup;
use crate::catalog::names::relation_name;
use crate::catalog::rights::{self, Grantee};
use crate::error::raise;
use crate::trigger::warnings::table_name;

/// The owner, unless others have code of theirs run by what he does: who may create triggers on the
/// table (and could create `simhash_cluster`, too), or owns a partition, its triggers, checks and
/// indexes. They may not act as the owner by a row that they write. Then it is the writer, who
/// needs the rights himself. Raises 42501 if he has not.
pub fn role(setup: &Setup) -> pg_sys::Oid {
    // SAFETY: reads the session's state.
    let (owner, writer) = (setup.owner, unsafe { pg_sys::GetUserId() });
    if rights::has_rights_of(writer, owner) {
        return owner;
    }
    let remedy = |&relation: &pg_sys::Oid| remedy(relation, owner);
    let Some(remedy) = setup.family.relations.iter().find_map(remedy) else { return owner };
    let table = setup.table;
    if rights::may_read_and_update(table, writer) && !rights::hides_rows(table, writer) {
        return writer;
    }
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!(
            "ids of table \"{}\" are not changed with its owner's rights",
            relation_name(table)
        ),
        &format!("Code of others would run with these rights: {remedy};"),
    )
}

/// What would take a table, or a partition, from those who have not the owner's rights; nothing if
/// none of them has it.
fn remedy(relation: pg_sys::Oid, owner: pg_sys::Oid) -> Option<String> {
    let own = rights::owner(relation)?;
    if own != owner && !rights::has_rights_of(own, owner) {
        let to = Grantee::Role(owner).name();
        return Some(format!("ALTER TABLE {} OWNER TO {to}", table_name(relation)));
    }
    let stranger = rights::stranger_with_trigger(relation, owner)?;
    Some(format!("REVOKE TRIGGER ON {} FROM {}", table_name(relation), stranger.name()))
}
