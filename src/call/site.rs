//! Data that a call site keeps from row to row.

use pgrx::{PgMemoryContexts, pg_sys};

/// The call site's data. It is made at the first row, and again if `serves` returns false: it was
/// made for another key. A call site must always use the same types.
pub fn keep<'a, K, T>(
    fcinfo: pg_sys::FunctionCallInfo,
    serves: impl FnOnce(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> &'a mut T {
    // SAFETY: PostgreSQL passes a valid call.
    let flinfo = unsafe { (*fcinfo).flinfo };
    if flinfo.is_null() {
        let made = PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(make());
        // SAFETY: the context keeps it, and nobody else has it.
        return unsafe { &mut (*made).1 };
    }
    // SAFETY: the call's function is described, with the context that keeps fn_extra.
    let (mut site, context) = unsafe { ((*flinfo).fn_extra.cast::<(K, T)>(), (*flinfo).fn_mcxt) };
    // SAFETY: only this module uses fn_extra, which points into fn_mcxt and so outlives the call.
    let serves = |site: *mut (K, T)| serves(unsafe { &(*site).0 });
    if site.is_null() {
        site = PgMemoryContexts::For(context).leak_and_drop_on_delete(make());
        // SAFETY: the call's function is described.
        unsafe { (*flinfo).fn_extra = site.cast() };
    } else if !serves(site) {
        let made = make();
        // SAFETY: the call site's data is of these types, and nobody refers to it now.
        unsafe { *site = made };
    }
    // SAFETY: the data is of these types. There is only one reference: a function does not call
    // itself.
    unsafe { &mut (*site).1 }
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
    // The mark is only compared; palloc never returns its address.
    // SAFETY: PostgreSQL passes a valid call. Nobody else uses the description meanwhile.
    let flinfo = unsafe { (*fcinfo).flinfo.as_mut() }?;
    if flinfo.fn_extra.is_null() {
        flinfo.fn_extra = called;
        return None;
    }
    if flinfo.fn_extra == called {
        flinfo.fn_extra = std::ptr::null_mut();
    }
    Some(keep(fcinfo, serves, make))
}
