//! The shared memory of a parallel build, through which leader and workers coordinate.
//!
//! Order:
//! 1. A process stores its counts in its slot, writes its runs of all block tables, closes their
//!    files, and then increments `published`. No other process writes its slot.
//! 2. When all processes have published, the leader cuts the tables, stores the pieces and their
//!    number, and sets `cut`. The pieces do not change after that.
//! 3. A process that has seen `cut` takes piece after piece, and increments `done` after writing
//!    each.
//!
//! `published`, `cut` and `done` are written with release and read with acquire ordering, so a
//! process that sees one of them also sees everything stored before. `progress` is signalled after
//! each change of them.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use pgrx::pg_sys;
use simhash_index::build::Stretch;

use super::files::FileSet;
use super::sort::Content;
use crate::call::parallel;
use crate::compat;

/// The keys of the chunks in the table of contents.
mod chunk {
    pub const TASK: u64 = 0x5349_4d48_0000_0001;
    pub const SCAN: u64 = TASK + 1;
    pub const SLOTS: u64 = TASK + 2;
    pub const BUFFER_USAGE: u64 = TASK + 3;
    pub const WAL_USAGE: u64 = TASK + 4;
    pub const QUERY: u64 = TASK + 5;
    pub const PIECES: u64 = TASK + 6;
}

/// The state that all processes share.
#[repr(C)]
pub struct Task {
    pub heap: pg_sys::Oid,
    pub index: pg_sys::Oid,
    pub concurrent: bool,
    /// Bytes that one process may sort in.
    pub memory: usize,
    pub files: pg_sys::SharedFileSet,
    pub progress: pg_sys::ConditionVariable,
    /// The number of processes: the workers, and the leader, which is the last one.
    pub processes: AtomicU32,
    pub published: AtomicU32,
    pub cut: AtomicBool,
    /// How many pieces there are, the number of the next to be taken, and how many are written.
    pub pieces: AtomicU32,
    pub next: AtomicU32,
    pub done: AtomicU32,
}

impl Task {
    /// The task of a build in which one process may sort in `memory` bytes. The file set and the
    /// condition variable are still to be initialised.
    pub fn new(heap: pg_sys::Oid, index: pg_sys::Oid, concurrent: bool, memory: usize) -> Self {
        // SAFETY: zeroes are valid values of these structs of numbers and arrays of numbers.
        let (files, progress) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        Self {
            heap,
            index,
            concurrent,
            memory,
            files,
            progress,
            processes: AtomicU32::new(0),
            published: AtomicU32::new(0),
            cut: AtomicBool::new(false),
            pieces: AtomicU32::new(0),
            next: AtomicU32::new(0),
            done: AtomicU32::new(0),
        }
    }
}

/// A stretch of the block table with this number within the content.
#[derive(Clone, Copy)]
pub struct Piece<K> {
    pub content: Content,
    pub number: u32,
    pub stretch: Stretch<K>,
}

/// A process's results. The leader reads them.
#[repr(C)]
#[derive(Default)]
pub struct Slot {
    pub broken_hot_chain: AtomicBool,
    /// Entries in each block table, and in the table of NULLs.
    pub entries: AtomicU64,
    pub nulls: AtomicU64,
    pub rows: AtomicU64,
    /// An f64's bits.
    pub heap_tuples: AtomicU64,
}

impl Slot {
    /// Entries in each block table, or in the table of NULLs.
    pub fn entries(&self, content: Content) -> &AtomicU64 {
        match content {
            Content::Rows => &self.entries,
            Content::Nulls => &self.nulls,
        }
    }
}

/// How much shared memory a build needs.
pub struct Sizes<'a> {
    pub workers: usize,
    /// Bytes for the most pieces that there can be.
    pub pieces: usize,
    /// Bytes of the parallel scan's description.
    pub scan: usize,
    pub query: &'a CStr,
}

impl Sizes<'_> {
    fn chunks(&self) -> [(u64, usize); 7] {
        [
            (chunk::TASK, size_of::<Task>()),
            (chunk::SCAN, self.scan),
            (chunk::SLOTS, (self.workers + 1) * size_of::<Slot>()),
            (chunk::PIECES, self.pieces),
            (chunk::BUFFER_USAGE, self.workers * size_of::<pg_sys::BufferUsage>()),
            (chunk::WAL_USAGE, self.workers * size_of::<pg_sys::WalUsage>()),
            (chunk::QUERY, self.query.to_bytes_with_nul().len()),
        ]
    }
}

/// The chunks, as mapped in this process, which is attached to the file set. They exist while a
/// copy is used.
#[derive(Clone, Copy)]
pub struct Chunks {
    task: *mut Task,
    scan: pg_sys::ParallelTableScanDesc,
    /// One for each process.
    slots: *mut Slot,
    /// Of type [`Piece`], with the index's key type.
    pieces: *mut u8,
    /// One for each worker.
    buffer_usage: *mut pg_sys::BufferUsage,
    wal_usage: *mut pg_sys::WalUsage,
    /// The statement that workers show in pg_stat_activity.
    query: *mut c_char,
}

impl Chunks {
    /// Creates the chunks in the leader, filled but for the scan's. `None`, with the context ended,
    /// if there is no shared memory.
    ///
    /// # Safety
    /// The context is new. It exists while the result is used.
    pub unsafe fn create(
        context: *mut pg_sys::ParallelContext,
        sizes: &Sizes<'_>,
        task: Task,
    ) -> Option<Self> {
        // SAFETY: the context is new.
        let toc = unsafe { parallel::share(context, &sizes.chunks()) }?;
        // SAFETY: these are the chunks in the table of contents.
        let chunks = unsafe { Self::find(toc) };
        let Self { task: room, slots, query, .. } = chunks;
        // SAFETY: the chunks have these sizes, and no other process uses them yet.
        unsafe {
            room.write(task);
            pg_sys::SharedFileSetInit(&raw mut (*room).files, (*context).seg);
            pg_sys::ConditionVariableInit(&raw mut (*room).progress);
            (0..=sizes.workers).for_each(|i| slots.add(i).write(Slot::default()));
            query.copy_from_nonoverlapping(sizes.query.as_ptr(), sizes.query.count_bytes() + 1);
        }
        Some(chunks)
    }

    /// The chunks in a worker, which shows the leader's statement from then on.
    ///
    /// # Safety
    /// PostgreSQL passes both to a worker whose leader called [`Chunks::create`].
    pub unsafe fn attach(segment: *mut pg_sys::dsm_segment, toc: *mut pg_sys::shm_toc) -> Self {
        // SAFETY: the leader filled the chunks before it launched workers, with the same build of
        // the library.
        unsafe {
            parallel::check_build(toc);
            let chunks = Self::find(toc);
            parallel::show_query(chunks.query);
            pg_sys::SharedFileSetAttach(&raw mut (*chunks.task).files, segment);
            chunks
        }
    }

    /// # Safety
    /// The chunks are in the table of contents, and this process attaches to the file set.
    unsafe fn find(toc: *mut pg_sys::shm_toc) -> Self {
        // SAFETY: the chunks are in the table of contents, each key with the same type as in
        // `Sizes::chunks`.
        let find = |key| unsafe { pg_sys::shm_toc_lookup(toc, key, false) };
        Self {
            task: find(chunk::TASK).cast(),
            scan: find(chunk::SCAN).cast(),
            slots: find(chunk::SLOTS).cast(),
            pieces: find(chunk::PIECES).cast(),
            buffer_usage: find(chunk::BUFFER_USAGE).cast(),
            wal_usage: find(chunk::WAL_USAGE).cast(),
            query: find(chunk::QUERY).cast(),
        }
    }

    pub fn task(&self) -> &Task {
        // SAFETY: the leader filled it before it launched workers. Only atomic fields, the
        // condition variable and the file set change after that. No process uses it after the
        // build.
        unsafe { &*self.task }
    }

    /// The set in which processes leave their runs and downlinks.
    pub fn files(&self) -> FileSet {
        // SAFETY: this process is attached to the set.
        unsafe { FileSet::new(&raw mut (*self.task).files) }
    }

    /// Describes the parallel scan of the table.
    ///
    /// # Safety
    /// The table is open. Called once, in the leader, with the snapshot for which the scan's size
    /// was estimated.
    pub unsafe fn describe_scan(&self, heap: pg_sys::Relation, snapshot: pg_sys::Snapshot) {
        // SAFETY: the chunk has room for it.
        unsafe { pg_sys::table_parallelscan_initialize(heap, self.scan, snapshot) };
    }

    /// Begins this process's part of the scan.
    ///
    /// # Safety
    /// `heap` is the open table that is scanned.
    pub unsafe fn scan(&self, heap: pg_sys::Relation) -> pg_sys::TableScanDesc {
        // SAFETY: `heap` is open, and the chunk describes a scan of it.
        unsafe { compat::begin_parallel_scan(heap, self.scan) }
    }

    /// Where a worker and the leader leave what buffers and WAL the worker used.
    ///
    /// # Safety
    /// There are more workers than `worker`.
    pub unsafe fn usage(&self, worker: usize) -> (*mut pg_sys::BufferUsage, *mut pg_sys::WalUsage) {
        // SAFETY: there is an element for each worker.
        unsafe { (self.buffer_usage.add(worker), self.wal_usage.add(worker)) }
    }

    /// A worker's own slot.
    ///
    /// # Safety
    /// There are more workers than `worker`.
    pub unsafe fn slot(&self, worker: usize) -> &Slot {
        // SAFETY: there is a slot for each process.
        unsafe { &*self.slots.add(worker) }
    }

    /// Stores the number of processes. Workers read it after the tables are cut.
    pub fn expect(&self, processes: usize) {
        self.task().processes.store(processes as u32, Ordering::Relaxed);
    }

    /// The slots of all processes.
    pub fn published(&self) -> &[Slot] {
        let processes = self.task().processes.load(Ordering::Relaxed) as usize;
        // SAFETY: there is a slot for each process.
        unsafe { std::slice::from_raw_parts(self.slots, processes) }
    }

    /// The leader's slot and number, which come after the workers'.
    pub fn leader(&self) -> (&Slot, usize) {
        let number = self.published().len() - 1;
        (&self.published()[number], number)
    }

    /// Reports that this process has published its runs.
    pub fn publish(&self) {
        self.task().published.fetch_add(1, Ordering::Release);
        self.signal();
    }

    /// Stores the pieces and sets `cut`.
    ///
    /// # Safety
    /// There is room for that many pieces; `K` is the index's key type. Called once in a build.
    pub unsafe fn cut<K: Copy>(&self, pieces: &[Piece<K>]) {
        // SAFETY: there is room for the pieces, and no process reads them before `cut` is set.
        unsafe { parallel::copy(pieces, self.pieces.cast()) };
        self.task().pieces.store(pieces.len() as u32, Ordering::Relaxed);
        self.task().cut.store(true, Ordering::Release);
        self.signal();
    }

    /// The next piece that no process has taken, and its number. The tables must be cut.
    pub fn take<K: Copy>(&self) -> Option<(usize, Piece<K>)> {
        let task = self.task();
        let number = task.next.fetch_add(1, Ordering::Relaxed);
        if number >= task.pieces.load(Ordering::Relaxed) {
            return None;
        }
        let number = number as usize;
        // SAFETY: `number` is below the number of pieces. They are of this type and do not change.
        Some((number, unsafe { *self.pieces.cast::<Piece<K>>().add(number) }))
    }

    /// Reports that a piece is written.
    pub fn done(&self) {
        self.task().done.fetch_add(1, Ordering::Release);
        self.signal();
    }

    fn signal(&self) {
        // SAFETY: the leader initialised the condition variable before it launched workers.
        unsafe { pg_sys::ConditionVariableBroadcast(&raw mut (*self.task).progress) };
    }

    /// Waits until all processes have published their runs.
    pub fn wait_for_runs(&self) {
        let processes = self.published().len();
        self.wait(|task| task.published.load(Ordering::Acquire) as usize == processes);
    }

    /// Waits until the tables are cut.
    pub fn wait_for_cut(&self) {
        self.wait(|task| task.cut.load(Ordering::Acquire));
    }

    /// Waits until all pieces are written.
    pub fn wait_for_pieces(&self) {
        let pieces = self.task().pieces.load(Ordering::Relaxed);
        self.wait(|task| task.done.load(Ordering::Acquire) == pieces);
    }

    fn wait(&self, is_so: impl Fn(&Task) -> bool) {
        let event = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN;
        while !is_so(self.task()) {
            // SAFETY: the condition variable is initialised, and no page is locked. Sleeping serves
            // interrupts, including messages of failed workers, so an ERROR in another process ends
            // the wait.
            unsafe { pg_sys::ConditionVariableSleep(&raw mut (*self.task).progress, event) };
        }
        // SAFETY: ends the sleep, if there was one.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
    }
}
