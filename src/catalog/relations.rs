//! The kind of a relation, the triggers of a description, and the indexes of an open relation.

use pgrx::{PgList, PgRelation, pg_sys};

/// The kind of a relation, as in pg_class.relkind; 0 if it does not exist.
pub fn kind(relation: pg_sys::Oid) -> u8 {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 }
}

/// The OIDs of a list.
///
/// # Safety
/// The list is null or one of OIDs.
pub unsafe fn listed(oids: *mut pg_sys::List) -> Vec<pg_sys::Oid> {
    // SAFETY: the caller's list is one of OIDs, which are copied.
    unsafe { PgList::<pg_sys::Oid>::from_pg(oids).iter_oid().collect() }
}

/// The triggers of a description, which may be null.
///
/// # Safety
/// The description is null, or stays valid while the result is used.
pub unsafe fn described<'a>(all: *const pg_sys::TriggerDesc) -> &'a [pg_sys::Trigger] {
    // SAFETY: the description is null or valid.
    let Some(all) = (unsafe { all.as_ref() }) else { return &[] };
    // SAFETY: a description has `numtriggers` triggers.
    unsafe { std::slice::from_raw_parts(all.triggers, all.numtriggers.max(0) as usize) }
}

/// The indexes of a relation. Each is locked (AccessShareLock) until its `PgRelation` is dropped.
///
/// # Safety
/// The relation is open.
pub unsafe fn indexes(relation: pg_sys::Relation) -> impl Iterator<Item = PgRelation> {
    // SAFETY: the relation is open, and the list is one of OIDs.
    let all = unsafe { listed(pg_sys::RelationGetIndexList(relation)) };
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: the OID is an index of an open relation.
    all.into_iter().map(move |oid| unsafe { PgRelation::with_lock(oid, lock) })
}
