//! The index scan functions that PostgreSQL calls: begin, rescan, one row or a bitmap at a time,
//! end.
//!
//! Where things are: [`keys`] and [`scopes`] (scan keys and order-bys), [`cursor`] (the scan's way
//! through the index), [`nearest`] (rows in the order of distances), [`nulls`] (rows without a
//! fingerprint), [`output`] (how a row is returned to the executor), [`burial`] (removal of dead
//! rows' entries), [`account`] (statistics of a scan).
//!
//! The state has a memory context of its own, whose deletion drops it, so a failed query leaks
//! nothing.

pub mod account;
mod burial;
mod cursor;
mod keys;
mod nearest;
mod nulls;
mod output;
mod scopes;

use pgrx::pg_sys;

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
    // SAFETY: PostgreSQL passes an open index. Between creation and registration of the state, only
    // allocations can fail.
    unsafe {
        let desc = pg_sys::RelationGetIndexScan(rel, keys, order_bys);
        let index = IndexRel::new(rel);
        let context = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"simhash scan".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        );
        let scan: Box<dyn Scan> =
            with_key_type!(family(index), K => Box::new(Cursor::<K>::new(open(index), context)));
        let callback: *mut pg_sys::MemoryContextCallback =
            pg_sys::MemoryContextAllocZero(context, size_of::<pg_sys::MemoryContextCallback>())
                .cast();
        let opaque = Box::into_raw(Box::new(Opaque { context, scan }));
        (*callback).func = Some(drop_opaque);
        (*callback).arg = opaque.cast();
        pg_sys::MemoryContextRegisterResetCallback(context, callback);
        (*desc).opaque = opaque.cast();
        (*desc).xs_itupdesc = (*rel).rd_att;
        if order_bys > 0 {
            let count = order_bys as usize;
            (*desc).xs_orderbyvals = pg_sys::palloc0(count * size_of::<pg_sys::Datum>()).cast();
            (*desc).xs_orderbynulls = pg_sys::palloc0(count * size_of::<bool>()).cast();
        }
        desc
    }
}

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
    // SAFETY: the descriptor has room for as many keys as the scan was begun with.
    unsafe {
        if !keys.is_null() && (*desc).numberOfKeys > 0 {
            std::ptr::copy(keys, (*desc).keyData, (*desc).numberOfKeys as usize);
        }
        if !order_bys.is_null() && (*desc).numberOfOrderBys > 0 {
            std::ptr::copy(order_bys, (*desc).orderByData, (*desc).numberOfOrderBys as usize);
        }
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
