//! Shared parts of parallel operations: chunks of shared memory under keys, queues to the leader,
//! and the statement that workers show.

use std::ffi::{CStr, c_char, c_long};

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::error::raise;
use crate::library;

/// The key of the chunk with the leader's build, which no operation uses for another.
const BUILD: u64 = 0x5349_4d48_ffff_0001;

/// Enters parallel mode, and makes a context for workers that run a function of this library.
pub fn begin(function: &CStr, workers: usize) -> *mut pg_sys::ParallelContext {
    let library = c"$libdir/pg_simhash".as_ptr();
    // SAFETY: PostgreSQL copies both names.
    unsafe {
        pg_sys::EnterParallelMode();
        pg_sys::CreateParallelContext(library, function.as_ptr(), workers as i32)
    }
}

/// Creates a context's shared memory with chunks of these keys and sizes, and returns its table of
/// contents. The chunks must be filled before workers are launched. A further one is filled here,
/// for [`check_build`]. `None`, with the context ended, if no segment is available.
///
/// # Safety
/// The context is from [`begin`], and its shared memory is not created yet.
pub unsafe fn share(
    context: *mut pg_sys::ParallelContext,
    chunks: &[(u64, usize)],
) -> Option<*mut pg_sys::shm_toc> {
    let build = (BUILD, size_of::<u64>());
    let chunks = || chunks.iter().copied().chain([build]);
    // SAFETY: the context exists.
    let estimator = unsafe { &mut (*context).estimator };
    for (_, bytes) in chunks() {
        let aligned = bytes.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
        // SAFETY: adds two numbers; an ERROR is raised if the sum is too large.
        let sum = unsafe { pg_sys::add_size(estimator.space_for_chunks, aligned) };
        estimator.space_for_chunks = sum;
        estimator.number_of_keys += 1;
    }
    // SAFETY: the estimate is complete.
    let (segment, toc) = unsafe {
        pg_sys::InitializeParallelDSM(context);
        ((*context).seg, (*context).toc)
    };
    if segment.is_null() {
        // SAFETY: the context exists, and has no worker.
        unsafe { disband(context) };
        return None;
    }
    for (key, bytes) in chunks() {
        // SAFETY: the segment exists, and the estimate contains every chunk.
        unsafe { pg_sys::shm_toc_insert(toc, key, pg_sys::shm_toc_allocate(toc, bytes)) };
    }
    // SAFETY: the chunk exists and has this size.
    unsafe { find::<u64>(toc, BUILD).write(library::build()) };
    Some(toc)
}

/// Raises an ERROR in a worker whose library is another build than its leader's. A worker calls it
/// before it reads any other chunk.
///
/// # Safety
/// PostgreSQL passes `toc` to a worker whose leader called [`share`].
pub unsafe fn check_build(toc: *mut pg_sys::shm_toc) {
    // SAFETY: the leader filled the chunk.
    if unsafe { *find::<u64>(toc, BUILD) } != library::build() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "pg_simhash was installed anew since this session loaded it".into(),
            "Connect again: a parallel worker has loaded the new library, which shares no memory \
             with the old one.",
        )
    }
}

/// Launches the workers of a context, and returns how many there are.
///
/// # Safety
/// The chunks from [`share`] are filled.
pub unsafe fn start(context: *mut pg_sys::ParallelContext) -> usize {
    // SAFETY: the context exists, and its chunks are filled.
    unsafe {
        pg_sys::LaunchParallelWorkers(context);
        (*context).nworkers_launched as usize
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
    // The calls are in the order that access/transam/README.parallel describes.
    let context = begin(function, workers);
    // SAFETY: the context is new.
    fill(unsafe { share(context, chunks) }?);
    // SAFETY: the chunks are filled.
    let launched = unsafe { start(context) };
    pgrx::debug1!("simhash: {launched} of {workers} parallel workers launched");
    if launched == 0 {
        // SAFETY: the context exists, and has no worker.
        unsafe { disband(context) };
    }
    (launched > 0).then_some(context)
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
    if !std::mem::replace(expected, true) {
        // SAFETY: the context exists.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(context) };
        return;
    }
    let timeout = if patience.is_some() { pg_sys::WL_TIMEOUT } else { 0 };
    let events = (pg_sys::WL_LATCH_SET | timeout | pg_sys::WL_EXIT_ON_PM_DEATH) as i32;
    let event = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_FINISH;
    // SAFETY: the latch is this process's own.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events, patience.unwrap_or(-1), event);
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
        for worker in 0..workers {
            // SAFETY: the chunk has room for the queues of all workers, and no process uses them
            // yet.
            unsafe {
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
        // SAFETY: the context exists.
        let launched = unsafe { (*context).nworkers_launched } as usize;
        let speaker = |worker| {
            // SAFETY: the context has a handle and a queue for each launched worker.
            let queue = unsafe {
                let handle = (*(*context).worker.add(worker)).bgwhandle;
                pg_sys::shm_mq_attach(self.at((*context).toc, worker), (*context).seg, handle)
            };
            Speaker { queue, finished: false }
        };
        (0..launched).map(speaker).collect()
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
    // SAFETY: the queue is attached.
    match unsafe { pg_sys::shm_mq_receive(queue, &mut bytes, &mut data, true) } {
        pg_sys::shm_mq_result::SHM_MQ_SUCCESS => {
            // SAFETY: on success, `data` points to that many bytes.
            Some(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
        }
        pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => None,
        _ => {
            // SAFETY: the context exists.
            unsafe { pg_sys::WaitForParallelWorkersToFinish(context) };
            lost("ended early")
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
