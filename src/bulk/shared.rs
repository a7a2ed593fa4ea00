//! The shared memory of a join with workers: the keys and tries of the chunks being joined, which
//! do not change, and the pieces of the walk, which the processes take one by one.
//!
//! A worker reads nothing else, so it needs no snapshot, lock or privileges.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_core::search::Plan;
use simhash_core::whole::join::{Node, Piece, Tries, Walk};

use crate::call::parallel::{Queues, copy, find};

/// The keys of the chunks in the table of contents.
mod chunk {
    pub const TASK: u64 = 0x5349_4d48_0000_0101;
    pub const LEFT_KEYS: u64 = TASK + 1;
    pub const LEFT_NODES: u64 = TASK + 2;
    pub const RIGHT_KEYS: u64 = TASK + 3;
    pub const RIGHT_NODES: u64 = TASK + 4;
    pub const PIECES: u64 = TASK + 5;
    pub const QUEUES: u64 = TASK + 6;
    pub const QUERY: u64 = TASK + 7;
}

/// Each has room for 87,000 pairs, so that workers go on while the leader is busy.
pub const QUEUES: Queues = Queues { key: chunk::QUEUES, bytes: 1 << 20 };

/// The task that all processes share.
pub struct Task {
    plan: Plan,
    table: u32,
    with_itself: bool,
    /// The width of fingerprints, in bits.
    pub bits: u32,
    /// The numbers of keys and nodes of the left chunk, and of the right one if that is another.
    left: [usize; 2],
    right: [usize; 2],
    pieces: usize,
    /// The number of the next free piece.
    next: AtomicUsize,
    /// Set by the leader, for workers to stop and return what is left.
    pub stop: AtomicBool,
}

impl Task {
    /// An empty walk, for a process that takes pieces.
    pub fn walk<F: Key>(&self) -> Option<Walk> {
        Walk::empty::<F>(&self.plan, self.table, self.with_itself)
    }
}

/// The content of the shared memory.
pub struct Content<'a, F> {
    pub walk: &'a Walk,
    pub left: Tries<'a, F>,
    pub right: Tries<'a, F>,
    pub pieces: &'a [Piece],
    pub workers: usize,
    pub query: &'a CStr,
}

impl<F: Key> Content<'_, F> {
    /// The chunks' keys and sizes.
    pub fn chunks(&self) -> [(u64, usize); 8] {
        let right = self.right_chunk();
        [
            (chunk::TASK, size_of::<Task>()),
            (chunk::LEFT_KEYS, size_of_val(self.left.keys)),
            (chunk::LEFT_NODES, size_of_val(self.left.nodes)),
            (chunk::RIGHT_KEYS, size_of_val(right.keys)),
            (chunk::RIGHT_NODES, size_of_val(right.nodes)),
            (chunk::PIECES, size_of_val(self.pieces)),
            QUEUES.chunk(self.workers),
            (chunk::QUERY, self.query.to_bytes_with_nul().len()),
        ]
    }

    /// The right chunk, empty if it is the left one.
    fn right_chunk(&self) -> Tries<'_, F> {
        let (.., with_itself) = self.walk.task();
        if with_itself { Tries { keys: &[], nodes: &[] } } else { self.right }
    }

    /// Fills the chunks, and makes the queues.
    ///
    /// # Safety
    /// `toc` has the chunks of [`Content::chunks`], in these sizes.
    pub unsafe fn store(&self, toc: *mut pg_sys::shm_toc) {
        let (plan, table, with_itself) = self.walk.task();
        let right = self.right_chunk();
        let task = Task {
            plan: plan.clone(),
            table,
            with_itself,
            bits: F::BITS,
            left: [self.left.keys.len(), self.left.nodes.len()],
            right: [right.keys.len(), right.nodes.len()],
            pieces: self.pieces.len(),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        // SAFETY: the chunks have these sizes. They are aligned to ALIGNOF_BUFFER, which is more
        // than any type here needs.
        unsafe {
            find::<Task>(toc, chunk::TASK).write(task);
            copy(self.left.keys, find(toc, chunk::LEFT_KEYS));
            copy(self.left.nodes, find(toc, chunk::LEFT_NODES));
            copy(right.keys, find(toc, chunk::RIGHT_KEYS));
            copy(right.nodes, find(toc, chunk::RIGHT_NODES));
            copy(self.pieces, find(toc, chunk::PIECES));
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

    /// The tries of the left chunk and of the right one.
    ///
    /// # Safety
    /// The fingerprints are of type `F`.
    pub unsafe fn tries<F: Copy>(&self) -> (Tries<'_, F>, Tries<'_, F>) {
        let task = self.task();
        let tries = |keys, nodes, [key_count, node_count]: [usize; 2]| {
            // SAFETY: the leader stored so many keys of type `F`; this process is attached.
            let keys = unsafe { std::slice::from_raw_parts(find::<F>(self.toc, keys), key_count) };
            // SAFETY: as for the keys.
            let nodes =
                unsafe { std::slice::from_raw_parts(find::<Node>(self.toc, nodes), node_count) };
            Tries { keys, nodes }
        };
        let left = tries(chunk::LEFT_KEYS, chunk::LEFT_NODES, task.left);
        let right = tries(chunk::RIGHT_KEYS, chunk::RIGHT_NODES, task.right);
        (left, if task.with_itself { left } else { right })
    }

    /// Takes the next free piece.
    pub fn take(&self) -> Option<Piece> {
        let task = self.task();
        let number = task.next.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the number is below that of the pieces, which do not change; this process is
        // attached.
        (number < task.pieces)
            .then(|| unsafe { *find::<Piece>(self.toc, chunk::PIECES).add(number) })
    }

    /// The statement that workers show in pg_stat_activity.
    pub fn query(&self) -> *const c_char {
        // SAFETY: the leader stored a C string there; this process is attached.
        unsafe { find(self.toc, chunk::QUERY) }
    }
}
