//! The leader of a parallel build: launches workers, scans and sorts beside them, cuts the block
//! tables into stretches, writes some of these too, and finally the levels above.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use pgrx::pg_sys;
use simhash_index::TreeKey;

use super::collect::Collector;
use super::shared::{Chunks, Piece, Sizes, Slot, Task};
use super::sort::{Content, Share};
use super::stretches::Writing;
use crate::call::parallel::current_query;
use crate::compat;
use crate::storage::{Index, IndexRel};

/// The leader's workers. Dropping it does nothing: after an ERROR, the abort terminates the
/// workers.
pub struct Team {
    context: *mut pg_sys::ParallelContext,
    snapshot: pg_sys::Snapshot,
    chunks: Chunks,
}

impl Team {
    /// Launches workers. `None` if the build may have none, or none are available.
    ///
    /// # Safety
    /// The relations are open, and `info` describes the index, whose meta page is written.
    pub unsafe fn launch<K: TreeKey>(
        heap: pg_sys::Relation,
        index: &Index<K>,
        info: *mut pg_sys::IndexInfo,
        memory: usize,
    ) -> Option<Self> {
        let rel = index.store;
        // SAFETY: the relations are open and `info` is valid; the calls are in the order that
        // access/parallel.h requires.
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
            let workers = wanted as usize;
            let tables = index.tables().count();
            let pieces = tables * (workers + 1) * size_of::<Piece<K>>();
            let sizes = Sizes { workers, pieces, scan, query: current_query() };
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
            team.chunks.expect(launched as usize + 1);
            if launched == 0 {
                team.finish(info);
                return None;
            }
            Some(team)
        }
    }

    /// Fills the shared memory before workers are launched.
    unsafe fn fill(
        &self,
        heap: pg_sys::Relation,
        rel: IndexRel,
        info: *mut pg_sys::IndexInfo,
        memory: usize,
        sizes: &Sizes<'_>,
    ) {
        let Chunks { task, scan, slots, query, .. } = self.chunks;
        // SAFETY: the relations are open, and the chunks have these sizes.
        unsafe {
            task.write(Task {
                heap: (*heap).rd_id,
                index: rel.oid(),
                concurrent: (*info).ii_Concurrent,
                memory: memory / (sizes.workers + 1),
                files: std::mem::zeroed(),
                progress: std::mem::zeroed(),
                processes: AtomicU32::new(0),
                published: AtomicU32::new(0),
                cut: AtomicBool::new(false),
                pieces: AtomicU32::new(0),
                next: AtomicU32::new(0),
                done: AtomicU32::new(0),
            });
            pg_sys::SharedFileSetInit(&raw mut (*task).files, (*self.context).seg);
            pg_sys::ConditionVariableInit(&raw mut (*task).progress);
            pg_sys::table_parallelscan_initialize(heap, scan, self.snapshot);
            (0..=sizes.workers).for_each(|i| slots.add(i).write(Slot::default()));
            query.copy_from_nonoverlapping(sizes.query.as_ptr(), sizes.query.count_bytes() + 1);
        }
    }

    /// The bytes that each process of the team may sort in.
    pub fn memory(&self) -> usize {
        // SAFETY: the shared memory exists until `finish`, and this field does not change.
        unsafe { (*self.chunks.task).memory }
    }

    /// Begins the leader's part of the scan.
    ///
    /// # Safety
    /// `heap` is the open table that the team was launched for.
    pub unsafe fn scan(&self, heap: pg_sys::Relation) -> pg_sys::TableScanDesc {
        // SAFETY: `heap` is open, and is the table of the scan in shared memory.
        unsafe { compat::begin_parallel_scan(heap, self.chunks.scan) }
    }

    /// Raises an ERROR if a launched worker failed to start: waiting for its runs would never end.
    pub fn expect_all(&self) {
        // SAFETY: the context exists until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// The share in which the leader leaves its runs.
    pub fn share(&self, content: Content) -> Share {
        let (_, process) = self.chunks.leader();
        // SAFETY: the shared memory exists until `finish`.
        Share { set: unsafe { &raw mut (*self.chunks.task).files }, process, content }
    }

    /// Writes the block tables beside the workers, after the leader's part of the scan.
    ///
    /// # Safety
    /// `index` is the one that is being built; `fill` is how full its leaves become, in percent.
    pub unsafe fn write<K: TreeKey>(&self, index: &Index<K>, collector: Collector<K>, fill: usize) {
        let chunks = self.chunks;
        collector.publish(chunks.leader().0);
        chunks.publish();
        chunks.wait_for_runs();
        let writing = Writing { chunks, rel: index.store, index, fill };
        let (mut pieces, mut tables) = (Vec::new(), Vec::new());
        for content in [Content::Rows, Content::Nulls] {
            for number in 0..content.tables(index).len() as u32 {
                let from = pieces.len();
                let stretches = writing.cut(content, number, chunks.published().len());
                let piece = |stretch| Piece { content, number, stretch };
                pieces.extend(stretches.into_iter().map(piece));
                tables.push((content, number, from..pieces.len()));
            }
        }
        pgrx::debug1!(
            "index \"{}\": {} stretches of {} tables",
            index.store.name(),
            pieces.len(),
            tables.len()
        );
        // SAFETY: there is room for as many pieces of each table as there can be processes, and no
        // table has more.
        unsafe { chunks.cut(&pieces) };
        for (content, number, _) in tables.iter().filter(|(.., places)| places.is_empty()) {
            writing.write_whole(*content, *number);
        }
        writing.write_all();
        chunks.wait_for_pieces();
        for (content, number, places) in tables {
            if !places.is_empty() {
                writing.finish(content, number, places);
            }
        }
    }

    /// Waits until the workers have ended. Returns how many tuples they saw and how many rows they
    /// indexed.
    ///
    /// # Safety
    /// `info` is the one that `launch` was given.
    pub unsafe fn finish(self, info: *mut pg_sys::IndexInfo) -> (f64, f64) {
        let Chunks { buffer_usage, wal_usage, .. } = self.chunks;
        let mut totals = (0.0, 0.0);
        // SAFETY: `info` is valid; the slots are not used after the context is destroyed.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            let (_, workers) = self.chunks.leader();
            for (i, slot) in self.chunks.published()[..workers].iter().enumerate() {
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
    // SAFETY: no worker is running.
    unsafe {
        if snapshot != &raw mut pg_sys::SnapshotAnyData {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}
