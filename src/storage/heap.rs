//! What the heap notes of a row beside its values.

use pgrx::pg_sys;

use crate::types::tid;

/// A copy of the header of the row with that packed TID, if there is one. `None` if the table is no
/// heap.
///
/// # Safety
/// The table is open, and has that page.
pub unsafe fn row_header(table: pg_sys::Relation, tid: u64) -> Option<pg_sys::HeapTupleHeaderData> {
    // SAFETY: as this function's. The page is pinned and locked while it is read; the offset is
    // checked.
    unsafe {
        if (*(*table).rd_rel).relam != pg_sys::HEAP_TABLE_AM_OID {
            return None;
        }
        let (number, offset) = tid::parts(tid);
        let buffer = pg_sys::ReadBuffer(table, number);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let page = pg_sys::BufferGetPage(buffer);
        let mut header = None;
        if offset >= 1 && offset <= pg_sys::PageGetMaxOffsetNumber(page) {
            let item = pg_sys::PageGetItemId(page, offset);
            if (*item).lp_flags() == pg_sys::LP_NORMAL {
                let row = pg_sys::PageGetItem(page, item).cast::<pg_sys::HeapTupleHeaderData>();
                header = Some(row.read_unaligned());
            }
        }
        pg_sys::UnlockReleaseBuffer(buffer);
        header
    }
}
