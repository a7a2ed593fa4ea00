//! A worker that reads ranges of a table, and sends the leader the rows that have neighbours.

use pgrx::pg_sys;
use simhash_core::search::TreeKey;
use simhash_core::whole::join::Message;

use super::range::Range;
use super::shared::{QUEUES, Shared};
use crate::am::opened::Opened;
use crate::bulk::leaves::Leaves;
use crate::bulk::session::open_all;
use crate::bulk::target::Source;
use crate::call::parallel::{check_build, show_query};
use crate::compat::{self, Sent};
use crate::memory;
use crate::storage::{check_for_interrupts, family, with_key_type};

/// The most rows of a message.
const MOST_ROWS: usize = 4096;

/// The worker's entry point, which PostgreSQL looks up by its name.
#[pgrx::pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pg_simhash_range_worker(
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
    let queue = unsafe { QUEUES.of_worker(toc, segment) };
    let mut opened: Vec<Opened> = shared.sources().iter().map(Source::open).collect();
    let Some(first) = opened.first() else { return };
    // SAFETY: the indexes that the leader reads have keys of this type.
    with_key_type!(family(first.rel()), K => unsafe { work::<K>(&opened, shared, queue) });
    // In reverse order, because each restores the privileges from before it was opened.
    while opened.pop().is_some() {}
}

/// Takes ranges until none is left.
///
/// # Safety
/// The keys are of type `K`, and the queue is attached.
unsafe fn work<K: TreeKey>(opened: &[Opened], shared: Shared, queue: *mut pg_sys::shm_mq_handle) {
    let task = shared.task();
    // SAFETY: the leader stored starts with keys of type `K`, as the caller guarantees.
    let starts = unsafe { shared.starts::<K>() };
    // SAFETY: the queue is attached, with this worker as its sender. False if the leader has
    // detached.
    let send = |message: &[u8]| unsafe { compat::send(queue, message, true) == Sent::All };
    let indexes = open_all::<K>(opened);
    let mut leaves = Leaves::new(&indexes, task.split);
    let mut range = Range::new(task.limit);
    let mut message = Vec::new();
    while let Some(number) = shared.take() {
        check_for_interrupts();
        let read = range.read(&mut leaves, (&task.plan, task.table), starts, number);
        if read.is_some() {
            for rows in range.rows.chunks(MOST_ROWS) {
                Message::write_rows(number, rows, &mut message);
                if !send(&message) {
                    return;
                }
            }
        }
        Message::<K>::write_end(number, read, &mut message);
        if !send(&message) {
            return;
        }
    }
    Message::<K>::write_last(&mut message);
    send(&message);
}
