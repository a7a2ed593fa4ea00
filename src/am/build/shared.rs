//! The shared memory of a parallel build: what the leader tells its workers, and they the leader.
//!
//! Order:
//! 1. A process stores its counts, writes its runs of all block tables, closes their files, and
//!    then counts itself in `published`. Only it writes its slot.
//! 2. The leader, when all have published, cuts the tables, stores the pieces and their number, and
//!    raises `cut`. The pieces do not change any more.
//! 3. A process that has seen `cut` takes piece after piece, and counts in `done` what it has
//!    written.
//!
//! Whoever has seen one of the counters or flags may read all that came before. `progress` is
//! signalled after each.

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

/// What every process has to know.
#[repr(C)]
pub struct Task {
    pub heap: pg_sys::Oid,
    pub index: pg_sys::Oid,
    pub concurrent: bool,
    /// Bytes that one process may sort in.
    pub memory: usize,
    pub files: pg_sys::SharedFileSet,
    pub progress: pg_sys::ConditionVariable,
    /// How many processes take part: the workers, and the leader after them.
    pub processes: AtomicU32,
    pub published: AtomicU32,
    pub cut: AtomicBool,
    /// How many pieces there are, which is taken next, and how many are written.
    pub pieces: AtomicU32,
    pub next: AtomicU32,
    pub done: AtomicU32,
}

/// A stretch of a block table, by the content and number of that.
#[derive(Clone, Copy)]
pub struct Piece<K> {
    pub content: Content,
    pub number: u32,
    pub stretch: Stretch<K>,
}

/// What a process tells the leader.
#[repr(C)]
#[derive(Default)]
pub struct Slot {
    pub broken_hot_chain: AtomicBool,
    /// Entries of each block table, and of the table of NULLs.
    pub entries: AtomicU64,
    pub nulls: AtomicU64,
    pub rows: AtomicU64,
    /// An f64's bits.
    pub heap_tuples: AtomicU64,
}

impl Slot {
    /// Entries of each block table, or of the table of NULLs.
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
    /// Bytes of all pieces that there can be.
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

    /// Tells a new context how much memory it will need.
    ///
    /// # Safety
    /// The context's memory is not made yet.
    pub unsafe fn estimate(&self, context: *mut pg_sys::ParallelContext) {
        // SAFETY: as this function's.
        unsafe { parallel::estimate(context, &self.chunks()) }
    }
}

/// The chunks, as this process sees them.
#[derive(Clone, Copy)]
pub struct Chunks {
    pub task: *mut Task,
    pub scan: pg_sys::ParallelTableScanDesc,
    /// One for each process.
    pub slots: *mut Slot,
    /// Of the type of keys that the index has.
    pub pieces: *mut u8,
    /// One for each worker.
    pub buffer_usage: *mut pg_sys::BufferUsage,
    pub wal_usage: *mut pg_sys::WalUsage,
    /// The statement that workers show in pg_stat_activity.
    pub query: *mut c_char,
}

impl Chunks {
    /// Makes the chunks; they are to be filled before workers are launched.
    ///
    /// # Safety
    /// The context's memory was made after [`Sizes::estimate`] with the same sizes.
    pub unsafe fn allocate(context: *mut pg_sys::ParallelContext, sizes: &Sizes<'_>) -> Self {
        // SAFETY: as this function's; chunks are aligned to buffers.
        unsafe {
            parallel::allocate(context, &sizes.chunks());
            Self::find((*context).toc)
        }
    }

    /// # Safety
    /// The chunks are in the table of contents.
    pub unsafe fn find(toc: *mut pg_sys::shm_toc) -> Self {
        // SAFETY: as this function's; a key is always of the same type.
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
        // SAFETY: the leader filled it before it launched workers, and but for atomic fields and
        // the condition variable it does not change. No process uses it after the build.
        unsafe { &*self.task }
    }

    /// Says how many processes take part. Workers learn it when the tables are cut.
    pub fn expect(&self, processes: usize) {
        self.task().processes.store(processes as u32, Ordering::Relaxed);
    }

    /// The slots of all processes that take part.
    pub fn published(&self) -> &[Slot] {
        let processes = self.task().processes.load(Ordering::Relaxed) as usize;
        // SAFETY: there is a slot for each.
        unsafe { std::slice::from_raw_parts(self.slots, processes) }
    }

    /// The leader's slot and number. The workers have those before.
    pub fn leader(&self) -> (&Slot, usize) {
        let number = self.published().len() - 1;
        (&self.published()[number], number)
    }

    /// Says that this process has published its runs.
    pub fn publish(&self) {
        self.task().published.fetch_add(1, Ordering::Release);
        self.signal();
    }

    /// Says which pieces there are.
    ///
    /// # Safety
    /// There is room for as many, of keys of the index's type, and nobody has cut before.
    pub unsafe fn cut<K: Copy>(&self, pieces: &[Piece<K>]) {
        // SAFETY: as this function's; nobody reads them before the flag is raised.
        unsafe {
            let room: *mut Piece<K> = self.pieces.cast();
            room.copy_from_nonoverlapping(pieces.as_ptr(), pieces.len());
        }
        self.task().pieces.store(pieces.len() as u32, Ordering::Relaxed);
        self.task().cut.store(true, Ordering::Release);
        self.signal();
    }

    /// The next piece that nobody has taken, and its number. The tables are cut.
    pub fn take<K: Copy>(&self) -> Option<(usize, Piece<K>)> {
        let task = self.task();
        let number = task.next.fetch_add(1, Ordering::Relaxed);
        if number >= task.pieces.load(Ordering::Relaxed) {
            return None;
        }
        let number = number as usize;
        // SAFETY: there are more pieces. They are of this type, and do not change.
        Some((number, unsafe { *self.pieces.cast::<Piece<K>>().add(number) }))
    }

    /// Says that a piece is written.
    pub fn done(&self) {
        self.task().done.fetch_add(1, Ordering::Release);
        self.signal();
    }

    fn signal(&self) {
        // SAFETY: the condition variable is initialized.
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
        // SAFETY: no page is locked. An error in another process ends the wait: sleeping serves
        // interrupts, and so the messages of workers that end.
        unsafe {
            while !is_so(self.task()) {
                pg_sys::ConditionVariableSleep(&raw mut (*self.task).progress, event);
            }
            pg_sys::ConditionVariableCancelSleep();
        }
    }
}
