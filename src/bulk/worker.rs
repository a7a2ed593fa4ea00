//! A parallel worker of a join: it takes pieces of the walk one by one, and sends the leader the
//! pairs that it finds.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_core::whole::join::{GroupPair, Walk, parcels};

use super::message;
use super::shared::{QUEUES, Shared};
use crate::call::parallel::{check_build, show_query};
use crate::compat::{self, Sent};
use crate::memory;
use crate::storage::{check_for_interrupts, with_fingerprint_type};

/// The most pairs of a message.
const MOST_PAIRS: usize = 4096;
/// After so many steps a worker sends the pairs found so far, even if they are few, and with them
/// its progress.
const MOST_STEPS: u32 = 256;

/// The worker's entry point, which PostgreSQL looks up by its name.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_simhash_join_worker(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    memory::prepare();
    // SAFETY: PostgreSQL passes the leader's memory.
    unsafe { check_build(toc) };
    // SAFETY: the leader filled the memory before it launched workers, to which this one stays
    // attached until its end.
    let shared = unsafe { Shared::new(toc) };
    // SAFETY: as above.
    unsafe { show_query(shared.query()) };
    // SAFETY: each worker has a queue.
    let queue = Queue(unsafe { QUEUES.of_worker(toc, segment) });
    // SAFETY: the task has the width of fingerprints of this type.
    with_fingerprint_type!(shared.task().bits, F => unsafe { work::<F>(&shared, queue) });
}

/// The queue to the leader.
struct Queue(*mut pg_sys::shm_mq_handle);

impl Queue {
    /// False if the leader has detached.
    fn send(&self, message: &[u8]) -> bool {
        // SAFETY: the handle is attached, and this worker is the queue's sender.
        unsafe { compat::send(self.0, message, true) == Sent::All }
    }

    /// Sends the walk's progress and the pairs that it found. False if the leader has detached.
    fn send_found(&self, walk: &mut Walk, found: &[GroupPair], message: &mut Vec<u8>) -> bool {
        parcels(found, MOST_PAIRS).all(|pairs| {
            message::found(walk.take_done(), pairs, message);
            self.send(message)
        })
    }
}

/// Takes pieces until none is left, or the leader sets `stop`.
///
/// # Safety
/// The fingerprints are of type `F`.
unsafe fn work<F: Key>(shared: &Shared, queue: Queue) {
    let task = shared.task();
    let Some(mut walk) = task.walk::<F>() else { return };
    // SAFETY: the task's fingerprints are of type `F`, as the caller guarantees.
    let (left, right) = unsafe { shared.tries::<F>() };
    let (mut found, mut message): (Vec<GroupPair>, _) = (Vec::new(), Vec::new());
    let mut steps = 0;
    while !task.stop.load(Ordering::Relaxed) {
        check_for_interrupts();
        if walk.is_empty() {
            let Some(piece) = shared.take() else { break };
            walk.add([piece]);
        }
        walk.step(left, right, &mut found);
        steps += 1;
        if found.len() >= MOST_PAIRS || steps >= MOST_STEPS {
            if !queue.send_found(&mut walk, &found, &mut message) {
                return;
            }
            found.clear();
            steps = 0;
        }
    }
    if !found.is_empty() && !queue.send_found(&mut walk, &found, &mut message) {
        return;
    }
    // This also counts what is done of the pieces that are left.
    let rest = walk.rest(left, right);
    message::finished(walk.take_done(), &rest, &mut message);
    queue.send(&message);
}
