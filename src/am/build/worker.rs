//! A worker of a parallel build: scans its share of the heap, sorts it for one block table after
//! the other, writes each to a file, and then writes stretches of the tables.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_index::TreeKey;

use super::collect::Collector;
use super::shared::Chunks;
use super::sort::Share;
use super::stretches::Writing;
use crate::am::kind::open;
use crate::am::options::Options;
use crate::storage::{IndexRel, family, with_key_type};

/// A worker's entry point, which PostgreSQL calls by its name.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_simhash_build_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the leader created the chunks before it launched workers.
    let chunks = unsafe { Chunks::attach(segment, toc) };
    let task = chunks.task();
    // The locks of the leader, whose lock group this process is in.
    let (heap_lock, index_lock) = if task.concurrent {
        (pg_sys::ShareUpdateExclusiveLock as i32, pg_sys::RowExclusiveLock as i32)
    } else {
        (pg_sys::ShareLock as i32, pg_sys::AccessExclusiveLock as i32)
    };
    // SAFETY: the leader has both open. They are closed below, after their last use.
    let (heap, rel, index) = unsafe {
        let heap = pg_sys::table_open(task.heap, heap_lock);
        let rel = pg_sys::index_open(task.index, index_lock);
        pg_sys::InstrStartParallelQuery();
        (heap, rel, IndexRel::new(rel))
    };
    // SAFETY: the relations are open, and are those of the build.
    with_key_type!(family(index), K => unsafe { work::<K>(heap, index, chunks) });
    // SAFETY: the usage since the start is counted for this worker. Nobody uses the relations now.
    unsafe {
        let (buffers, wal) = chunks.usage(pg_sys::ParallelWorkerNumber as usize);
        pg_sys::InstrEndParallelQuery(buffers, wal);
        pg_sys::index_close(rel, index_lock);
        pg_sys::table_close(heap, heap_lock);
    }
}

/// Scans, publishes the runs, and writes stretches while any are left.
///
/// # Safety
/// This process is a worker. The table and its index are open, and are those of the build.
unsafe fn work<K: TreeKey>(heap: pg_sys::Relation, rel: IndexRel, chunks: Chunks) {
    // SAFETY: the table is open.
    let scan = unsafe { chunks.scan(heap) };
    // SAFETY: a variable of this process, which is a worker.
    let process = unsafe { pg_sys::ParallelWorkerNumber } as usize;
    // SAFETY: the number is this worker's.
    let slot = unsafe { chunks.slot(process) };
    let index = open::<K>(rel);
    let share = |content| Some(Share { set: chunks.files(), process, content });
    let task = chunks.task();
    let mut collector = Collector::<K>::new(&index, task.memory, share);
    // SAFETY: the relations are open; the description is this process's own.
    let (heap_tuples, broken) = unsafe {
        let info = pg_sys::BuildIndexInfo(rel.as_ptr());
        (*info).ii_Concurrent = task.concurrent;
        (collector.scan(heap, rel, info, scan, false), (*info).ii_BrokenHotChain)
    };
    slot.heap_tuples.store(heap_tuples.to_bits(), Ordering::Relaxed);
    slot.broken_hot_chain.store(broken, Ordering::Relaxed);
    collector.publish(slot);
    chunks.publish();
    chunks.wait_for_cut();
    let fill = Options::fillfactor(rel, index.is_of_postings());
    Writing { chunks, rel, index: &index, fill }.write_all();
}
