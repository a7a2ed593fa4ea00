//! What parallel operations have in common: chunks of shared memory under keys, and the statement
//! that workers show.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys;

/// Tells a new context how much memory chunks of these keys and sizes will need.
///
/// # Safety
/// The context's memory is not made yet.
pub unsafe fn estimate(context: *mut pg_sys::ParallelContext, chunks: &[(u64, usize)]) {
    // SAFETY: as this function's.
    unsafe {
        let estimator = &mut (*context).estimator;
        for &(_, bytes) in chunks {
            let aligned = bytes.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
            estimator.space_for_chunks = pg_sys::add_size(estimator.space_for_chunks, aligned);
            estimator.number_of_keys += 1;
        }
    }
}

/// Makes the chunks. They are to be filled before workers are launched.
///
/// # Safety
/// The context's memory was made after [`estimate`] with the same chunks.
pub unsafe fn allocate(context: *mut pg_sys::ParallelContext, chunks: &[(u64, usize)]) {
    // SAFETY: every chunk was estimated.
    unsafe {
        let toc = (*context).toc;
        for &(key, bytes) in chunks {
            pg_sys::shm_toc_insert(toc, key, pg_sys::shm_toc_allocate(toc, bytes));
        }
    }
}

/// The statement that workers show in pg_stat_activity.
pub fn current_query() -> &'static CStr {
    // SAFETY: NULL or the statement's text, which outlives it.
    unsafe {
        let query = pg_sys::debug_query_string;
        if query.is_null() { c"" } else { CStr::from_ptr(query) }
    }
}

/// Shows the leader's statement as this worker's.
///
/// # Safety
/// The statement is in shared memory that the worker is attached to until its end.
pub unsafe fn show_query(query: *const c_char) {
    // SAFETY: as this function's.
    unsafe {
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
    }
}
