//! aminsert: one row into every table.

use pgrx::pg_sys;

use super::kind::{Kind, open};
use super::{pack_tid, with_key_type};
use crate::storage::IndexRel;
use crate::storage::cache::bits;

/// aminsert.
#[cfg(not(feature = "pg13"))]
#[allow(clippy::too_many_arguments)]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn aminsert(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    _heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _unchanged: bool,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, one value, and the row's TID.
    unsafe { insert_row(rel, values, is_null, heap_tid) }
}

/// aminsert, as it was before 14.
#[cfg(feature = "pg13")]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn aminsert(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    _heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, one value, and the row's TID.
    unsafe { insert_row(rel, values, is_null, heap_tid) }
}

/// Whether the row was unique is not this access method's to say: always false.
unsafe fn insert_row(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
) -> bool {
    // SAFETY: as aminsert's.
    unsafe {
        let rel = IndexRel::new(rel);
        let tid = pack_tid(&*heap_tid);
        with_key_type!(bits(rel), F => {
            let index = open::<F>(rel);
            if *is_null {
                index.insert(&[], tid);
            } else {
                index.insert(Kind::of(&index).keys::<F>(*values).as_slice(), tid);
            }
        });
    }
    false
}
