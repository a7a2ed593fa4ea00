//! Scans the heap for a build, and passes every row's keys to the sorters.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_core::search::BlockLayout;
use simhash_index::key::Bytes;
use simhash_index::{Row, TreeKey};

use super::shared::Slot;
use super::sort::{Content, Share, Sorter};
use crate::am::keys::RowReader;
use crate::storage::{Index, IndexRel};

/// The state of the heap scan's callback.
pub struct Collector<K: TreeKey> {
    reader: RowReader,
    /// Whether the keys are postings. Every row is then in the table of rows.
    has_postings: bool,
    pub sorter: Sorter<K>,
    pub nulls: Sorter<K>,
    pub rows: u64,
}

impl<K: TreeKey> Collector<K> {
    /// A collector that keeps about `memory` bytes. In a parallel build, `share` gives each
    /// sorter's share.
    pub fn new(index: &Index<K>, memory: usize, share: impl Fn(Content) -> Option<Share>) -> Self {
        let one = BlockLayout::of_bits(index.layout.bits(), 1).expect("any width can be one block");
        let sorter = |layout, content: Content| {
            let shape = index.shape.at(content.last_table(index));
            Sorter::new(layout, shape, content.memory(memory), share(content))
        };
        let has_postings = index.is_of_postings();
        Self {
            reader: RowReader::new(index),
            has_postings,
            sorter: sorter(if has_postings { one } else { index.layout }, Content::Rows),
            nulls: sorter(one, Content::Nulls),
            rows: 0,
        }
    }

    /// Writes all rows to shared files, for the processes that write the block tables, and stores
    /// their numbers in this process's slot.
    pub fn publish(self, slot: &Slot) {
        slot.rows.store(self.rows, Ordering::Relaxed);
        for (content, sorter) in [(Content::Rows, self.sorter), (Content::Nulls, self.nulls)] {
            slot.entries(content).store(sorter.len(), Ordering::Relaxed);
            sorter.publish();
        }
    }

    /// Scans the heap, or the part that `scan` gives this process. Returns the number of tuples.
    ///
    /// # Safety
    /// The relations are open, `info` describes the index, and `scan` is null or a scan of the
    /// heap.
    pub unsafe fn scan(
        &mut self,
        heap: pg_sys::Relation,
        rel: IndexRel,
        info: *mut pg_sys::IndexInfo,
        scan: pg_sys::TableScanDesc,
        progress: bool,
    ) -> f64 {
        let each: pg_sys::IndexBuildCallback = Some(collect::<K>);
        let (rel, state) = (rel.as_ptr(), (&raw mut *self).cast());
        // SAFETY: the relations are open and `info` is valid. The callback gets this collector,
        // which outlives the scan.
        unsafe {
            pg_sys::table_index_build_scan(heap, rel, info, true, progress, each, state, scan)
        }
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn collect<K: TreeKey>(
    _rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes the state that `Collector::scan` gave it.
    let collector = unsafe { &mut *state.cast::<Collector<K>>() };
    collector.rows += 1;
    // SAFETY: PostgreSQL passes a value of each column, and the row's TID.
    let row = unsafe { collector.reader.read::<K>(values, is_null, tid) };
    if collector.has_postings {
        collector.nulls.push(row.beside.row(row.presence().key()));
        for &key in row.keys() {
            collector.sorter.push(Row { payload: K::Payload::ZERO, ..row.beside.row(key) });
        }
        return;
    }
    if row.keys().is_empty() {
        collector.nulls.push(row.beside.row(K::Fingerprint::ZERO));
    }
    for &key in row.keys() {
        collector.sorter.push(row.beside.row(key));
    }
}
