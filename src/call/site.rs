//! What a call site keeps from row to row.

use pgrx::{PgMemoryContexts, pg_sys};

/// What the call site keeps: made at the first row, and again when `serves` says that it was made
/// for another key than this row's. A call site must always ask for the same type.
pub fn keep<'a, K, T>(
    fcinfo: pg_sys::FunctionCallInfo,
    serves: impl FnOnce(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> &'a mut T {
    // SAFETY: PostgreSQL passes a valid call; fn_extra is ours alone, and what it points to lives
    // as long as fn_mcxt, which outlives the call. No two references exist: a function does not
    // call itself.
    unsafe {
        let flinfo = (*fcinfo).flinfo;
        if flinfo.is_null() {
            let mut context = PgMemoryContexts::CurrentMemoryContext;
            return &mut (*context.leak_and_drop_on_delete(make())).1;
        }
        let mut site = (*flinfo).fn_extra as *mut (K, T);
        if site.is_null() {
            site = PgMemoryContexts::For((*flinfo).fn_mcxt).leak_and_drop_on_delete(make());
            (*flinfo).fn_extra = site.cast();
        } else if !serves(&(*site).0) {
            *site = make();
        }
        &mut (*site).1
    }
}

/// As [`keep`], but from a call site's second call on: the first makes nothing, for PostgreSQL
/// calls some functions without a call site that lasts (index_recheck_constraint).
pub fn keep_later<'a, K, T>(
    fcinfo: pg_sys::FunctionCallInfo,
    serves: impl FnOnce(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> Option<&'a mut T> {
    static CALLED: u8 = 0;
    let called: *mut std::ffi::c_void = (&raw const CALLED).cast_mut().cast();
    // SAFETY: as `keep`. The mark is only compared; it is no address that palloc returns.
    unsafe {
        let flinfo = (*fcinfo).flinfo;
        if flinfo.is_null() || (*flinfo).fn_extra.is_null() {
            if !flinfo.is_null() {
                (*flinfo).fn_extra = called;
            }
            return None;
        }
        if (*flinfo).fn_extra == called {
            (*flinfo).fn_extra = std::ptr::null_mut();
        }
    }
    Some(keep(fcinfo, serves, make))
}
