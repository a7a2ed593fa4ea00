//! Looks up which of the indexed rows the query sees, and where their visible versions are.
//!
//! An index entry points to the root of a HOT chain. Between reading the entry and reading its heap
//! page, VACUUM may have removed the row, and a new row may have got its TID. The snapshot sees
//! neither: the old row was dead to every running snapshot, and the new row is younger than this
//! one.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::row;
use super::target::OpenedAll;
use crate::am::opened::Opened;
use crate::compat;
use crate::error::raise;
use crate::storage::{IndexRel, check_for_interrupts};
use crate::types::tid;

/// A heap in which rows are looked up.
pub struct Heap {
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
    heap: pg_sys::Relation,
    index: IndexRel,
    /// The heap has at least this many pages.
    pages: u32,
}

impl Heap {
    /// # Safety
    /// The heap must stay open while the result is used.
    pub unsafe fn new(opened: &Opened) -> Self {
        // SAFETY: the heap is open; a function called by a query has an active snapshot.
        unsafe {
            Self {
                fetch: compat::begin_fetch(opened.heap),
                slot: pg_sys::table_slot_create(opened.heap, std::ptr::null_mut()),
                snapshot: pg_sys::GetActiveSnapshot(),
                heap: opened.heap,
                index: opened.rel(),
                pages: 0,
            }
        }
    }

    /// The version of a row that the query sees, by the root of its HOT chain. The heap's page
    /// stays pinned until a row on another page is looked up.
    pub fn visible(&mut self, tid: u64) -> Option<u64> {
        check_for_interrupts();
        self.expect_page(tid);
        let mut item = tid::unpack(tid);
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
            .then(|| tid::pack(&(*self.slot).tts_tid))
        }
    }

    /// The slot of the row that [`Heap::visible`] or [`Heap::fetch`] found last.
    pub fn slot(&self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    /// Puts a version into the slot, by its own TID. False if the query does not see it.
    pub fn fetch(&mut self, tid: u64) -> bool {
        check_for_interrupts();
        let mut item = tid::unpack(tid);
        // SAFETY: the heap is open, slot and snapshot are valid.
        unsafe {
            pg_sys::table_tuple_fetch_row_version(self.heap, &mut item, self.snapshot, self.slot)
        }
    }

    /// A column of a version that the query sees, by the version's own TID. The value lives until
    /// another row is looked up.
    fn value(&mut self, tid: u64, column: pg_sys::AttrNumber) -> Option<pg_sys::Datum> {
        if !self.fetch(tid) {
            return None;
        }
        let mut is_null = true;
        // SAFETY: the slot has a row, the column is the heap's.
        unsafe {
            let value = pg_sys::slot_getattr(self.slot, i32::from(column), &mut is_null);
            (!is_null).then_some(value)
        }
    }

    /// Raises XX002 for a TID beyond the end of the heap.
    fn expect_page(&mut self, tid: u64) {
        let (page, offset) = tid::parts(tid);
        if page < self.pages {
            return;
        }
        // SAFETY: the heap stays open while this is used.
        self.pages = unsafe {
            pg_sys::RelationGetNumberOfBlocksInFork(self.heap, pg_sys::ForkNumber::MAIN_FORKNUM)
        };
        if page >= self.pages {
            raise(
                PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
                format!(
                    "index \"{}\" is damaged: it holds row ({page},{offset}), \
                     but its table ends before block {}",
                    self.index.name(),
                    self.pages
                ),
                "Look for failing storage, then REINDEX it.",
            );
        }
    }
}

/// Looks rows up in the heaps of several tables. The last one used is kept.
pub struct Heaps<'a> {
    opened: &'a OpenedAll,
    current: Option<(usize, Heap)>,
}

impl<'a> Heaps<'a> {
    pub fn new(opened: &'a OpenedAll) -> Self {
        Self { opened, current: None }
    }

    /// The version of a row that the query sees. Both are given by their numbers.
    pub fn visible(&mut self, number: u64) -> Option<u64> {
        let visible = self.heap(number).visible(row::tid(number))?;
        Some(row::number(row::table(number), visible))
    }

    /// A column of a version that the query sees, by the version's number. `columns` has the number
    /// of the column in each table.
    pub fn value(&mut self, number: u64, columns: &[pg_sys::AttrNumber]) -> Option<pg_sys::Datum> {
        let column = columns[row::table(number)];
        self.heap(number).value(row::tid(number), column)
    }

    /// The heap of a row.
    fn heap(&mut self, number: u64) -> &mut Heap {
        let (table, opened) = (row::table(number), self.opened);
        let kept = self.current.take().filter(|&(current, _)| current == table);
        // SAFETY: the heaps are open as long as this.
        let heap = || (table, unsafe { Heap::new(&opened[table]) });
        let (_, heap) = self.current.insert(kept.unwrap_or_else(heap));
        heap
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
