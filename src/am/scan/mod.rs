//! The index scan functions that PostgreSQL calls: begin, rescan, one row or a bitmap at a time,
//! end.
//!
//! Where things are: [`keys`] and [`scopes`] (scan keys and order-bys), [`cursor`] (the scan's way
//! through the index), [`nearest`] (rows in the order of distances), [`nulls`] (rows without a
//! fingerprint), [`output`] (how a row is returned to the executor), [`burial`] (removal of dead
//! rows' entries), [`account`] (statistics of a scan), [`context`] (memory contexts).
//!
//! The state has a memory context of its own, whose deletion drops it, so a failed query leaks
//! nothing.

pub mod account;
mod burial;
mod context;
mod cursor;
mod keys;
mod nearest;
mod nulls;
mod output;
mod scopes;

use pgrx::pg_sys;

use self::context::small_context;
use self::cursor::{Cursor, Scan};
use super::kind::open;
use crate::storage::{IndexRel, family, with_key_type};

/// The scan's state, to which the descriptor's `opaque` points.
struct Opaque {
    context: pg_sys::MemoryContext,
    scan: Box<dyn Scan>,
}

unsafe extern "C-unwind" fn drop_opaque(state: *mut std::ffi::c_void) {
    // SAFETY: the argument is the box that ambeginscan made, and a context calls its callback once.
    drop(unsafe { Box::from_raw(state.cast::<Opaque>()) });
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambeginscan(
    rel: pg_sys::Relation,
    keys: i32,
    order_bys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: PostgreSQL passes an open index, and keeps it open until the scan ends.
    let (index, context) = unsafe {
        let context = small_context(pg_sys::CurrentMemoryContext, c"simhash scan");
        (IndexRel::new(rel), context)
    };
    let scan: Box<dyn Scan> = with_key_type!(family(index), K => {
        // SAFETY: the context is the scan's own.
        Box::new(unsafe { Cursor::<K>::new(open(index), context) })
    });
    let bytes = size_of::<pg_sys::MemoryContextCallback>();
    // SAFETY: the context exists.
    let callback = unsafe { pg_sys::MemoryContextAllocZero(context, bytes) };
    let opaque = Box::into_raw(Box::new(Opaque { context, scan }));
    let callback = callback.cast::<pg_sys::MemoryContextCallback>();
    // SAFETY: the callback's record is in the context that it is registered with. It drops the
    // state, which is nobody else's, once.
    unsafe {
        (*callback).func = Some(drop_opaque);
        (*callback).arg = opaque.cast();
        pg_sys::MemoryContextRegisterResetCallback(context, callback);
    }
    let count = order_bys.max(0) as usize;
    let distances = (count * size_of::<pg_sys::Datum>(), count * size_of::<bool>());
    // SAFETY: the index is open, so it has a descriptor. The arrays have an element for each
    // order-by.
    unsafe {
        let desc = pg_sys::RelationGetIndexScan(rel, keys, order_bys);
        (*desc).opaque = opaque.cast();
        (*desc).xs_itupdesc = (*rel).rd_att;
        if count > 0 {
            (*desc).xs_orderbyvals = pg_sys::palloc0(distances.0).cast();
            (*desc).xs_orderbynulls = pg_sys::palloc0(distances.1).cast();
        }
        desc
    }
}

/// # Safety
/// `desc` is a scan that ambeginscan made and amendscan has not ended.
unsafe fn opaque<'a>(desc: pg_sys::IndexScanDesc) -> &'a mut Opaque {
    // SAFETY: the caller passes a scan that ambeginscan made and amendscan has not ended.
    unsafe { &mut *(*desc).opaque.cast::<Opaque>() }
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amrescan(
    desc: pg_sys::IndexScanDesc,
    keys: pg_sys::ScanKey,
    _n_keys: i32,
    order_bys: pg_sys::ScanKey,
    _n_order_bys: i32,
) {
    let replace = |stored: pg_sys::ScanKey, given: pg_sys::ScanKey, count: i32| {
        if !given.is_null() && count > 0 {
            // SAFETY: the descriptor has room for as many keys as the scan was begun with, and
            // PostgreSQL passes as many.
            unsafe { std::ptr::copy(given, stored, count as usize) };
        }
    };
    // SAFETY: PostgreSQL passes a scan that ambeginscan made and amendscan has not ended.
    unsafe {
        replace((*desc).keyData, keys, (*desc).numberOfKeys);
        replace((*desc).orderByData, order_bys, (*desc).numberOfOrderBys);
        opaque(desc).scan.restart(desc);
    }
}

/// Makes the scan skip further rows with the same scope and fingerprint as the row that it returned
/// last. It has no effect on an index of texts.
///
/// # Safety
/// `desc` is a scan of a simhash index that was begun and has not ended.
pub unsafe fn pass_copies(desc: pg_sys::IndexScanDesc) {
    // SAFETY: `desc` is such a scan.
    unsafe { opaque(desc).scan.pass_copies() }
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amgettuple(
    desc: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a scan that ambeginscan made and amendscan has not ended.
    unsafe { opaque(desc).scan.next_row(desc) }
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amgetbitmap(
    desc: pg_sys::IndexScanDesc,
    bitmap: *mut pg_sys::TIDBitmap,
) -> i64 {
    // SAFETY: PostgreSQL passes a scan that ambeginscan made and amendscan has not ended.
    unsafe { opaque(desc).scan.fill(bitmap) }
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amendscan(desc: pg_sys::IndexScanDesc) {
    // SAFETY: `opaque` is not used after the context's deletion, which drops the state.
    unsafe {
        let opaque = opaque(desc);
        opaque.scan.release();
        (*desc).opaque = std::ptr::null_mut();
        (*desc).xs_itup = std::ptr::null_mut();
        pg_sys::MemoryContextDelete(opaque.context);
    }
}
