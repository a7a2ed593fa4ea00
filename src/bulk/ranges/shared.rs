//! The shared memory of processes that read ranges of a table, and the messages of workers to the
//! leader.
//!
//! A message is a header of two words, the range and the kind, followed by rows or a number:
//! - ROWS: rows of the range that have neighbours, ascending. There may be several such messages.
//! - END: the range is done; how many rows were read.
//! - FULL: the range does not fit in memory.
//! - LAST: no message follows.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_core::search::scoped::Bytes;
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

const ROWS: u32 = 0;
const END: u32 = 1;
const FULL: u32 = 2;
const LAST: u32 = 3;
/// The bytes before the rows.
const HEADER: usize = 8;

/// A worker's message.
pub enum Message<K> {
    Rows(usize, Vec<(K, u64)>),
    End(usize),
    Full,
    Last,
}

impl<K: TreeKey> Message<K> {
    const ROW: usize = K::Fingerprint::BYTES + K::Scope::BYTES + size_of::<u64>();

    /// Writes rows of a range.
    pub fn write_rows(range: usize, rows: &[(K, u64)], message: &mut Vec<u8>) {
        begin(range, ROWS, message);
        message.resize(HEADER + rows.len() * Self::ROW, 0);
        for (&(key, number), bytes) in rows.iter().zip(message[HEADER..].chunks_mut(Self::ROW)) {
            let (fingerprint, rest) = bytes.split_at_mut(K::Fingerprint::BYTES);
            let (scope, place) = rest.split_at_mut(K::Scope::BYTES);
            key.fingerprint().store(fingerprint);
            key.scope().store(scope);
            place.copy_from_slice(&number.to_ne_bytes());
        }
    }

    /// Writes the end of a range: how many rows were read, or `None` if they did not fit in memory.
    pub fn write_end(range: usize, read: Option<usize>, message: &mut Vec<u8>) {
        begin(range, if read.is_some() { END } else { FULL }, message);
        message.extend((read.unwrap_or(0) as u64).to_ne_bytes());
    }

    /// Writes a worker's last message.
    pub fn write_last(message: &mut Vec<u8>) {
        begin(0, LAST, message);
    }

    /// Reads a message. `None` if it is malformed.
    pub fn read(message: &[u8]) -> Option<Self> {
        let (header, content) = message.split_at_checked(HEADER)?;
        let (range, kind) = header.split_at(4);
        let range = u32::from_ne_bytes(range.try_into().ok()?) as usize;
        match u32::from_ne_bytes(kind.try_into().ok()?) {
            ROWS => {
                let rows = content.chunks_exact(Self::ROW).map(Self::row).collect();
                Some(Self::Rows(range, rows))
            }
            END => Some(Self::End(u64::from_ne_bytes(content.try_into().ok()?) as usize)),
            FULL => Some(Self::Full),
            LAST => Some(Self::Last),
            _ => None,
        }
    }

    fn row(bytes: &[u8]) -> (K, u64) {
        let (fingerprint, rest) = bytes.split_at(K::Fingerprint::BYTES);
        let (scope, number) = rest.split_at(K::Scope::BYTES);
        let key = K::new(K::Scope::load(scope), K::Fingerprint::load(fingerprint));
        (key, number.try_into().map_or(0, u64::from_ne_bytes))
    }
}

fn begin(range: usize, kind: u32, message: &mut Vec<u8>) {
    message.clear();
    message.extend((range as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_was_written() {
        let mut bytes = Vec::new();
        let rows = vec![(7u128 << 90 | 5, 1), (u128::MAX, u64::MAX)];
        Message::write_rows(9, &rows, &mut bytes);
        assert!(matches!(Message::read(&bytes), Some(Message::Rows(9, read)) if read == rows));
        Message::<u128>::write_end(3, Some(70), &mut bytes);
        assert!(matches!(Message::<u128>::read(&bytes), Some(Message::End(70))));
        Message::<u128>::write_end(3, None, &mut bytes);
        assert!(matches!(Message::<u128>::read(&bytes), Some(Message::Full)));
        Message::<u128>::write_last(&mut bytes);
        assert!(matches!(Message::<u128>::read(&bytes), Some(Message::Last)));
        assert!(Message::<u128>::read(&bytes[..5]).is_none());
        assert!(Message::<u128>::read(&[9; 16]).is_none());
    }
}
