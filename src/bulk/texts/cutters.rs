//! Parallel workers that cut texts into sets of shingles, which is half of the work, while the
//! leader reads texts and compares sets.
//!
//! A worker receives texts and sends back their sets. It reads no table and no catalogue, so it
//! needs no snapshot, lock or privileges, and works for temporary tables, too.

use std::ffi::CStr;

use pgrx::pg_sys;
use simhash_core::Simhasher;
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::shingles::ShingleSet;

use super::parcel;
use crate::call::interrupts;
use crate::call::parallel::{
    check_build, copy, current_query, disband, find, launch, lost, received, show_query, wait,
};
use crate::compat::{self, Sent};
use crate::memory;
use crate::types::ConfigText;

/// The keys of the chunks in the table of contents.
mod chunk {
    pub const CONFIG: u64 = 0x5349_4d48_0000_0201;
    pub const QUEUES: u64 = CONFIG + 1;
    pub const QUERY: u64 = CONFIG + 2;
}

/// The bytes of a queue. Each worker has two, one for texts and one for sets, so that it goes on
/// while the leader is busy.
const QUEUE: usize = 2 << 20;
/// About how many bytes of texts are sent at a time.
const PARCEL: usize = 16 << 10;

/// The leader's workers. After an ERROR, the abort of the transaction ends them.
pub struct Cutters {
    context: *mut pg_sys::ParallelContext,
    workers: Vec<Worker>,
    /// Whether all workers are known to have started.
    expected: bool,
}

struct Worker {
    texts: *mut pg_sys::shm_mq_handle,
    sets: *mut pg_sys::shm_mq_handle,
    /// A message that has not yet fitted into the queue, or nothing.
    message: Vec<u8>,
    /// Whether it did not fit the last time.
    is_full: bool,
    /// How many messages the worker has not answered.
    busy: usize,
}

impl Worker {
    /// Attaches the leader to the queues of a worker.
    ///
    /// # Safety
    /// The context has the chunks of [`Cutters::launch`], and has launched this worker.
    unsafe fn attach(context: *mut pg_sys::ParallelContext, number: usize) -> Self {
        // SAFETY: the context exists, and has launched this worker.
        let (toc, segment, handle) =
            unsafe { ((*context).toc, (*context).seg, (*(*context).worker.add(number)).bgwhandle) };
        // SAFETY: a queue of this segment, of which the leader is one end.
        let attach = |queue| unsafe { pg_sys::shm_mq_attach(queue, segment, handle) };
        // SAFETY: the chunk has two queues for this worker.
        let [texts, sets] = unsafe { queues(toc, number) }.map(attach);
        Self { texts, sets, message: Vec::new(), is_full: false, busy: 0 }
    }

    /// Sends the message, or the rest of it. False if it does not fit yet.
    fn send(&mut self) -> bool {
        // SAFETY: the leader's context exists until the end, and so do its queues. A message that
        // did not fit is sent again as it is.
        let sent = unsafe { compat::send(self.texts, &self.message, false) };
        if sent == Sent::All {
            self.message.clear();
            // Frees the memory of a long text's message.
            self.message.shrink_to(2 * PARCEL);
        }
        // The error of a worker that has ended is raised when its sets are received.
        sent == Sent::All
    }
}

/// Fills messages: appends rows of one round and their texts, up to about `bytes` bytes.
pub trait Source {
    fn fill(&mut self, bytes: usize, message: &mut Vec<u8>);
}

impl Cutters {
    /// Launches workers that cut texts by a config, if some are available.
    pub fn launch(config: &str, workers: usize) -> Option<Self> {
        let query = current_query().to_bytes_with_nul();
        let config: Vec<u8> = config.bytes().chain([0]).collect();
        let chunks = [
            (chunk::CONFIG, config.len()),
            (chunk::QUEUES, 2 * workers * QUEUE),
            (chunk::QUERY, query.len()),
        ];
        let fill = |toc| {
            // SAFETY: the chunks are of these sizes, and no worker has attached to the queues yet.
            unsafe {
                copy(&config, find(toc, chunk::CONFIG));
                copy(query, find(toc, chunk::QUERY));
                (0..workers).for_each(|worker| make_queues(toc, worker));
            }
        };
        let function = c"pg_simhash_cut_worker";
        // SAFETY: the function is the entry point below, and `fill` keeps to the sizes of the
        // chunks.
        let context = unsafe { launch(function, workers, &chunks, fill) }?;
        // SAFETY: the context exists.
        let launched = unsafe { (*context).nworkers_launched } as usize;
        // SAFETY: the context has these chunks and has launched so many workers.
        let attach = |number| unsafe { Worker::attach(context, number) };
        Some(Self { context, workers: (0..launched).map(attach).collect(), expected: false })
    }

    /// Sends as much as fits into the queues, always to the worker that has the fewest messages to
    /// answer. Messages that did not fit before go first: a worker may be waiting for the rest.
    pub fn send(&mut self, source: &mut impl Source) {
        for worker in &mut self.workers {
            worker.is_full = !worker.message.is_empty() && !worker.send();
        }
        loop {
            let others = self.workers.iter_mut().filter(|worker| !worker.is_full);
            let Some(worker) = others.min_by_key(|worker| worker.busy) else { return };
            source.fill(PARCEL, &mut worker.message);
            if parcel::is_empty(&worker.message) {
                return worker.message.clear();
            }
            worker.busy += 1;
            worker.is_full = !worker.send();
        }
    }

    /// Receives at most one message of each worker. `take` gets the rows and sets of each, with the
    /// number of its round. False if there was no message.
    pub fn receive(&mut self, mut take: impl FnMut(u32, u32, ShingleSet)) -> bool {
        let mut any = false;
        for worker in self.workers.iter_mut().filter(|worker| worker.busy > 0) {
            // SAFETY: the leader's context exists until the end, and so do its queues.
            let Some(message) = (unsafe { received(self.context, worker.sets) }) else { continue };
            let Some((round, mut rest)) = parcel::round(message) else { lost(NOT_SETS) };
            while !rest.is_empty() {
                let Some((row, set, others)) = parcel::set(rest) else { lost(NOT_SETS) };
                take(round, row, set);
                rest = others;
            }
            worker.busy -= 1;
            any = true;
        }
        any
    }

    /// Whether there are unanswered messages.
    pub fn are_busy(&self) -> bool {
        self.workers.iter().any(|worker| worker.busy > 0)
    }

    /// Waits for a message, for another event of the latch, or for the timeout.
    pub fn wait(&mut self) {
        // SAFETY: the context exists until the end.
        unsafe { wait(self.context, &mut self.expected, Some(PATIENCE)) };
        pgrx::check_for_interrupts!();
    }
}

/// The timeout, in milliseconds. While the leader reads a text it may wait for a page, and that
/// wait may consume the event of a queue that has room again.
const PATIENCE: std::ffi::c_long = 10;

const NOT_SETS: &str = "sent an invalid message";

impl Drop for Cutters {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for queue in self.workers.iter().flat_map(|worker| [worker.texts, worker.sets]) {
                // SAFETY: the queue is attached, and not used any more.
                unsafe { pg_sys::shm_mq_detach(queue) };
            }
            // SAFETY: the context exists. A worker ends when it finds that the leader has detached.
            unsafe { pg_sys::WaitForParallelWorkersToFinish(self.context) };
            // SAFETY: no worker runs any more.
            unsafe { disband(self.context) };
        }
    }
}

/// The queues of a worker: that of texts, and that of sets.
///
/// # Safety
/// `toc` has the chunk of queues, and these are for more workers than `worker`.
unsafe fn queues(toc: *mut pg_sys::shm_toc, worker: usize) -> [*mut pg_sys::shm_mq; 2] {
    // SAFETY: the table of contents has this chunk.
    let all: *mut u8 = unsafe { find(toc, chunk::QUEUES) };
    // SAFETY: the chunk has two queues for each worker, this one included.
    [2 * worker, 2 * worker + 1].map(|queue| unsafe { all.add(queue * QUEUE).cast() })
}

/// Makes the queues of a worker, with the leader as one end of each.
///
/// # Safety
/// As for [`queues`], and the chunk has not been written to there.
unsafe fn make_queues(toc: *mut pg_sys::shm_toc, worker: usize) {
    // SAFETY: the chunk has room for the queues of this worker.
    let make = |queue: *mut pg_sys::shm_mq| unsafe { pg_sys::shm_mq_create(queue.cast(), QUEUE) };
    // SAFETY: as the caller guarantees.
    let [texts, sets] = unsafe { queues(toc, worker) }.map(make);
    // SAFETY: the queue has no sender yet.
    unsafe { pg_sys::shm_mq_set_sender(texts, pg_sys::MyProc) };
    // SAFETY: the queue has no receiver yet.
    unsafe { pg_sys::shm_mq_set_receiver(sets, pg_sys::MyProc) };
}

/// The worker's entry point, which PostgreSQL looks up by its name.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_simhash_cut_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    memory::prepare();
    // SAFETY: PostgreSQL passes the leader's memory.
    unsafe { check_build(toc) };
    // SAFETY: the leader filled the memory before it launched workers, to which this one stays
    // attached until its end.
    unsafe { show_query(find(toc, chunk::QUERY)) };
    // SAFETY: as above; the config ends with NUL.
    let config = unsafe { CStr::from_ptr(find(toc, chunk::CONFIG)) }.to_string_lossy();
    // SAFETY: each worker has its queues.
    let queues = unsafe { queues(toc, pg_sys::ParallelWorkerNumber as usize) };
    // SAFETY: the leader left this end of the queue to the worker.
    unsafe { pg_sys::shm_mq_set_receiver(queues[0], pg_sys::MyProc) };
    // SAFETY: as above.
    unsafe { pg_sys::shm_mq_set_sender(queues[1], pg_sys::MyProc) };
    // SAFETY: the worker is one end of each queue.
    let attach = |queue| unsafe { pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut()) };
    let [texts, sets] = queues.map(attach);
    let config = near_recipe(&ConfigText::config_of(&config));
    let Ok(mut simhasher) = Simhasher::new(config) else { lost("lacks the word lists") };
    let mut answer = Vec::new();
    // SAFETY: attached as the receiver; a message is used only before the next.
    while let Some(message) = unsafe { compat::receive(texts) } {
        if cut(&mut simhasher, message, &mut answer).is_none() {
            lost("received an invalid message");
        }
        // SAFETY: attached as the sender.
        if unsafe { compat::send(sets, &answer, true) } != Sent::All {
            break;
        }
    }
}

/// Makes the answer to a message of texts. `None` if the message is malformed.
fn cut(simhasher: &mut Simhasher, message: &[u8], answer: &mut Vec<u8>) -> Option<()> {
    let (round, mut rest) = parcel::round(message)?;
    parcel::begin(round, answer);
    while !rest.is_empty() {
        let (row, text, others) = parcel::text(rest)?;
        parcel::add_set(row, &ShingleSet::new(simhasher, text, &mut interrupts()), answer);
        rest = others;
    }
    Some(())
}
