//! An UPDATE that moves a row to another partition is a deletion there and an insertion here, and the insertion fires
//! the trigger again. The update was judged already; were the insertion judged too, a row that was a duplicate all along
//! would be skipped now, and be lost.

use std::cell::RefCell;
use std::ffi::CString;

use pgrx::pg_sys;

use super::search::Place;

/// A row of a partition for which an update was let pass.
#[derive(PartialEq, Eq)]
struct Passed {
    root: pg_sys::Oid,
    /// Every partition's copy of a trigger has the same name.
    trigger: CString,
    place: Place,
    subtransaction: pg_sys::SubTransactionId,
    fp: Option<u128>,
}

thread_local! {
    /// At most one for each trigger.
    static PASSED: RefCell<Vec<Passed>> = const { RefCell::new(Vec::new()) };
}

/// storage/itemptr.h: where the header of a row that moved to another partition points to.
const MOVED_OFFSET: u16 = 0xfffd;

fn subtransaction() -> pg_sys::SubTransactionId {
    // SAFETY: reads the transaction's state.
    unsafe { pg_sys::GetCurrentSubTransactionId() }
}

/// Remembers that the row at `place` may be updated.
pub fn note_update(root: pg_sys::Oid, trigger: CString, place: Place, fp: Option<u128>) {
    let passed = Passed { root, trigger, place, subtransaction: subtransaction(), fp };
    PASSED.with_borrow_mut(|all| {
        all.retain(|other| other.root != root || other.trigger != passed.trigger);
        all.push(passed);
    });
}

/// Whether this insertion into another partition is what became of the update noted last. Said once.
///
/// # Safety
/// In a trigger of the insertion.
pub unsafe fn is_second_half(
    root: pg_sys::Oid,
    trigger: &CString,
    table: pg_sys::Oid,
    fp: Option<u128>,
) -> bool {
    let noted = PASSED.with_borrow_mut(|all| {
        let place = all.iter().position(|passed| passed.root == root && passed.trigger == *trigger)?;
        Some(all.swap_remove(place))
    });
    noted.is_some_and(|passed| {
        passed.place.table != table
            && passed.subtransaction == subtransaction()
            && passed.fp == fp
            // SAFETY: this subtransaction locked the row, so it is there.
            && unsafe { has_moved(passed.place) }
    })
}

/// Whether the row's header says that it went to another partition.
unsafe fn has_moved(place: Place) -> bool {
    // SAFETY: the buffer is pinned and locked while the page is read; the offset is checked.
    unsafe {
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        let relation = pg_sys::try_relation_open(place.table, lock);
        if relation.is_null() {
            return false;
        }
        let is_heap = (*(*relation).rd_rel).relam == pg_sys::HEAP_TABLE_AM_OID;
        let mut moved = false;
        if is_heap {
            let (block, offset) = pgrx::itemptr::u64_to_item_pointer_parts(place.tid);
            let buffer = pg_sys::ReadBuffer(relation, block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = pg_sys::BufferGetPage(buffer);
            if offset >= 1 && offset <= pg_sys::PageGetMaxOffsetNumber(page) {
                let item = pg_sys::PageGetItemId(page, offset);
                if (*item).lp_flags() == pg_sys::LP_NORMAL {
                    let header = pg_sys::PageGetItem(page, item).cast::<pg_sys::HeapTupleHeaderData>();
                    let next = (*header).t_ctid;
                    moved = next.ip_posid == MOVED_OFFSET
                        && (next.ip_blkid.bi_hi, next.ip_blkid.bi_lo) == (u16::MAX, u16::MAX);
                }
            }
            pg_sys::UnlockReleaseBuffer(buffer);
        }
        pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
        moved
    }
}
