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
use crate::storage::check_for_interrupts;
use crate::types::tid;

/// A heap in which rows are looked up.
///
/// Invariant: scan, slot and snapshot are valid, and the scan and the slot are of the open heap.
pub struct Heap<'a> {
    opened: &'a Opened,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
    /// The heap has at least this many pages.
    pages: u32,
}

/// The number of pages that a heap has now.
pub fn heap_pages(opened: &Opened) -> u32 {
    let main = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: the heap is open as long as `opened` exists.
    unsafe { pg_sys::RelationGetNumberOfBlocksInFork(opened.heap, main) }
}

impl<'a> Heap<'a> {
    pub fn new(opened: &'a Opened) -> Self {
        // SAFETY: the heap is open as long as `opened` exists.
        let fetch = unsafe { compat::begin_fetch(opened.heap) };
        // SAFETY: the heap is open.
        let slot = unsafe { pg_sys::table_slot_create(opened.heap, std::ptr::null_mut()) };
        // SAFETY: a function called by a query has an active snapshot.
        let snapshot = unsafe { pg_sys::GetActiveSnapshot() };
        Self { opened, fetch, slot, snapshot, pages: 0 }
    }

    /// The version of a row that the query sees, by the root of its HOT chain. The heap's page
    /// stays pinned until a row on another page is looked up.
    pub fn visible(&mut self, tid: u64) -> Option<u64> {
        check_for_interrupts();
        self.expect_page(tid);
        let mut item = tid::unpack(tid);
        let (mut again, mut dead) = (false, false);
        let &mut Self { fetch, slot, snapshot, .. } = self;
        // SAFETY: scan, slot and snapshot are valid.
        let is_found = unsafe {
            pg_sys::table_index_fetch_tuple(fetch, &mut item, snapshot, slot, &mut again, &mut dead)
        };
        // SAFETY: the slot's TID is that of the version found.
        is_found.then(|| tid::pack(unsafe { &(*slot).tts_tid }))
    }

    /// The slot of the row that [`Heap::visible`] or [`Heap::fetch`] found last. `None` before
    /// that, and if the heap is not that of `opened`.
    pub fn slot_of(&self, opened: &Opened) -> Option<*mut pg_sys::TupleTableSlot> {
        // SAFETY: the slot is valid.
        let flags = unsafe { (*self.slot).tts_flags };
        let has_row = u32::from(flags) & pg_sys::TTS_FLAG_EMPTY == 0;
        (has_row && self.opened.heap == opened.heap).then_some(self.slot)
    }

    /// Puts a version into the slot, by its own TID. False if the query does not see it.
    pub fn fetch(&mut self, tid: u64) -> bool {
        check_for_interrupts();
        let mut item = tid::unpack(tid);
        let (heap, snapshot, slot) = (self.opened.heap, self.snapshot, self.slot);
        // SAFETY: the heap is open, slot and snapshot are valid.
        unsafe { pg_sys::table_tuple_fetch_row_version(heap, &mut item, snapshot, slot) }
    }

    /// A column of a version that the query sees, by the version's own TID. The value lives until
    /// another row is looked up.
    fn value(&mut self, tid: u64, column: pg_sys::AttrNumber) -> Option<pg_sys::Datum> {
        if !self.fetch(tid) {
            return None;
        }
        let mut is_null = true;
        // SAFETY: the slot has a row, the column is the heap's.
        let value = unsafe { pg_sys::slot_getattr(self.slot, i32::from(column), &mut is_null) };
        (!is_null).then_some(value)
    }

    /// Raises XX002 for a TID beyond the end of the heap.
    fn expect_page(&mut self, tid: u64) {
        let (page, offset) = tid::parts(tid);
        if page < self.pages {
            return;
        }
        self.pages = heap_pages(self.opened);
        if page >= self.pages {
            raise(
                PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
                format!(
                    "index \"{}\" is damaged: it contains row ({page},{offset}), but its table \
                     ends before block {}",
                    self.opened.rel().name(),
                    self.pages
                ),
                "Check the storage, then REINDEX the index.",
            );
        }
    }
}

/// Looks rows up in the heaps of several tables. The last one used is kept.
pub struct Heaps<'a> {
    opened: &'a OpenedAll,
    current: Option<(usize, Heap<'a>)>,
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
    fn heap(&mut self, number: u64) -> &mut Heap<'a> {
        let (table, opened) = (row::table(number), self.opened);
        let kept = self.current.take().filter(|&(current, _)| current == table);
        let heap = || (table, Heap::new(&opened[table]));
        let (_, heap) = self.current.insert(kept.unwrap_or_else(heap));
        heap
    }
}

impl Drop for Heap<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `new`.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
            // SAFETY: begun by `new`.
            unsafe { pg_sys::table_index_fetch_end(self.fetch) };
        }
    }
}
