//! Sorting entries for a build: in memory while they fit, else in runs on temporary files.
//!
//! Entries are collected once, not rotated. When they fit in maintenance_work_mem they are rotated and
//! sorted in place for one table after the other. Otherwise every time the memory is full they are
//! rotated, sorted and written out as one run for each table; when a table is built, its runs are
//! merged with what is still in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use pgrx::pg_sys;
use simhash_core::search::{BlockLayout, Key};

use super::check_for_interrupts;
use crate::storage::Entry;
use crate::storage::page::TID_BYTES;

/// How many bytes a merge reads of a run at once: beside maintenance_work_mem, which makes runs a
/// hundred times as long.
const CHUNK: usize = 256 * 1024;

/// All rows of a build.
pub struct Sorter<F> {
    layout: BlockLayout,
    entries: Vec<Entry<F>>,
    limit: usize,
    /// The block that leads the keys in `entries`.
    rotation: u32,
    /// One file a table once memory did not suffice.
    files: Vec<RunFile>,
}

impl<F: Key> Sorter<F> {
    /// A sorter that keeps about `memory` bytes of entries.
    pub fn new(layout: BlockLayout, memory: usize) -> Self {
        let limit = (memory / size_of::<Entry<F>>()).max(1024);
        Self { layout, entries: Vec::new(), limit, rotation: 0, files: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, fingerprint: F, tid: u64) {
        if self.entries.len() == self.limit {
            self.spill();
        }
        if self.entries.len() == self.entries.capacity() {
            let more = self.entries.len().clamp(1024, self.limit - self.entries.len());
            self.entries.reserve_exact(more);
        }
        self.entries.push(Entry { key: fingerprint, tid });
    }

    /// Hands all rows, as entries of `table`, to `each` in ascending order. Tables come in order.
    pub fn drain(&mut self, table: u32, mut each: impl FnMut(Entry<F>)) {
        self.lead_with(table);
        let Some(file) = self.files.get_mut(table as usize) else {
            return self.entries.iter().for_each(|entry| each(*entry));
        };
        file.merge(&self.entries, each);
    }

    fn lead_with(&mut self, table: u32) {
        let turn = self.layout.offset(table) + F::BITS - self.layout.offset(self.rotation);
        for entry in &mut self.entries {
            entry.key = entry.key.rotate_left(turn % F::BITS);
        }
        self.rotation = table;
        check_for_interrupts();
        self.entries.sort_unstable();
    }

    fn spill(&mut self) {
        let tables = self.layout.blocks();
        if self.files.is_empty() {
            self.files = (0..tables).map(|_| RunFile::new()).collect();
        }
        for table in 0..tables {
            self.lead_with(table);
            self.files[table as usize].write_run(&self.entries);
        }
        self.entries.clear();
        self.rotation = 0;
    }
}

/// Sorted runs of entries on one temporary file.
struct RunFile {
    file: *mut pg_sys::BufFile,
    /// Start and length in bytes of each run.
    runs: Vec<(u64, u64)>,
}

/// The stored size of an entry.
fn stored<F: Key>() -> usize {
    F::BYTES + TID_BYTES
}

impl RunFile {
    fn new() -> Self {
        // SAFETY: the file belongs to the current resource owner, which removes it in the end.
        Self { file: unsafe { pg_sys::BufFileCreateTemp(false) }, runs: Vec::new() }
    }

    /// Appends a run.
    fn write_run<F: Key>(&mut self, entries: &[Entry<F>]) {
        let start = self.runs.last().map_or(0, |(start, length)| start + length);
        let mut buffer = vec![0; stored::<F>() * 4096];
        for chunk in entries.chunks(4096) {
            check_for_interrupts();
            for (entry, bytes) in chunk.iter().zip(buffer.chunks_exact_mut(stored::<F>())) {
                entry.key.store(&mut bytes[..F::BYTES]);
                bytes[F::BYTES..].copy_from_slice(&entry.tid.to_le_bytes()[..TID_BYTES]);
            }
            // SAFETY: the buffer holds that many bytes.
            unsafe {
                pg_sys::BufFileWrite(self.file, buffer.as_mut_ptr().cast(), chunk.len() * stored::<F>());
            }
        }
        self.runs.push((start, (entries.len() * stored::<F>()) as u64));
    }

    /// Merges the runs with one more, `memory`.
    fn merge<F: Key>(&mut self, memory: &[Entry<F>], mut each: impl FnMut(Entry<F>)) {
        let chunk = CHUNK - CHUNK % stored::<F>();
        let mut runs: Vec<Run<F>> = self.runs.iter().map(|&(at, left)| Run::new(at, left, chunk)).collect();
        let mut memory = memory.iter().copied();
        let file = self.file;
        let mut next = |run: usize| match runs.get_mut(run) {
            Some(run) => run.next(file),
            None => memory.next(),
        };
        let sources = 0..=self.runs.len();
        let mut heap: BinaryHeap<_> =
            sources.filter_map(|run| next(run).map(|entry| Reverse((entry, run)))).collect();
        while let Some(mut least) = heap.peek_mut() {
            let Reverse((entry, run)) = *least;
            each(entry);
            match next(run) {
                Some(entry) => *least = Reverse((entry, run)),
                None => drop(PeekMut::pop(least)),
            }
        }
        // SAFETY: the file is open and not used afterwards.
        unsafe { pg_sys::BufFileClose(self.file) };
        self.runs.clear();
    }
}

/// One run being read.
struct Run<F> {
    at: u64,
    left: u64,
    buffer: Vec<u8>,
    used: usize,
    chunk: usize,
    _key: std::marker::PhantomData<F>,
}

impl<F: Key> Run<F> {
    fn new(at: u64, left: u64, chunk: usize) -> Self {
        Self { at, left, buffer: Vec::new(), used: 0, chunk, _key: std::marker::PhantomData }
    }

    fn next(&mut self, file: *mut pg_sys::BufFile) -> Option<Entry<F>> {
        if self.used == self.buffer.len() && !self.read(file) {
            return None;
        }
        let bytes = &self.buffer[self.used..self.used + stored::<F>()];
        self.used += stored::<F>();
        let mut tid = [0; 8];
        tid[..TID_BYTES].copy_from_slice(&bytes[F::BYTES..]);
        Some(Entry { key: F::load(&bytes[..F::BYTES]), tid: u64::from_le_bytes(tid) })
    }

    fn read(&mut self, file: *mut pg_sys::BufFile) -> bool {
        check_for_interrupts();
        let length = self.left.min(self.chunk as u64) as usize;
        if length == 0 {
            return false;
        }
        self.buffer.resize(length, 0);
        // SAFETY: the file is open, the buffer as long as what is read.
        let complete = unsafe {
            crate::compat::seek_temporary_file(file, self.at)
                && pg_sys::BufFileRead(file, self.buffer.as_mut_ptr().cast(), length) == length
        };
        if !complete {
            crate::error::raise(
                pgrx::PgSqlErrorCode::ERRCODE_IO_ERROR,
                format!("could not read {length} bytes at {} of a temporary file", self.at),
                "",
            );
        }
        self.at += length as u64;
        self.left -= length as u64;
        self.used = 0;
        true
    }
}
