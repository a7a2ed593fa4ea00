//! ambulkdelete and amvacuumcleanup: remove the entries of rows that vacuum found dead.

use pgrx::pg_sys;

use super::kind::open;
use crate::storage::{IndexRel, family, with_key_type};
use crate::types::tid;

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambulkdelete(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
    callback: pg_sys::IndexBulkDeleteCallback,
    callback_state: *mut std::ffi::c_void,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: PostgreSQL passes an open index and, from the second call on, the stats that this
    // returned before.
    let (rel, stats) = unsafe { (IndexRel::new((*info).index), given_or_new(stats)) };
    let is_dead = |tid: u64| {
        let mut tid = tid::unpack(tid);
        callback.is_some_and(|callback| {
            // VACUUM's callback searches for the TID. The callback of CREATE INDEX CONCURRENTLY
            // feeds a sort and may raise an ERROR.
            // SAFETY: PostgreSQL passes the callback with its state, and it takes a TID.
            let call = || unsafe { callback(&mut tid, callback_state) };
            // SAFETY: the closure is one call of a C function, which may raise an ERROR.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(call) }
        })
    };
    let counts = with_key_type!(family(rel), K => open::<K>(rel).vacuum(&is_dead));
    stats.num_index_tuples = counts.remaining as f64;
    stats.tuples_removed += counts.removed as f64;
    stats.pages_newly_deleted += counts.newly_free;
    stats.pages_deleted = counts.free + counts.newly_free;
    stats.pages_free = counts.free + counts.newly_free;
    stats.estimated_count = false;
    stats
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amvacuumcleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: PostgreSQL passes what it knows of the vacuum.
    let info = unsafe { &*info };
    if info.analyze_only {
        return stats;
    }
    let is_new = stats.is_null();
    // SAFETY: PostgreSQL passes an open index, and stats that are null or what ambulkdelete
    // returned.
    let (rel, stats) = unsafe { (IndexRel::new(info.index), given_or_new(stats)) };
    if is_new {
        stats.num_index_tuples = info.num_heap_tuples;
        stats.estimated_count = true;
    }
    // SAFETY: the index is open.
    unsafe { pg_sys::IndexFreeSpaceMapVacuum(rel.as_ptr()) };
    stats.num_pages = rel.pages();
    stats
}

/// # Safety
/// `stats` is null, or has been returned by this, and nobody else uses it meanwhile.
unsafe fn given_or_new<'a>(
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> &'a mut pg_sys::IndexBulkDeleteResult {
    let room = size_of::<pg_sys::IndexBulkDeleteResult>();
    // SAFETY: zeroes are a valid value of this struct of numbers and flags.
    unsafe { &mut *if stats.is_null() { pg_sys::palloc0(room).cast() } else { stats } }
}
