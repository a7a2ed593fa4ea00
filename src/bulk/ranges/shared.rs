//! The shared memory of processes that read ranges of a table.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pgrx::pg_sys;
use simhash_core::search::{Plan, TreeKey};
use simhash_core::whole::join::Start;

use crate::bulk::target::Source;
use crate::call::parallel::{Queues, copy, find};

/// The keys of the chunks in the table of contents.
mod chunk {
    pub const TASK: u64 = 0x5349_4d48_0000_0301;
    pub const SOURCES: u64 = TASK + 1;
    pub const STARTS: u64 = TASK + 2;
    pub const QUEUES: u64 = TASK + 3;
    pub const QUERY: u64 = TASK + 4;
}

pub const QUEUES: Queues = Queues { key: chunk::QUEUES, bytes: 1 << 20 };

/// The task that all processes share.
pub struct Task {
    pub plan: Plan,
    pub table: u32,
    /// When two indexes are joined: how many of the sources belong to the first one.
    pub split: Option<usize>,
    /// The most rows of a range that fit in a process's memory.
    pub limit: usize,
    sources: usize,
    starts: usize,
    /// The number of the next free range.
    next: AtomicUsize,
    /// Set by the leader when it needs no more ranges.
    pub stop: AtomicBool,
}

/// The content of the shared memory.
pub struct Content<'a, K> {
    pub plan: &'a Plan,
    pub table: u32,
    pub split: Option<usize>,
    pub limit: usize,
    pub sources: &'a [Source],
    pub starts: &'a [Start<K>],
    pub workers: usize,
    pub query: &'a CStr,
}

impl<K: TreeKey> Content<'_, K> {
    /// The chunks' keys and sizes.
    pub fn chunks(&self) -> [(u64, usize); 5] {
        [
            (chunk::TASK, size_of::<Task>()),
            (chunk::SOURCES, size_of_val(self.sources)),
            (chunk::STARTS, size_of_val(self.starts)),
            QUEUES.chunk(self.workers),
            (chunk::QUERY, self.query.to_bytes_with_nul().len()),
        ]
    }

    /// Fills the chunks, and makes the queues.
    ///
    /// # Safety
    /// `toc` has the chunks of [`Content::chunks`], in these sizes.
    pub unsafe fn store(&self, toc: *mut pg_sys::shm_toc) {
        let task = Task {
            plan: self.plan.clone(),
            table: self.table,
            split: self.split,
            limit: self.limit,
            sources: self.sources.len(),
            starts: self.starts.len(),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        // SAFETY: the chunks have these sizes. They are aligned to ALIGNOF_BUFFER, which is more
        // than any type here needs.
        unsafe {
            find::<Task>(toc, chunk::TASK).write(task);
            copy(self.sources, find(toc, chunk::SOURCES));
            copy(self.starts, find(toc, chunk::STARTS));
            copy(self.query.to_bytes_with_nul(), find(toc, chunk::QUERY));
            QUEUES.make(toc, self.workers);
        }
    }
}

/// The shared memory, as a process sees it while it is attached.
#[derive(Clone, Copy)]
pub struct Shared {
    toc: *mut pg_sys::shm_toc,
}

impl Shared {
    /// # Safety
    /// The leader has filled the memory, and this process stays attached to it while the result and
    /// the references that it returns are used.
    pub unsafe fn new(toc: *mut pg_sys::shm_toc) -> Self {
        Self { toc }
    }

    pub fn task(&self) -> &Task {
        // SAFETY: the leader wrote the task, and this process is attached; only atomic fields
        // change.
        unsafe { &*find(self.toc, chunk::TASK) }
    }

    pub fn sources(&self) -> &[Source] {
        // SAFETY: the leader stored so many sources; this process is attached.
        unsafe { std::slice::from_raw_parts(find(self.toc, chunk::SOURCES), self.task().sources) }
    }

    /// Where the ranges begin.
    ///
    /// # Safety
    /// The keys are of type `K`.
    pub unsafe fn starts<K>(&self) -> &[Start<K>] {
        // SAFETY: the leader stored so many starts with keys of type `K`; this process is attached.
        unsafe { std::slice::from_raw_parts(find(self.toc, chunk::STARTS), self.task().starts) }
    }

    /// Takes the next free range.
    pub fn take(&self) -> Option<usize> {
        let task = self.task();
        let number = task.next.fetch_add(1, Ordering::Relaxed);
        (number < task.starts && !task.stop.load(Ordering::Relaxed)).then_some(number)
    }

    /// The statement that workers show in pg_stat_activity.
    pub fn query(&self) -> *const std::ffi::c_char {
        // SAFETY: the leader stored a C string there; this process is attached.
        unsafe { find(self.toc, chunk::QUERY) }
    }
}
