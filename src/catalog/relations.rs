//! What an open relation has.

use pgrx::{PgList, PgRelation, pg_sys};

/// The triggers of a relation.
///
/// # Safety
/// The relation is open, and not read anew, as long as the result is used.
pub unsafe fn triggers<'a>(relation: pg_sys::Relation) -> &'a [pg_sys::Trigger] {
    // SAFETY: as this function's.
    unsafe { described((*relation).trigdesc) }
}

/// The triggers of a description, which may be null.
///
/// # Safety
/// It is there as long as the result is used.
pub unsafe fn described<'a>(all: *const pg_sys::TriggerDesc) -> &'a [pg_sys::Trigger] {
    // SAFETY: as this function's: it has as many triggers as it says.
    unsafe {
        all.as_ref().map_or(&[][..], |all| {
            std::slice::from_raw_parts(all.triggers, all.numtriggers.max(0) as usize)
        })
    }
}

/// The indexes of a relation, each locked while it is looked at.
///
/// # Safety
/// The relation is open.
pub unsafe fn indexes(relation: pg_sys::Relation) -> impl Iterator<Item = PgRelation> {
    // SAFETY: as this function's; the list is a copy.
    let all = unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation)) };
    let all: Vec<pg_sys::Oid> = all.iter_oid().collect();
    all.into_iter()
        // SAFETY: an index of a relation that is open.
        .map(|oid| unsafe {
            PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE)
        })
}
