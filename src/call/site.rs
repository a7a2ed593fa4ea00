//! Data that a call site keeps from row to row.

use pgrx::{PgMemoryContexts, pg_sys};

/// The call site's data. It is made at the first row, and again if `serves` returns false: it was
/// made for another key. A call site must always use the same types.
pub fn keep<'a, K, T>(
    fcinfo: pg_sys::FunctionCallInfo,
    serves: impl FnOnce(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> &'a mut T {
    // SAFETY: PostgreSQL passes a valid call. Only this module uses fn_extra, which points into
    // fn_mcxt and so outlives the call. There is only one reference: a function does not call
    // itself.
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

/// As [`keep`], but from the second call on; the first call makes nothing. PostgreSQL calls some
/// functions with a call site that is used once (index_recheck_constraint).
pub fn keep_later<'a, K, T>(
    fcinfo: pg_sys::FunctionCallInfo,
    serves: impl FnOnce(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> Option<&'a mut T> {
    static CALLED: u8 = 0;
    let called: *mut std::ffi::c_void = (&raw const CALLED).cast_mut().cast();
    // SAFETY: as in `keep`. The mark is only compared; palloc never returns its address.
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
