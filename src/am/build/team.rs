//! The leader of a parallel build: it launches workers, scans beside them, and merges what they
//! leave.
//!
//! A worker writes its share, sorted for one block table after the other, to files of a set that
//! all processes share, and publishes how many block tables are complete. The leader waits for a
//! block table, merges the workers' runs of it with its own, and writes the index while they sort
//! the next.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_index::TreeKey;

use super::runs::RunFile;
use super::shared::{Chunks, Sizes, Slot, Task};
use super::sort::{Content, Share};
use crate::call::parallel::current_query;
use crate::compat;
use crate::storage::{Index, IndexRel};

/// The leader's workers. Dropping it does nothing: an error ends the workers with the transaction.
pub struct Team {
    context: *mut pg_sys::ParallelContext,
    snapshot: pg_sys::Snapshot,
    chunks: Chunks,
}

impl Team {
    /// Launches workers, if the build may have some and they are available.
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
            pg_sys::EnterParallelMode();
            let context = pg_sys::CreateParallelContext(
                c"$libdir/pg_simhash".as_ptr(),
                c"pg_simhash_build_worker".as_ptr(),
                wanted,
            );
            let snapshot = if (*info).ii_Concurrent {
                pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot())
            } else {
                &raw mut pg_sys::SnapshotAnyData
            };
            let scan = pg_sys::table_parallelscan_estimate(heap, snapshot);
            let sizes = Sizes { workers: wanted as usize, scan, query: current_query() };
            sizes.estimate(context);
            pg_sys::InitializeParallelDSM(context);
            if (*context).seg.is_null() {
                disband(context, snapshot);
                return None;
            }
            let chunks = Chunks::allocate(context, &sizes);
            let team = Self { context, snapshot, chunks };
            team.fill(heap, rel, info, memory, &sizes);

            pg_sys::LaunchParallelWorkers(context);
            let launched = (*context).nworkers_launched;
            pgrx::debug1!(
                "index \"{}\": {launched} of {wanted} parallel workers launched",
                rel.name()
            );
            if launched == 0 {
                team.finish(info);
                return None;
            }
            Some(team)
        }
    }

    /// Fills the shared memory, before workers are launched.
    unsafe fn fill(
        &self,
        heap: pg_sys::Relation,
        rel: IndexRel,
        info: *mut pg_sys::IndexInfo,
        memory: usize,
        sizes: &Sizes<'_>,
    ) {
        let Chunks { task, scan, slots, query, .. } = self.chunks;
        // SAFETY: as launch's; the chunks are of these sizes.
        unsafe {
            task.write(Task {
                heap: (*heap).rd_id,
                index: rel.oid(),
                concurrent: (*info).ii_Concurrent,
                memory: memory / (sizes.workers + 1),
                files: std::mem::zeroed(),
                progress: std::mem::zeroed(),
            });
            pg_sys::SharedFileSetInit(&raw mut (*task).files, (*self.context).seg);
            pg_sys::ConditionVariableInit(&raw mut (*task).progress);
            pg_sys::table_parallelscan_initialize(heap, scan, self.snapshot);
            (0..sizes.workers).for_each(|i| slots.add(i).write(Slot::default()));
            query.copy_from_nonoverlapping(sizes.query.as_ptr(), sizes.query.count_bytes() + 1);
        }
    }

    /// The memory that each process of the team may sort in.
    pub fn memory(&self) -> usize {
        // SAFETY: the shared memory exists until `finish`, and this field does not change.
        unsafe { (*self.chunks.task).memory }
    }

    /// The leader's part of the scan.
    ///
    /// # Safety
    /// `heap` is the open table.
    pub unsafe fn scan(&self, heap: pg_sys::Relation) -> pg_sys::TableScanDesc {
        // SAFETY: as this function's.
        unsafe { pg_sys::table_beginscan_parallel(heap, self.chunks.scan) }
    }

    /// Raises an error if a worker that was launched did not start: nobody may wait for it.
    pub fn expect_all(&self) {
        // SAFETY: the context exists until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// Waits for the workers' runs of a table and returns them. `index` is the one that is being
    /// built.
    pub fn runs<K: TreeKey>(&self, index: &Index<K>, content: Content, table: u8) -> Vec<RunFile> {
        self.wait_for(table);
        let number = u32::from(table - content.tables(index).start);
        let memory = content.memory(self.memory());
        let runs = self.slots().iter().enumerate().filter_map(|(worker, slot)| {
            let entries = match content {
                Content::Rows => &slot.entries,
                Content::Nulls => &slot.nulls,
            };
            let entries = entries.load(Ordering::Relaxed);
            // SAFETY: the leader made the set; the worker has published the block table.
            unsafe {
                let share = Share { set: &raw mut (*self.chunks.task).files, worker, content };
                share.open::<K>(number, entries, memory)
            }
        });
        runs.collect()
    }

    fn wait_for(&self, table: u8) {
        let complete = |slot: &Slot| slot.published.load(Ordering::Acquire) > u32::from(table);
        let event = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN;
        // SAFETY: no page is locked. An error in a worker ends the wait: sleeping serves
        // interrupts, and so messages of workers that end.
        unsafe {
            while !self.slots().iter().all(complete) {
                pg_sys::ConditionVariableSleep(&raw mut (*self.chunks.task).progress, event);
            }
            pg_sys::ConditionVariableCancelSleep();
        }
    }

    /// The slots of the workers that were launched.
    fn slots(&self) -> &[Slot] {
        // SAFETY: made by `launch`, and there until `finish`.
        unsafe {
            let launched = (*self.context).nworkers_launched as usize;
            std::slice::from_raw_parts(self.chunks.slots, launched)
        }
    }

    /// Waits for the workers' end. Returns how many tuples they saw and how many rows they indexed.
    ///
    /// # Safety
    /// `info` is the one that `launch` was given.
    pub unsafe fn finish(self, info: *mut pg_sys::IndexInfo) -> (f64, f64) {
        let Chunks { buffer_usage, wal_usage, .. } = self.chunks;
        let mut totals = (0.0, 0.0);
        // SAFETY: as this function's; the slots are not used after the context is destroyed.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            for (i, slot) in self.slots().iter().enumerate() {
                pg_sys::InstrAccumParallelQuery(buffer_usage.add(i), wal_usage.add(i));
                totals.0 += f64::from_bits(slot.heap_tuples.load(Ordering::Relaxed));
                totals.1 += slot.rows.load(Ordering::Relaxed) as f64;
                (*info).ii_BrokenHotChain |= slot.broken_hot_chain.load(Ordering::Relaxed);
            }
            disband(self.context, self.snapshot);
        }
        totals
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
