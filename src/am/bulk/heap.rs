//! Which of the rows that an index names the query can see, and where their visible versions are.
//!
//! An entry of the index is the root of a chain of versions (HOT). It is read before its heap page is
//! looked at. Vacuum may have taken the row away in between, and a new row may have its TID; neither can
//! be seen by the snapshot: the old row was dead to every running snapshot, the new one is younger than
//! this one.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::am::opened::Opened;
use crate::am::{check_for_interrupts, pack_tid, unpack_tid};
use crate::error::raise;
use crate::storage::IndexRel;

/// A table being looked into.
pub struct Heap {
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
    table: pg_sys::Relation,
    index: IndexRel,
    /// The table is known to have so many blocks.
    blocks: u32,
}

impl Heap {
    /// # Safety
    /// The table must stay open while the result is used.
    pub unsafe fn new(opened: &Opened) -> Self {
        // SAFETY: the table is open; a function called by a query has an active snapshot.
        unsafe {
            Self {
                fetch: pg_sys::table_index_fetch_begin(opened.table),
                slot: pg_sys::table_slot_create(opened.table, std::ptr::null_mut()),
                snapshot: pg_sys::GetActiveSnapshot(),
                table: opened.table,
                index: opened.rel(),
                blocks: 0,
            }
        }
    }

    /// The version of a row that the query sees. Neighbours asked for one after the other share the page's pin.
    pub fn visible(&mut self, tid: u64) -> Option<u64> {
        check_for_interrupts();
        self.expect_block(tid);
        let mut item = unpack_tid(tid);
        let (mut again, mut all_dead) = (false, false);
        // SAFETY: scan, slot and snapshot are valid; the slot's TID is that of the version found.
        unsafe {
            pg_sys::table_index_fetch_tuple(
                self.fetch,
                &mut item,
                self.snapshot,
                self.slot,
                &mut again,
                &mut all_dead,
            )
            .then(|| pack_tid(&(*self.slot).tts_tid))
        }
    }
}

impl Heap {
    /// Raises XX002 for a TID beyond the end of the table.
    fn expect_block(&mut self, tid: u64) {
        let (block, offset) = ((tid >> 16) as u32, tid & 0xffff);
        if block < self.blocks {
            return;
        }
        // SAFETY: the table stays open while this is used.
        self.blocks =
            unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.table, pg_sys::ForkNumber::MAIN_FORKNUM) };
        if block >= self.blocks {
            raise(
                PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
                format!(
                    "index \"{}\" is damaged: it holds row ({block},{offset}), but its table ends before block {}",
                    self.index.name(),
                    self.blocks
                ),
                "Look for failing storage, then REINDEX it.",
            );
        }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `new`.
            unsafe {
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::table_index_fetch_end(self.fetch);
            }
        }
    }
}
