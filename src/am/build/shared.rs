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

use super::sort::Content;
use crate::call::parallel;

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

    /// Adds the chunks to a new context's estimate of its shared memory.
    ///
    /// # Safety
    /// The context's shared memory is not created yet.
    pub unsafe fn estimate(&self, context: *mut pg_sys::ParallelContext) {
        // SAFETY: `context` is valid, and its shared memory is not created yet.
        unsafe { parallel::estimate(context, &self.chunks()) }
    }
}

/// The chunks, as mapped in this process.
#[derive(Clone, Copy)]
pub struct Chunks {
    pub task: *mut Task,
    pub scan: pg_sys::ParallelTableScanDesc,
    /// One for each process.
    pub slots: *mut Slot,
    /// Of type [`Piece`], with the index's key type.
    pub pieces: *mut u8,
    /// One for each worker.
    pub buffer_usage: *mut pg_sys::BufferUsage,
    pub wal_usage: *mut pg_sys::WalUsage,
    /// The statement that workers show in pg_stat_activity.
    pub query: *mut c_char,
}

impl Chunks {
    /// Allocates the chunks. They must be filled before workers are launched.
    ///
    /// # Safety
    /// The context's shared memory was created after [`Sizes::estimate`] with the same sizes.
    pub unsafe fn allocate(context: *mut pg_sys::ParallelContext, sizes: &Sizes<'_>) -> Self {
        // SAFETY: the context's shared memory has room for these chunks, which shm_toc_allocate
        // aligns to buffers.
        unsafe {
            parallel::allocate(context, &sizes.chunks());
            Self::find((*context).toc)
        }
    }

    /// # Safety
    /// The chunks are in the table of contents.
    pub unsafe fn find(toc: *mut pg_sys::shm_toc) -> Self {
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

    fn task(&self) -> &Task {
        // SAFETY: the leader filled it before it launched workers. Only atomic fields, the
        // condition variable and the file set change after that. No process uses it after the
        // build.
        unsafe { &*self.task }
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
        unsafe {
            let room: *mut Piece<K> = self.pieces.cast();
            room.copy_from_nonoverlapping(pieces.as_ptr(), pieces.len());
        }
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
        // SAFETY: the condition variable is initialised, and no page is locked. Sleeping serves
        // interrupts, including messages of failed workers, so an ERROR in another process ends the
        // wait.
        unsafe {
            while !is_so(self.task()) {
                pg_sys::ConditionVariableSleep(&raw mut (*self.task).progress, event);
            }
            pg_sys::ConditionVariableCancelSleep();
        }
    }
}
