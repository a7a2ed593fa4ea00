//! What parallel operations have in common: chunks of shared memory under keys, and the statement
//! that workers show.

use std::ffi::{CStr, c_char, c_long};

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::error::raise;

/// Tells a new context how much memory chunks of these keys and sizes will need.
///
/// # Safety
/// The context's memory is not made yet.
pub unsafe fn estimate(context: *mut pg_sys::ParallelContext, chunks: &[(u64, usize)]) {
    // SAFETY: as this function's.
    unsafe {
        let estimator = &mut (*context).estimator;
        for &(_, bytes) in chunks {
            let aligned = bytes.next_multiple_of(pg_sys::ALIGNOF_BUFFER as usize);
            estimator.space_for_chunks = pg_sys::add_size(estimator.space_for_chunks, aligned);
            estimator.number_of_keys += 1;
        }
    }
}

/// Makes the chunks. They are to be filled before workers are launched.
///
/// # Safety
/// The context's memory was made after [`estimate`] with the same chunks.
pub unsafe fn allocate(context: *mut pg_sys::ParallelContext, chunks: &[(u64, usize)]) {
    // SAFETY: every chunk was estimated.
    unsafe {
        let toc = (*context).toc;
        for &(key, bytes) in chunks {
            pg_sys::shm_toc_insert(toc, key, pg_sys::shm_toc_allocate(toc, bytes));
        }
    }
}

/// Where the chunk with a key is.
///
/// # Safety
/// It is there, and of this type.
pub unsafe fn find<T>(toc: *mut pg_sys::shm_toc, key: u64) -> *mut T {
    // SAFETY: as this function's.
    unsafe { pg_sys::shm_toc_lookup(toc, key, false).cast() }
}

/// Fills a chunk.
///
/// # Safety
/// It has room for as many.
pub unsafe fn copy<T: Copy>(from: &[T], to: *mut T) {
    // SAFETY: as this function's.
    unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
}

/// The statement that workers show in pg_stat_activity.
pub fn current_query() -> &'static CStr {
    // SAFETY: NULL or the statement's text, which outlives it.
    unsafe {
        let query = pg_sys::debug_query_string;
        if query.is_null() { c"" } else { CStr::from_ptr(query) }
    }
}

/// Shows the leader's statement as this worker's.
///
/// # Safety
/// The statement is in shared memory that the worker is attached to until its end.
pub unsafe fn show_query(query: *const c_char) {
    // SAFETY: as this function's.
    unsafe {
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
    }
}

/// The most bytes of a context's memory. Where no segment is left, PostgreSQL takes private memory
/// instead, of which it allocates no more at once.
const MOST_BYTES: usize = 0x3fff_ffff;

/// What a context's memory has beside its chunks, more than enough for some workers.
const OTHER_BYTES: usize = 1 << 20;

/// Whether a context can have so many bytes for its chunks, as far as one can know beforehand:
/// PostgreSQL raises an ERROR where they cannot be had. Half of what is free is left to others, who
/// may ask at the same time.
pub fn has_room(bytes: usize) -> bool {
    let bytes = bytes.saturating_add(OTHER_BYTES);
    bytes < MOST_BYTES && bytes < free_shared_memory() / 2
}

/// What is free of the file system that segments are made in. In containers that is often 64 MB.
#[cfg(target_os = "linux")]
fn free_shared_memory() -> usize {
    // SAFETY: reads a setting.
    if unsafe { pg_sys::dynamic_shared_memory_type } != pg_sys::DSM_IMPL_POSIX as i32 {
        return usize::MAX;
    }
    // SAFETY: zeros are a valid statvfs, which the call fills.
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

/// Launches workers of a function of this library, if some are available, on behalf of a function
/// that a query called. `fill` fills the chunks before, of these keys and sizes.
///
/// # Safety
/// The function is an entry point of workers, and `fill` keeps to the sizes.
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
    // SAFETY: as this function's. A function called by a query is in a transaction with an active
    // snapshot; the calls are in the order that access/parallel.h asks for.
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

/// Waits for a message of a worker, or for any other reason to go on. `expected` says whether all
/// workers are known to have started: one that does not is an ERROR, so nobody waits for it.
///
/// # Safety
/// The context exists.
pub unsafe fn wait(
    context: *mut pg_sys::ParallelContext,
    expected: &mut bool,
    patience: Option<c_long>,
) {
    // SAFETY: as this function's. The latch is this process's own.
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

/// By which workers tell the leader something: a queue for each, in the chunk with a key.
#[derive(Clone, Copy)]
pub struct Queues {
    pub key: u64,
    /// The bytes of a queue.
    pub bytes: usize,
}

/// A worker, as the leader hears of it.
pub struct Speaker {
    pub queue: *mut pg_sys::shm_mq_handle,
    /// Whether its last message has come.
    pub finished: bool,
}

impl Queues {
    /// The chunk's key and size, for so many workers.
    pub const fn chunk(self, workers: usize) -> (u64, usize) {
        (self.key, workers * self.bytes)
    }

    /// Makes the queues, of which this process receives.
    ///
    /// # Safety
    /// The chunk is there, and nobody has the queues yet.
    pub unsafe fn make(self, toc: *mut pg_sys::shm_toc, workers: usize) {
        // SAFETY: as this function's.
        unsafe {
            for worker in 0..workers {
                let queue = pg_sys::shm_mq_create(self.at(toc, worker).cast(), self.bytes);
                pg_sys::shm_mq_set_receiver(queue, pg_sys::MyProc);
            }
        }
    }

    /// Where a worker's queue is.
    ///
    /// # Safety
    /// The chunk is there, for more workers than that.
    unsafe fn at(self, toc: *mut pg_sys::shm_toc, worker: usize) -> *mut pg_sys::shm_mq {
        // SAFETY: as this function's.
        unsafe { find::<u8>(toc, self.key).add(worker * self.bytes).cast() }
    }

    /// The workers that were launched.
    ///
    /// # Safety
    /// The queues were made in this context.
    pub unsafe fn speakers(self, context: *mut pg_sys::ParallelContext) -> Vec<Speaker> {
        // SAFETY: as this function's.
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

    /// This worker's queue.
    ///
    /// # Safety
    /// This process is a worker, and stays attached to the segment while it has the queue.
    pub unsafe fn of_worker(
        self,
        toc: *mut pg_sys::shm_toc,
        segment: *mut pg_sys::dsm_segment,
    ) -> *mut pg_sys::shm_mq_handle {
        // SAFETY: as this function's.
        unsafe {
            let queue = self.at(toc, pg_sys::ParallelWorkerNumber as usize);
            pg_sys::shm_mq_set_sender(queue, pg_sys::MyProc);
            pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut())
        }
    }
}

/// Ends a context whose workers have finished.
///
/// # Safety
/// The context exists, and the queues are not used any more.
pub unsafe fn end(context: *mut pg_sys::ParallelContext, speakers: &[Speaker]) {
    // SAFETY: as this function's.
    unsafe {
        speakers.iter().for_each(|speaker| pg_sys::shm_mq_detach(speaker.queue));
        pg_sys::WaitForParallelWorkersToFinish(context);
        disband(context);
    }
}

/// The next message of a worker, if it has come. It lives until the next one is asked for. Raises
/// the worker's error if it has ended.
///
/// # Safety
/// The context exists, and the queue.
pub unsafe fn received<'a>(
    context: *mut pg_sys::ParallelContext,
    queue: *mut pg_sys::shm_mq_handle,
) -> Option<&'a [u8]> {
    let (mut bytes, mut data) = (0, std::ptr::null_mut());
    // SAFETY: as this function's.
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

/// Raises an error of a worker.
pub fn lost(what: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("a parallel worker {what}"), "")
}

/// Ends parallel mode.
///
/// # Safety
/// No worker runs.
pub unsafe fn disband(context: *mut pg_sys::ParallelContext) {
    // SAFETY: as this function's.
    unsafe {
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}
