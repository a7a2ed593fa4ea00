//! Sorted runs of entries on temporary files, and merging them.

use std::ffi::CStr;

use pgrx::pg_sys;
use simhash_core::search::Key;
use simhash_index::Entry;
use simhash_index::page::TID_BYTES;

use crate::compat;
use crate::storage::check_for_interrupts;

/// How many bytes a merge reads of a run at once. They come on top of maintenance_work_mem, which
/// makes runs a hundred times as long.
const CHUNK: usize = 256 * 1024;

/// The stored size of an entry.
const fn stored<F: Key>() -> usize {
    F::BYTES + TID_BYTES
}

/// One temporary file with the runs of one block table, one after the other.
pub struct RunFile {
    file: *mut pg_sys::BufFile,
    /// How many entries each run has.
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

    /// A file that another process wrote and closed: full runs of `run` entries, and one of the
    /// rest.
    ///
    /// # Safety
    /// This process is attached to the set.
    pub unsafe fn open_shared(
        set: *mut pg_sys::SharedFileSet,
        name: &CStr,
        entries: u64,
        run: u64,
    ) -> Self {
        let runs = (0..entries.div_ceil(run)).map(|i| run.min(entries - i * run)).collect();
        // SAFETY: as this function's.
        Self { file: unsafe { compat::open_shared_file(set, name) }, runs }
    }

    /// Appends a run.
    pub fn write_run<F: Key>(&mut self, entries: &[Entry<F>]) {
        let mut buffer = vec![0; stored::<F>() * 4096];
        for chunk in entries.chunks(4096) {
            check_for_interrupts();
            for (entry, bytes) in chunk.iter().zip(buffer.chunks_exact_mut(stored::<F>())) {
                entry.key.store(&mut bytes[..F::BYTES]);
                bytes[F::BYTES..].copy_from_slice(&entry.tid.to_le_bytes()[..TID_BYTES]);
            }
            // SAFETY: the buffer holds that many bytes.
            unsafe {
                pg_sys::BufFileWrite(
                    self.file,
                    buffer.as_mut_ptr().cast(),
                    chunk.len() * stored::<F>(),
                );
            }
        }
        self.runs.push(entries.len() as u64);
    }

    /// Writes out what is buffered and closes the file; a private one is removed.
    pub fn close(self) {
        // SAFETY: the file is open, and nobody else has it.
        unsafe { pg_sys::BufFileClose(self.file) };
    }

    fn readers<F: Key>(&self) -> impl Iterator<Item = RunReader<F>> {
        let starts = self.runs.iter().scan(0, |at, &entries| {
            let start = *at;
            *at += entries;
            Some(start)
        });
        let size = stored::<F>() as u64;
        starts
            .zip(&self.runs)
            .map(move |(start, entries)| RunReader::new(self.file, start * size, entries * size))
    }
}

/// Hands all runs of the files and one more, `memory`, to `each` in ascending order. Closes the
/// files.
pub fn merge<F: Key>(files: Vec<RunFile>, memory: &[Entry<F>], each: impl FnMut(Entry<F>)) {
    let runs = files.iter().flat_map(RunFile::readers).map(Source::File);
    let memory = std::iter::once(Source::Memory(memory.iter().copied()));
    simhash_index::build::merge(runs.chain(memory).collect(), each);
    files.into_iter().for_each(RunFile::close);
}

/// A run, wherever it is.
enum Source<F, M> {
    File(RunReader<F>),
    Memory(M),
}

impl<F: Key, M: Iterator<Item = Entry<F>>> Iterator for Source<F, M> {
    type Item = Entry<F>;

    #[inline]
    fn next(&mut self) -> Option<Entry<F>> {
        match self {
            Source::File(run) => run.next(),
            Source::Memory(entries) => entries.next(),
        }
    }
}

/// One run being read.
struct RunReader<F> {
    file: *mut pg_sys::BufFile,
    at: u64,
    left: u64,
    buffer: Vec<u8>,
    used: usize,
    _key: std::marker::PhantomData<F>,
}

impl<F: Key> RunReader<F> {
    fn new(file: *mut pg_sys::BufFile, at: u64, left: u64) -> Self {
        Self { file, at, left, buffer: Vec::new(), used: 0, _key: std::marker::PhantomData }
    }

    fn next(&mut self) -> Option<Entry<F>> {
        if self.used == self.buffer.len() && !self.read() {
            return None;
        }
        let bytes = &self.buffer[self.used..self.used + stored::<F>()];
        self.used += stored::<F>();
        let mut tid = [0; 8];
        tid[..TID_BYTES].copy_from_slice(&bytes[F::BYTES..]);
        Some(Entry { key: F::load(&bytes[..F::BYTES]), tid: u64::from_le_bytes(tid) })
    }

    fn read(&mut self) -> bool {
        check_for_interrupts();
        let chunk = CHUNK - CHUNK % stored::<F>();
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
