//! Shared parts of parallel operations: chunks of shared memory under keys, queues to the leader,
//! and the statement that workers show.

use std::ffi::{CStr, c_char, c_long};

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::error::raise;

/// Adds the chunks' keys and sizes to the memory estimate of a new context.
///
/// # Safety
/// The context exists, and InitializeParallelDSM has not been called for it.
pub unsafe fn estimate(context: *mut pg_sys::ParallelContext, chunks: &[(u64, usize)]) {
    // SAFETY: the caller's context exists.
    unsafe {
        let estimator = &mut (*context).estimator;
        for &(_, bytes) in chunks {
            let aligned = bytes.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
            estimator.space_for_chunks = pg_sys::add_size(estimator.space_for_chunks, aligned);
            estimator.number_of_keys += 1;
        }
    }
}

/// Allocates the chunks. They must be filled before workers are launched.
///
/// # Safety
/// The context's memory was initialised after [`estimate`] was called with the same chunks.
pub unsafe fn allocate(context: *mut pg_sys::ParallelContext, chunks: &[(u64, usize)]) {
    // SAFETY: the segment exists, and the estimate contains every chunk.
    unsafe {
        let toc = (*context).toc;
        for &(key, bytes) in chunks {
            pg_sys::shm_toc_insert(toc, key, pg_sys::shm_toc_allocate(toc, bytes));
        }
    }
}

/// The address of the chunk with a key.
///
/// # Safety
/// A chunk with that key exists and holds values of type `T`.
pub unsafe fn find<T>(toc: *mut pg_sys::shm_toc, key: u64) -> *mut T {
    // SAFETY: the table of contents has this key.
    unsafe { pg_sys::shm_toc_lookup(toc, key, false).cast() }
}

/// Copies values into a chunk.
///
/// # Safety
/// The chunk at `to` has room for the values of `from`.
pub unsafe fn copy<T: Copy>(from: &[T], to: *mut T) {
    // SAFETY: `to` has room for them, and shared memory does not overlap `from`.
    unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
}

/// The statement that workers are to show in pg_stat_activity.
pub fn current_query() -> &'static CStr {
    // SAFETY: the pointer is null or the current statement's text, which lives as long as that
    // statement.
    unsafe {
        let query = pg_sys::debug_query_string;
        if query.is_null() { c"" } else { CStr::from_ptr(query) }
    }
}

/// Shows the leader's statement as this worker's in pg_stat_activity.
///
/// # Safety
/// `query` ends with NUL and is in shared memory to which the worker is attached until it exits.
pub unsafe fn show_query(query: *const c_char) {
    // SAFETY: `query` stays valid until the worker exits.
    unsafe {
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
    }
}

/// The maximal size of a context's memory. If no segment is available, PostgreSQL uses private
/// memory instead, and palloc allocates at most this at once (MaxAllocSize).
const MOST_BYTES: usize = 0x3fff_ffff;

/// An upper bound for the context's memory beside its chunks, for a moderate number of workers.
const OTHER_BYTES: usize = 1 << 20;

/// Whether a context can probably have so many bytes for its chunks. It is checked beforehand,
/// because PostgreSQL raises an ERROR if the memory is not available. Half of the free memory is
/// left to other processes, which may request memory at the same time.
pub fn has_room(bytes: usize) -> bool {
    let bytes = bytes.saturating_add(OTHER_BYTES);
    bytes < MOST_BYTES && bytes < free_shared_memory() / 2
}

/// The free space of the file system of shared memory segments, which is often 64 MB in containers.
#[cfg(target_os = "linux")]
fn free_shared_memory() -> usize {
    // SAFETY: reads a setting.
    if unsafe { pg_sys::dynamic_shared_memory_type } != pg_sys::DSM_IMPL_POSIX as i32 {
        return usize::MAX;
    }
    // SAFETY: an all-zero statvfs is valid, and the call fills it in.
    let (status, file_system) = unsafe {
        let mut file_system: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(c"/dev/shm".as_ptr(), &mut file_system), file_system)
    };
    if status == 0 {
        (file_system.f_bavail as usize).saturating_mul(file_system.f_frsize as usize)
    } else {
        usize::MAX
    }
}

#[cfg(not(target_os = "linux"))]
fn free_shared_memory() -> usize {
    usize::MAX
}

/// Launches workers that run a function of this library, for a function that a query called.
/// `chunks` are keys and sizes; `fill` fills the chunks before the launch. `None` if no worker
/// starts.
///
/// # Safety
/// `function` is an entry point for parallel workers, and `fill` writes no more than the sizes.
pub unsafe fn launch(
    function: &CStr,
    workers: usize,
    chunks: &[(u64, usize)],
    fill: impl FnOnce(*mut pg_sys::shm_toc),
) -> Option<*mut pg_sys::ParallelContext> {
    let bytes = chunks.iter().map(|&(_, bytes)| bytes + 1024).sum();
    if !has_room(bytes) {
        pgrx::debug1!("simhash: no parallel workers, for lack of {bytes} bytes to share");
        return None;
    }
    // SAFETY: a function called by a query is in a transaction with an active snapshot, and the
    // calls are in the order that access/transam/README.parallel describes.
    unsafe {
        pg_sys::EnterParallelMode();
        let library = c"$libdir/pg_simhash".as_ptr();
        let context = pg_sys::CreateParallelContext(library, function.as_ptr(), workers as i32);
        estimate(context, chunks);
        pg_sys::InitializeParallelDSM(context);
        if (*context).seg.is_null() {
            disband(context);
            return None;
        }
        allocate(context, chunks);
        fill((*context).toc);
        pg_sys::LaunchParallelWorkers(context);
        let launched = (*context).nworkers_launched;
        pgrx::debug1!("simhash: {launched} of {workers} parallel workers launched");
        if launched == 0 {
            disband(context);
            return None;
        }
        Some(context)
    }
}

/// Waits for a message of a worker, or until the latch is set for another reason. `expected`:
/// whether all workers are known to have started. A worker that fails to start raises an ERROR, so
/// the leader does not wait for it for ever. `patience` is a timeout in milliseconds.
///
/// # Safety
/// The context exists, and its workers were launched.
pub unsafe fn wait(
    context: *mut pg_sys::ParallelContext,
    expected: &mut bool,
    patience: Option<c_long>,
) {
    // SAFETY: the context exists, and the latch is this process's own.
    unsafe {
        if !std::mem::replace(expected, true) {
            pg_sys::WaitForParallelWorkersToAttach(context);
            return;
        }
        let timeout = if patience.is_some() { pg_sys::WL_TIMEOUT } else { 0 };
        let events = pg_sys::WL_LATCH_SET | timeout | pg_sys::WL_EXIT_ON_PM_DEATH;
        let event = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_FINISH;
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, patience.unwrap_or(-1), event);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// Queues in which workers send messages to the leader: one per worker, in the chunk with this key.
#[derive(Clone, Copy)]
pub struct Queues {
    pub key: u64,
    /// The size of a queue in bytes.
    pub bytes: usize,
}

/// The leader's view of a worker.
pub struct Speaker {
    pub queue: *mut pg_sys::shm_mq_handle,
    /// Whether the worker's last message has been received.
    pub finished: bool,
}

impl Queues {
    /// The chunk's key and size for this number of workers.
    pub const fn chunk(self, workers: usize) -> (u64, usize) {
        (self.key, workers * self.bytes)
    }

    /// Creates the queues, with this process as the receiver.
    ///
    /// # Safety
    /// The chunk exists, and no process is attached to the queues yet.
    pub unsafe fn make(self, toc: *mut pg_sys::shm_toc, workers: usize) {
        // SAFETY: the chunk has room for the queues of all workers, and no process uses them yet.
        unsafe {
            for worker in 0..workers {
                let queue = pg_sys::shm_mq_create(self.at(toc, worker).cast(), self.bytes);
                pg_sys::shm_mq_set_receiver(queue, pg_sys::MyProc);
            }
        }
    }

    /// The address of a worker's queue.
    ///
    /// # Safety
    /// The chunk exists and has more queues than `worker`.
    unsafe fn at(self, toc: *mut pg_sys::shm_toc, worker: usize) -> *mut pg_sys::shm_mq {
        // SAFETY: the chunk has a queue with this number.
        unsafe { find::<u8>(toc, self.key).add(worker * self.bytes).cast() }
    }

    /// The workers that were launched, with their queues attached.
    ///
    /// # Safety
    /// The queues were created in this context, and its workers were launched.
    pub unsafe fn speakers(self, context: *mut pg_sys::ParallelContext) -> Vec<Speaker> {
        // SAFETY: the context has a handle and a queue for each launched worker.
        unsafe {
            let speaker = |worker| {
                let handle = (*(*context).worker.add(worker)).bgwhandle;
                let queue = self.at((*context).toc, worker);
                let queue = pg_sys::shm_mq_attach(queue, (*context).seg, handle);
                Speaker { queue, finished: false }
            };
            (0..(*context).nworkers_launched as usize).map(speaker).collect()
        }
    }

    /// Attaches this worker to its queue, as the sender.
    ///
    /// # Safety
    /// This process is a parallel worker, and stays attached to the segment while it uses the
    /// queue.
    pub unsafe fn of_worker(
        self,
        toc: *mut pg_sys::shm_toc,
        segment: *mut pg_sys::dsm_segment,
    ) -> *mut pg_sys::shm_mq_handle {
        // SAFETY: this process is a worker of the context, so the chunk has a queue with its
        // number.
        unsafe {
            let queue = self.at(toc, pg_sys::ParallelWorkerNumber as usize);
            pg_sys::shm_mq_set_sender(queue, pg_sys::MyProc);
            pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut())
        }
    }
}

/// Waits for all workers to finish, and ends the context.
///
/// # Safety
/// The context exists, and the queues are not used afterwards.
pub unsafe fn end(context: *mut pg_sys::ParallelContext, speakers: &[Speaker]) {
    // SAFETY: the context exists, and the queues are attached.
    unsafe {
        speakers.iter().for_each(|speaker| pg_sys::shm_mq_detach(speaker.queue));
        pg_sys::WaitForParallelWorkersToFinish(context);
        disband(context);
    }
}

/// The next message of a worker, if one has arrived. Raises the worker's error if it has exited.
///
/// # Safety
/// The context exists, and the queue is attached. The message must not be used after the next call
/// for the same queue.
pub unsafe fn received<'a>(
    context: *mut pg_sys::ParallelContext,
    queue: *mut pg_sys::shm_mq_handle,
) -> Option<&'a [u8]> {
    let (mut bytes, mut data) = (0, std::ptr::null_mut());
    // SAFETY: the queue is attached. On success, `data` points to that many bytes.
    unsafe {
        match pg_sys::shm_mq_receive(queue, &mut bytes, &mut data, true) {
            pg_sys::shm_mq_result::SHM_MQ_SUCCESS => {
                Some(std::slice::from_raw_parts(data.cast(), bytes))
            }
            pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => None,
            _ => {
                pg_sys::WaitForParallelWorkersToFinish(context);
                lost("has ended early")
            }
        }
    }
}

/// Raises an ERROR about a parallel worker.
pub fn lost(what: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("a parallel worker {what}"), "")
}

/// Destroys the context and leaves parallel mode.
///
/// # Safety
/// The context exists, and no worker runs.
pub unsafe fn disband(context: *mut pg_sys::ParallelContext) {
    // SAFETY: the context exists, and none of its workers runs.
    unsafe {
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}
