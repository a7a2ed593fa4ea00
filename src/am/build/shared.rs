//! The shared memory of a parallel build: what the leader tells its workers, and they the leader.
//!
//! Order: a worker stores its counts, then writes a block table's file, closes it, and raises
//! `published`; whoever has seen `published` may read all that came before. Only a worker writes
//! its slot.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use pgrx::pg_sys;

use crate::call::parallel;

/// The keys of the chunks in the table of contents.
mod chunk {
    pub const TASK: u64 = 0x5349_4d48_0000_0001;
    pub const SCAN: u64 = TASK + 1;
    pub const SLOTS: u64 = TASK + 2;
    pub const BUFFER_USAGE: u64 = TASK + 3;
    pub const WAL_USAGE: u64 = TASK + 4;
    pub const QUERY: u64 = TASK + 5;
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
    /// Signalled when a worker has published a block table.
    pub progress: pg_sys::ConditionVariable,
}

/// What a worker tells the leader.
#[repr(C)]
#[derive(Default)]
pub struct Slot {
    /// How many block tables' files are complete. The table of NULLs is the last.
    pub published: AtomicU32,
    pub broken_hot_chain: AtomicBool,
    /// Entries of each block table, and of the table of NULLs.
    pub entries: AtomicU64,
    pub nulls: AtomicU64,
    pub rows: AtomicU64,
    /// An f64's bits.
    pub heap_tuples: AtomicU64,
}

/// How much shared memory a build needs.
pub struct Sizes<'a> {
    pub workers: usize,
    /// Bytes of the parallel scan's description.
    pub scan: usize,
    pub query: &'a CStr,
}

impl Sizes<'_> {
    fn chunks(&self) -> [(u64, usize); 6] {
        [
            (chunk::TASK, size_of::<Task>()),
            (chunk::SCAN, self.scan),
            (chunk::SLOTS, self.workers * size_of::<Slot>()),
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
    /// One for each worker, as in the two arrays after it.
    pub slots: *mut Slot,
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
            buffer_usage: find(chunk::BUFFER_USAGE).cast(),
            wal_usage: find(chunk::WAL_USAGE).cast(),
            query: find(chunk::QUERY).cast(),
        }
    }
}
