//! Sorted runs of rows on temporary files, and merging them.

use std::ffi::CStr;

use pgrx::pg_sys;
use simhash_index::key::Bytes;
use simhash_index::page::{TID_BYTES, load_key, store_key};
use simhash_index::{Entry, Row, Shape, TreeKey};

use crate::compat;
use crate::storage::check_for_interrupts;

/// How many bytes a merge reads of a run at once. They come on top of maintenance_work_mem, which
/// makes runs a hundred times as long.
const CHUNK: usize = 256 * 1024;

/// The stored size of a row.
const fn stored(shape: &Shape) -> usize {
    shape.key + shape.scope + shape.payload + TID_BYTES
}

fn write<K: TreeKey>(row: &Row<K>, shape: &Shape, bytes: &mut [u8]) {
    let Entry { key, tid } = row.entry;
    let (fingerprint, rest) = bytes.split_at_mut(shape.key);
    let (scope, rest) = rest.split_at_mut(shape.scope);
    let (payload, place) = rest.split_at_mut(shape.payload);
    store_key(key.fingerprint(), fingerprint);
    key.scope().store(scope);
    row.payload.store(payload);
    place.copy_from_slice(&tid.to_le_bytes()[..TID_BYTES]);
}

fn read<K: TreeKey>(bytes: &[u8], shape: &Shape) -> Row<K> {
    let (fingerprint, rest) = bytes.split_at(shape.key);
    let (scope, rest) = rest.split_at(shape.scope);
    let (payload, place) = rest.split_at(shape.payload);
    let mut tid = [0; 8];
    tid[..TID_BYTES].copy_from_slice(place);
    let key = K::new(K::Scope::load(scope), load_key(fingerprint));
    let entry = Entry { key, tid: u64::from_le_bytes(tid) };
    Row { entry, payload: K::Payload::load(payload) }
}

/// One temporary file with the runs of one block table, one after the other.
pub struct RunFile {
    file: *mut pg_sys::BufFile,
    /// How many rows each run has.
    runs: Vec<u64>,
}

impl RunFile {
    /// A file of this process alone.
    pub fn private() -> Self {
        // SAFETY: the file belongs to the current resource owner, which removes it at its end.
        Self { file: unsafe { pg_sys::BufFileCreateTemp(false) }, runs: Vec::new() }
    }

    /// A file that another process may open by its name once this one has closed it.
    ///
    /// # Safety
    /// This process is attached to the set.
    pub unsafe fn shared(set: *mut pg_sys::SharedFileSet, name: &CStr) -> Self {
        // SAFETY: as this function's.
        Self { file: unsafe { compat::create_shared_file(set, name) }, runs: Vec::new() }
    }

    /// A file that another process wrote and closed: full runs of `run` rows, and one of the
    /// rest.
    ///
    /// # Safety
    /// This process is attached to the set.
    pub unsafe fn open_shared(
        set: *mut pg_sys::SharedFileSet,
        name: &CStr,
        rows: u64,
        run: u64,
    ) -> Self {
        let runs = (0..rows.div_ceil(run)).map(|i| run.min(rows - i * run)).collect();
        // SAFETY: as this function's.
        Self { file: unsafe { compat::open_shared_file(set, name) }, runs }
    }

    /// Appends a run.
    pub fn write_run<K: TreeKey>(&mut self, rows: &[Row<K>], shape: &Shape) {
        let mut buffer = vec![0; stored(shape) * 4096];
        for chunk in rows.chunks(4096) {
            check_for_interrupts();
            for (row, bytes) in chunk.iter().zip(buffer.chunks_exact_mut(stored(shape))) {
                write(row, shape, bytes);
            }
            // SAFETY: the buffer holds that many bytes.
            unsafe {
                pg_sys::BufFileWrite(
                    self.file,
                    buffer.as_mut_ptr().cast(),
                    chunk.len() * stored(shape),
                );
            }
        }
        self.runs.push(rows.len() as u64);
    }

    /// Writes out what is buffered and closes the file; a private one is removed.
    pub fn close(self) {
        // SAFETY: the file is open, and nobody else has it.
        unsafe { pg_sys::BufFileClose(self.file) };
    }

    fn readers<K: TreeKey>(&self, shape: Shape) -> impl Iterator<Item = RunReader<K>> {
        let starts = self.runs.iter().scan(0, |at, &rows| {
            let start = *at;
            *at += rows;
            Some(start)
        });
        let size = stored(&shape) as u64;
        starts
            .zip(&self.runs)
            .map(move |(start, rows)| RunReader::new(self.file, shape, start * size, rows * size))
    }
}

/// Hands all runs of the files and one more, `memory`, to `each` in ascending order. Closes the
/// files.
pub fn merge<K: TreeKey>(
    files: Vec<RunFile>,
    shape: Shape,
    memory: &[Row<K>],
    each: impl FnMut(Row<K>),
) {
    let runs = files.iter().flat_map(|file| file.readers(shape)).map(Source::File);
    let memory = std::iter::once(Source::Memory(memory.iter().copied()));
    simhash_index::build::merge(runs.chain(memory).collect(), each);
    files.into_iter().for_each(RunFile::close);
}

/// A run, wherever it is.
enum Source<K, M> {
    File(RunReader<K>),
    Memory(M),
}

impl<K: TreeKey, M: Iterator<Item = Row<K>>> Iterator for Source<K, M> {
    type Item = Row<K>;

    #[inline]
    fn next(&mut self) -> Option<Row<K>> {
        match self {
            Source::File(run) => run.next(),
            Source::Memory(rows) => rows.next(),
        }
    }
}

/// One run being read.
struct RunReader<K> {
    file: *mut pg_sys::BufFile,
    shape: Shape,
    at: u64,
    left: u64,
    buffer: Vec<u8>,
    used: usize,
    _key: std::marker::PhantomData<K>,
}

impl<K: TreeKey> RunReader<K> {
    fn new(file: *mut pg_sys::BufFile, shape: Shape, at: u64, left: u64) -> Self {
        Self { file, shape, at, left, buffer: Vec::new(), used: 0, _key: std::marker::PhantomData }
    }

    fn next(&mut self) -> Option<Row<K>> {
        if self.used == self.buffer.len() && !self.fill() {
            return None;
        }
        let start = self.used;
        self.used += stored(&self.shape);
        Some(read(&self.buffer[start..self.used], &self.shape))
    }

    fn fill(&mut self) -> bool {
        check_for_interrupts();
        let chunk = CHUNK - CHUNK % stored(&self.shape);
        let length = self.left.min(chunk as u64) as usize;
        if length == 0 {
            return false;
        }
        self.buffer.resize(length, 0);
        // SAFETY: the file is open, the buffer as long as what is read.
        let complete = unsafe {
            compat::seek_temporary_file(self.file, self.at)
                && pg_sys::BufFileRead(self.file, self.buffer.as_mut_ptr().cast(), length) == length
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
