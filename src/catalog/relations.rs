//! Triggers of a description, and indexes of an open relation.

use pgrx::{PgList, PgRelation, pg_sys};

/// The triggers of a description, which may be null.
///
/// # Safety
/// The description is null, or stays valid while the result is used.
pub unsafe fn described<'a>(all: *const pg_sys::TriggerDesc) -> &'a [pg_sys::Trigger] {
    // SAFETY: a description that is not null has `numtriggers` triggers.
    unsafe {
        all.as_ref().map_or(&[][..], |all| {
            std::slice::from_raw_parts(all.triggers, all.numtriggers.max(0) as usize)
        })
    }
}

/// The indexes of a relation. Each is locked (AccessShareLock) until its `PgRelation` is dropped.
///
/// # Safety
/// The relation is open.
pub unsafe fn indexes(relation: pg_sys::Relation) -> impl Iterator<Item = PgRelation> {
    // SAFETY: the relation is open; the list is a copy.
    let all = unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation)) };
    let all: Vec<pg_sys::Oid> = all.iter_oid().collect();
    all.into_iter()
        // SAFETY: the OID is an index of an open relation.
        .map(|oid| unsafe {
            PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE)
        })
}
