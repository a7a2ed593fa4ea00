//! A parallel index build: workers scan and sort their shares of the table, the leader merges.
//!
//! The leader scans too. A worker writes its share, sorted for one table after the other, to files of a
//! set that all processes share, and publishes how many tables are complete; the leader waits for a
//! table, merges the workers' runs of it with its own, and writes the index while they sort the next.
//!
//! Order: a worker stores its counts, then writes a table's file, closes it, and raises `published`;
//! who has seen `published` may read all that came before. Only a worker writes its slot.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use pgrx::pg_sys;
use simhash_core::search::Key;

use super::build::Collector;
use super::kind::open;
use super::runs::RunFile;
use super::sort::Share;
use super::with_key_type;
use crate::compat;
use crate::storage::IndexRel;
use crate::storage::cache::{Index, bits};

/// What the chunks of the shared memory are.
mod chunk {
    pub const TASK: u64 = 0x5349_4d48_0000_0001;
    pub const SCAN: u64 = TASK + 1;
    pub const SLOTS: u64 = TASK + 2;
    pub const BUFFER_USAGE: u64 = TASK + 3;
    pub const WAL_USAGE: u64 = TASK + 4;
    pub const QUERY: u64 = TASK + 5;
}

/// The names under which the two sorters of a worker share their runs.
pub const ROWS: char = 'r';
pub const NULLS: char = 'n';

/// What every process has to know.
#[repr(C)]
struct Task {
    heap: pg_sys::Oid,
    index: pg_sys::Oid,
    concurrent: bool,
    /// Bytes that one process may sort in.
    memory: usize,
    files: pg_sys::SharedFileSet,
    /// Signalled when a worker has published a table.
    progress: pg_sys::ConditionVariable,
}

/// What a worker tells the leader.
#[repr(C)]
#[derive(Default)]
struct Slot {
    /// How many tables' files are complete, that of NULLs last.
    published: AtomicU32,
    broken_hot_chain: AtomicBool,
    /// Entries of each table, and of that of NULLs.
    entries: AtomicU64,
    nulls: AtomicU64,
    rows: AtomicU64,
    /// An f64's bits.
    heap_tuples: AtomicU64,
}

/// The leader's workers. Dropping it does nothing: an error ends the workers with the transaction.
pub struct Team {
    context: *mut pg_sys::ParallelContext,
    snapshot: pg_sys::Snapshot,
    task: *mut Task,
    scan: pg_sys::ParallelTableScanDesc,
    slots: *const Slot,
    buffer_usage: *mut pg_sys::BufferUsage,
    wal_usage: *mut pg_sys::WalUsage,
}

impl Team {
    /// Launches workers, if there may be any and they can be had.
    ///
    /// # Safety
    /// The relations are open and `info` describes the index, whose meta page is written.
    pub unsafe fn launch(
        heap: pg_sys::Relation,
        rel: IndexRel,
        info: *mut pg_sys::IndexInfo,
        memory: usize,
    ) -> Option<Self> {
        // SAFETY: as this function's; the calls are in the order that access/parallel.h asks for.
        unsafe {
            let wanted = compat::index_build_workers(heap, rel.as_ptr(), info);
            if wanted <= 0 {
                return None;
            }
            let concurrent = (*info).ii_Concurrent;
            pg_sys::EnterParallelMode();
            let context = pg_sys::CreateParallelContext(
                c"$libdir/pg_simhash".as_ptr(),
                c"pg_simhash_build_worker".as_ptr(),
                wanted,
            );
            let snapshot = if concurrent {
                pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot())
            } else {
                &raw mut pg_sys::SnapshotAnyData
            };
            let query = current_query();
            let scan_bytes = pg_sys::table_parallelscan_estimate(heap, snapshot);
            let workers = wanted as usize;
            for bytes in [
                size_of::<Task>(),
                scan_bytes,
                workers * size_of::<Slot>(),
                workers * size_of::<pg_sys::BufferUsage>(),
                workers * size_of::<pg_sys::WalUsage>(),
                query.to_bytes_with_nul().len(),
            ] {
                estimate(context, bytes);
            }
            pg_sys::InitializeParallelDSM(context);
            if (*context).seg.is_null() {
                disband(context, snapshot);
                return None;
            }

            let task: *mut Task = place(context, chunk::TASK, size_of::<Task>());
            task.write(Task {
                heap: (*heap).rd_id,
                index: rel.oid(),
                concurrent,
                memory: memory / (workers + 1),
                files: std::mem::zeroed(),
                progress: std::mem::zeroed(),
            });
            pg_sys::SharedFileSetInit(&raw mut (*task).files, (*context).seg);
            pg_sys::ConditionVariableInit(&raw mut (*task).progress);
            let scan: pg_sys::ParallelTableScanDesc = place(context, chunk::SCAN, scan_bytes);
            pg_sys::table_parallelscan_initialize(heap, scan, snapshot);
            let slots: *mut Slot = place(context, chunk::SLOTS, workers * size_of::<Slot>());
            (0..workers).for_each(|i| slots.add(i).write(Slot::default()));
            let buffer_usage =
                place(context, chunk::BUFFER_USAGE, workers * size_of::<pg_sys::BufferUsage>());
            let wal_usage = place(context, chunk::WAL_USAGE, workers * size_of::<pg_sys::WalUsage>());
            let bytes = query.to_bytes_with_nul();
            let text: *mut u8 = place(context, chunk::QUERY, bytes.len());
            text.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());

            pg_sys::LaunchParallelWorkers(context);
            let launched = (*context).nworkers_launched;
            pgrx::debug1!("index \"{}\": {launched} of {wanted} parallel workers launched", rel.name());
            let team = Self { context, snapshot, task, scan, slots, buffer_usage, wal_usage };
            if launched == 0 {
                team.finish(info);
                return None;
            }
            Some(team)
        }
    }

    /// The memory that each process of the team may sort in.
    pub fn memory(&self) -> usize {
        // SAFETY: the shared memory exists until `finish`, and this field does not change.
        unsafe { (*self.task).memory }
    }

    /// The leader's part of the scan.
    ///
    /// # Safety
    /// `heap` is the open table.
    pub unsafe fn scan(&self, heap: pg_sys::Relation) -> pg_sys::TableScanDesc {
        // SAFETY: as this function's.
        unsafe { pg_sys::table_beginscan_parallel(heap, self.scan) }
    }

    /// Raises an error if a worker that was launched did not start: nobody may wait for it.
    pub fn expect_all(&self) {
        // SAFETY: the context exists until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// The workers' runs of a table, which are waited for. `index` is the one being built.
    pub fn runs<F: Key>(&self, index: &Index<F>, table: u8) -> Vec<RunFile> {
        self.wait_for(table);
        let nulls = table == index.null_table();
        let mut runs = Vec::new();
        for (worker, slot) in self.slots().iter().enumerate() {
            // SAFETY: the leader made the set; the worker has published the table.
            unsafe {
                let set = &raw mut (*self.task).files;
                let memory = self.memory();
                runs.extend(if nulls {
                    let share = Share { set, worker, what: NULLS };
                    share.open::<F>(
                        0,
                        slot.nulls.load(Ordering::Relaxed),
                        Collector::<F>::null_memory(memory),
                    )
                } else {
                    let share = Share { set, worker, what: ROWS };
                    let entries = slot.entries.load(Ordering::Relaxed);
                    share.open::<F>(u32::from(table), entries, Collector::<F>::row_memory(memory))
                });
            }
        }
        runs
    }

    fn wait_for(&self, table: u8) {
        let complete = |slot: &Slot| slot.published.load(Ordering::Acquire) > u32::from(table);
        let event = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN;
        // SAFETY: no lock on a page is held; a worker's error ends the wait, for sleeping handles
        // interrupts, and so do messages of workers that end.
        unsafe {
            while !self.slots().iter().all(complete) {
                pg_sys::ConditionVariableSleep(&raw mut (*self.task).progress, event);
            }
            pg_sys::ConditionVariableCancelSleep();
        }
    }

    /// Of the workers that were launched.
    fn slots(&self) -> &[Slot] {
        // SAFETY: made by `launch`, and there until `finish`.
        unsafe { std::slice::from_raw_parts(self.slots, (*self.context).nworkers_launched as usize) }
    }

    /// Waits for the workers' end. Returns how many tuples they saw and how many rows they indexed.
    ///
    /// # Safety
    /// `info` is the one that `launch` was given.
    pub unsafe fn finish(self, info: *mut pg_sys::IndexInfo) -> (f64, f64) {
        let mut totals = (0.0, 0.0);
        // SAFETY: as this function's; the slots are not used after the context is destroyed.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            for (i, slot) in self.slots().iter().enumerate() {
                pg_sys::InstrAccumParallelQuery(self.buffer_usage.add(i), self.wal_usage.add(i));
                totals.0 += f64::from_bits(slot.heap_tuples.load(Ordering::Relaxed));
                totals.1 += slot.rows.load(Ordering::Relaxed) as f64;
                (*info).ii_BrokenHotChain |= slot.broken_hot_chain.load(Ordering::Relaxed);
            }
            disband(self.context, self.snapshot);
        }
        totals
    }
}

/// The statement that workers show in pg_stat_activity.
fn current_query() -> &'static CStr {
    // SAFETY: NULL or the statement's text, which outlives it.
    unsafe {
        let query = pg_sys::debug_query_string;
        if query.is_null() { c"" } else { CStr::from_ptr(query) }
    }
}

unsafe fn estimate(context: *mut pg_sys::ParallelContext, bytes: usize) {
    // SAFETY: the context is new: its memory is not made yet.
    unsafe {
        let estimator = &mut (*context).estimator;
        let aligned = bytes.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
        estimator.space_for_chunks = pg_sys::add_size(estimator.space_for_chunks, aligned);
        estimator.number_of_keys += 1;
    }
}

unsafe fn place<T>(context: *mut pg_sys::ParallelContext, key: u64, bytes: usize) -> *mut T {
    // SAFETY: the chunk was estimated; chunks are aligned to buffers.
    unsafe {
        let toc = (*context).toc;
        let chunk = pg_sys::shm_toc_allocate(toc, bytes);
        pg_sys::shm_toc_insert(toc, key, chunk);
        chunk.cast()
    }
}

unsafe fn disband(context: *mut pg_sys::ParallelContext, snapshot: pg_sys::Snapshot) {
    // SAFETY: no worker runs.
    unsafe {
        if snapshot != &raw mut pg_sys::SnapshotAnyData {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}

/// A worker's whole life. PostgreSQL calls it by its name.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_simhash_build_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the leader put every chunk into the table of contents before it launched workers.
    unsafe {
        let find = |key| pg_sys::shm_toc_lookup(toc, key, false);
        let query: *const std::ffi::c_char = find(chunk::QUERY).cast();
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);

        let task: *mut Task = find(chunk::TASK).cast();
        pg_sys::SharedFileSetAttach(&raw mut (*task).files, segment);
        // The locks that the leader holds, of which this process is a part.
        let (heap_lock, index_lock) = if (*task).concurrent {
            (pg_sys::ShareUpdateExclusiveLock, pg_sys::RowExclusiveLock)
        } else {
            (pg_sys::ShareLock, pg_sys::AccessExclusiveLock)
        };
        let heap = pg_sys::table_open((*task).heap, heap_lock as i32);
        let rel = pg_sys::index_open((*task).index, index_lock as i32);

        pg_sys::InstrStartParallelQuery();
        let worker = pg_sys::ParallelWorkerNumber as usize;
        let slot = &*find(chunk::SLOTS).cast::<Slot>().add(worker);
        let index = IndexRel::new(rel);
        let scan = pg_sys::table_beginscan_parallel(heap, find(chunk::SCAN).cast());
        with_key_type!(bits(index), F => work::<F>(heap, index, task, slot, scan, worker));
        pg_sys::InstrEndParallelQuery(
            find(chunk::BUFFER_USAGE).cast::<pg_sys::BufferUsage>().add(worker),
            find(chunk::WAL_USAGE).cast::<pg_sys::WalUsage>().add(worker),
        );

        pg_sys::index_close(rel, index_lock as i32);
        pg_sys::table_close(heap, heap_lock as i32);
    }
}

/// Scans, and publishes one table after the other.
unsafe fn work<F: Key>(
    heap: pg_sys::Relation,
    rel: IndexRel,
    task: *mut Task,
    slot: &Slot,
    scan: pg_sys::TableScanDesc,
    worker: usize,
) {
    // SAFETY: the relations are open, the task is in shared memory that outlives this call.
    unsafe {
        let index = open::<F>(rel);
        let set = &raw mut (*task).files;
        let share = |what| Some(Share { set, worker, what });
        let mut collector = Collector::new(&index, (*task).memory, share);
        let info = pg_sys::BuildIndexInfo(rel.as_ptr());
        (*info).ii_Concurrent = (*task).concurrent;
        let heap_tuples = collector.scan(heap, rel, info, scan, false);
        slot.heap_tuples.store(heap_tuples.to_bits(), Ordering::Relaxed);
        slot.broken_hot_chain.store((*info).ii_BrokenHotChain, Ordering::Relaxed);
        slot.rows.store(collector.rows, Ordering::Relaxed);
        slot.entries.store(collector.sorter.len(), Ordering::Relaxed);
        slot.nulls.store(collector.nulls.len(), Ordering::Relaxed);
        let publish = |table: u32| {
            slot.published.store(table + 1, Ordering::Release);
            pg_sys::ConditionVariableBroadcast(&raw mut (*task).progress);
        };
        collector.sorter.publish(publish);
        collector.nulls.publish(|_| publish(u32::from(index.null_table())));
    }
}
