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
    unsafe {
        let rel = IndexRel::new((*info).index);
        let stats = if stats.is_null() { new_stats() } else { stats };
        let is_dead = |tid: u64| {
            let mut tid = tid::unpack(tid);
            callback.is_some_and(|callback| {
                // VACUUM's callback searches for the TID. The callback of CREATE INDEX CONCURRENTLY
                // feeds a sort and may raise an ERROR.
                pg_sys::ffi::pg_guard_ffi_boundary(|| callback(&mut tid, callback_state))
            })
        };
        let counts = with_key_type!(family(rel), K => open::<K>(rel).vacuum(&is_dead));
        (*stats).num_index_tuples = counts.remaining as f64;
        (*stats).tuples_removed += counts.removed as f64;
        (*stats).pages_newly_deleted += counts.newly_free;
        (*stats).pages_deleted = counts.free + counts.newly_free;
        (*stats).pages_free = counts.free + counts.newly_free;
        (*stats).estimated_count = false;
        stats
    }
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amvacuumcleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: PostgreSQL passes an open index, and stats that are null or what ambulkdelete
    // returned.
    unsafe {
        if (*info).analyze_only {
            return stats;
        }
        let rel = IndexRel::new((*info).index);
        let stats = if stats.is_null() {
            let stats = new_stats();
            (*stats).num_index_tuples = (*info).num_heap_tuples;
            (*stats).estimated_count = true;
            stats
        } else {
            stats
        };
        pg_sys::IndexFreeSpaceMapVacuum(rel.as_ptr());
        (*stats).num_pages = rel.pages();
        stats
    }
}

unsafe fn new_stats() -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: zeroes are a valid value of this struct of numbers and flags.
    unsafe { pg_sys::palloc0(size_of::<pg_sys::IndexBulkDeleteResult>()).cast() }
}
