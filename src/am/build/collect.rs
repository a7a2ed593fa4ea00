//! Reading the heap for a build: every row's keys go to the sorters.

use pgrx::pg_sys;
use simhash_core::search::{BlockLayout, Key};

use super::sort::{Content, Share, Sorter};
use crate::am::keys::Keys;
use crate::am::kind::Kind;
use crate::storage::{Index, IndexRel};
use crate::types::tid;

/// What the scan of the heap collects.
pub struct Collector<F> {
    kind: Kind,
    pub sorter: Sorter<F>,
    pub nulls: Sorter<F>,
    pub rows: u64,
}

impl<F: Key> Collector<F> {
    /// A collector that keeps about `memory` bytes. A worker's sorters each have a share.
    pub fn new(index: &Index<F>, memory: usize, share: impl Fn(Content) -> Option<Share>) -> Self {
        let one = BlockLayout::new::<F>(1).expect("every width can be one block");
        let sorter =
            |layout, content: Content| Sorter::new(layout, content.memory(memory), share(content));
        Self {
            kind: Kind::of(index),
            sorter: sorter(index.layout, Content::Rows),
            nulls: sorter(one, Content::Nulls),
            rows: 0,
        }
    }

    /// Scans the heap, or as much of it as `scan` gives this process. Returns the number of tuples.
    ///
    /// # Safety
    /// The relations are open, `info` describes the index, `scan` is NULL or a scan of the heap.
    pub unsafe fn scan(
        &mut self,
        heap: pg_sys::Relation,
        rel: IndexRel,
        info: *mut pg_sys::IndexInfo,
        scan: pg_sys::TableScanDesc,
        progress: bool,
    ) -> f64 {
        // SAFETY: as this function's; the callback gets this collector, which outlives the scan.
        unsafe {
            pg_sys::table_index_build_scan(
                heap,
                rel.as_ptr(),
                info,
                true,
                progress,
                Some(collect::<F>),
                (&raw mut *self).cast(),
                scan,
            )
        }
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn collect<F: Key>(
    _rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes one value and the state that `Collector::scan` gave it.
    unsafe {
        let collector = &mut *state.cast::<Collector<F>>();
        let tid = tid::pack(&*tid);
        collector.rows += 1;
        let keys = (!*is_null).then(|| collector.kind.keys(*values));
        let keys = keys.as_ref().map_or(&[][..], Keys::as_slice);
        if keys.is_empty() {
            collector.nulls.push(F::ZERO, tid);
        }
        for &key in keys {
            collector.sorter.push(key, tid);
        }
    }
}
