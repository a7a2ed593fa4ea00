//! The leader of a parallel build: launches workers, scans and sorts beside them, cuts the block
//! tables into stretches, writes some of these too, and finally the levels above.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_index::TreeKey;

use super::collect::Collector;
use super::shared::{Chunks, Piece, Sizes, Task};
use super::sort::{Content, Share};
use super::stretches::Writing;
use crate::call::parallel::{self, current_query};
use crate::compat;
use crate::storage::Index;

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
        // SAFETY: the relations are open, and `info` is the build's.
        let (wanted, concurrent, table) = unsafe {
            let wanted = compat::index_build_workers(heap, rel.as_ptr(), info);
            (wanted, (*info).ii_Concurrent, (*heap).rd_id)
        };
        let workers = usize::try_from(wanted).ok().filter(|&workers| workers > 0)?;
        let context = parallel::begin(c"pg_simhash_build_worker", workers);
        let mut snapshot = &raw mut pg_sys::SnapshotAnyData;
        if concurrent {
            // SAFETY: a build is in a transaction.
            snapshot = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()) };
        }
        // SAFETY: `heap` is open.
        let scan = unsafe { pg_sys::table_parallelscan_estimate(heap, snapshot) };
        let pieces = index.tables().count() * (workers + 1) * size_of::<Piece<K>>();
        let sizes = Sizes { workers, pieces, scan, query: current_query() };
        let task = Task::new(table, rel.oid(), concurrent, memory / (workers + 1));
        // SAFETY: the context is new, and exists while the team does.
        let Some(chunks) = (unsafe { Chunks::create(context, &sizes, task) }) else {
            release(snapshot);
            return None;
        };
        // SAFETY: the table is open, and `snapshot` is the one of the estimate. All chunks are then
        // filled.
        let launched = unsafe {
            chunks.describe_scan(heap, snapshot);
            parallel::start(context)
        };
        let name = rel.name();
        pgrx::debug1!("index \"{name}\": {launched} of {wanted} parallel workers launched");
        chunks.expect(launched + 1);
        let team = Self { context, snapshot, chunks };
        if launched == 0 {
            // SAFETY: `info` is the build's.
            unsafe { team.finish(info) };
            return None;
        }
        Some(team)
    }

    /// The bytes that each process of the team may sort in.
    pub fn memory(&self) -> usize {
        self.chunks.task().memory
    }

    /// Begins the leader's part of the scan.
    ///
    /// # Safety
    /// `heap` is the open table that the team was launched for.
    pub unsafe fn scan(&self, heap: pg_sys::Relation) -> pg_sys::TableScanDesc {
        // SAFETY: `heap` is open, and is the table of the scan in shared memory.
        unsafe { self.chunks.scan(heap) }
    }

    /// Raises an ERROR if a launched worker failed to start: waiting for its runs would never end.
    pub fn expect_all(&self) {
        // SAFETY: the context exists until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// The share in which the leader leaves its runs.
    pub fn share(&self, content: Content) -> Share {
        Share { set: self.chunks.files(), process: self.chunks.leader().1, content }
    }

    /// Writes the block tables beside the workers, after the leader's part of the scan.
    ///
    /// # Safety
    /// `index` is the one that the team was launched for; `fill` is how full its leaves become, in
    /// percent.
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
        // SAFETY: the context exists.
        unsafe { pg_sys::WaitForParallelWorkersToFinish(self.context) };
        let mut totals = (0.0, 0.0);
        let (_, workers) = self.chunks.leader();
        for (i, slot) in self.chunks.published()[..workers].iter().enumerate() {
            // SAFETY: worker `i` has ended, and `info` is valid.
            unsafe {
                let (buffers, wal) = self.chunks.usage(i);
                pg_sys::InstrAccumParallelQuery(buffers, wal);
                (*info).ii_BrokenHotChain |= slot.broken_hot_chain.load(Ordering::Relaxed);
            }
            totals.0 += f64::from_bits(slot.heap_tuples.load(Ordering::Relaxed));
            totals.1 += slot.rows.load(Ordering::Relaxed) as f64;
        }
        release(self.snapshot);
        // SAFETY: no worker is running, and the chunks are not used any more.
        unsafe { parallel::disband(self.context) };
        totals
    }
}

/// Gives a build's snapshot back, unless it is the static one that sees all rows.
fn release(snapshot: pg_sys::Snapshot) {
    if snapshot != &raw mut pg_sys::SnapshotAnyData {
        // SAFETY: `launch` registered it.
        unsafe { pg_sys::UnregisterSnapshot(snapshot) };
    }
}
