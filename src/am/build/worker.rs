//! A worker of a parallel build: scans its share of the heap, sorts it for one block table after
//! the other, writes each to a file, and then writes stretches of the tables.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_index::TreeKey;

use super::collect::Collector;
use super::shared::{Chunks, Slot};
use super::sort::Share;
use super::stretches::Writing;
use crate::am::kind::open;
use crate::am::options::Options;
use crate::call::parallel::show_query;
use crate::compat;
use crate::storage::{IndexRel, family, with_key_type};

/// A worker's entry point, which PostgreSQL calls by its name.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_simhash_build_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the leader put every chunk into the table of contents before it launched workers.
    unsafe {
        let chunks = Chunks::find(toc);
        let Chunks { task, scan, slots, buffer_usage, wal_usage, query, .. } = chunks;
        show_query(query);
        pg_sys::SharedFileSetAttach(&raw mut (*task).files, segment);
        // The locks of the leader, whose lock group this process is in.
        let (heap_lock, index_lock) = if (*task).concurrent {
            (pg_sys::ShareUpdateExclusiveLock, pg_sys::RowExclusiveLock)
        } else {
            (pg_sys::ShareLock, pg_sys::AccessExclusiveLock)
        };
        let heap = pg_sys::table_open((*task).heap, heap_lock as i32);
        let rel = pg_sys::index_open((*task).index, index_lock as i32);

        pg_sys::InstrStartParallelQuery();
        let worker = pg_sys::ParallelWorkerNumber as usize;
        let slot = &*slots.add(worker);
        let index = IndexRel::new(rel);
        let scan = compat::begin_parallel_scan(heap, scan);
        with_key_type!(family(index), K => work::<K>(heap, index, chunks, slot, scan, worker));
        pg_sys::InstrEndParallelQuery(buffer_usage.add(worker), wal_usage.add(worker));

        pg_sys::index_close(rel, index_lock as i32);
        pg_sys::table_close(heap, heap_lock as i32);
    }
}

/// Scans, publishes the runs, and writes stretches while any are left.
unsafe fn work<K: TreeKey>(
    heap: pg_sys::Relation,
    rel: IndexRel,
    chunks: Chunks,
    slot: &Slot,
    scan: pg_sys::TableScanDesc,
    process: usize,
) {
    // SAFETY: the relations are open, and the shared memory with the task outlives this call.
    unsafe {
        let index = open::<K>(rel);
        let task = chunks.task;
        let set = &raw mut (*task).files;
        let share = |content| Some(Share { set, process, content });
        let mut collector = Collector::<K>::new(&index, (*task).memory, share);
        let info = pg_sys::BuildIndexInfo(rel.as_ptr());
        (*info).ii_Concurrent = (*task).concurrent;
        let heap_tuples = collector.scan(heap, rel, info, scan, false);
        slot.heap_tuples.store(heap_tuples.to_bits(), Ordering::Relaxed);
        slot.broken_hot_chain.store((*info).ii_BrokenHotChain, Ordering::Relaxed);
        collector.publish(slot);
        chunks.publish();
        chunks.wait_for_cut();
        let fill = Options::fillfactor(rel.as_ptr(), index.is_of_postings());
        Writing { chunks, rel, index: &index, fill }.write_all();
    }
}
