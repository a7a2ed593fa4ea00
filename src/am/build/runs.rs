//! Writes, reads and merges sorted runs of rows in temporary files.

use std::ffi::CStr;
use std::ops::Range;

use simhash_index::key::Bytes;
use simhash_index::page::{TID_BYTES, load_key, store_key};
use simhash_index::{Entry, Row, Shape, TreeKey};

use super::files::{FileSet, TempFile};
use crate::storage::check_for_interrupts;

/// The most bytes that a merge reads of a run at once. In a build without workers they are not
/// counted in maintenance_work_mem; a run, which has that size, is some hundred times as long.
pub const MOST_AT_ONCE: usize = 256 * 1024;
/// The least, if there are very many runs.
pub const LEAST_AT_ONCE: usize = 8 * 1024;

/// The stored size of a row.
pub const fn stored(shape: &Shape) -> usize {
    shape.key + shape.scope + shape.payload + TID_BYTES
}

/// Writes a row to `bytes`, which are as long as a stored row.
pub fn write<K: TreeKey>(row: &Row<K>, shape: &Shape, bytes: &mut [u8]) {
    let Entry { key, tid } = row.entry;
    let (fingerprint, rest) = bytes.split_at_mut(shape.key);
    let (scope, rest) = rest.split_at_mut(shape.scope);
    let (payload, place) = rest.split_at_mut(shape.payload);
    store_key(key.fingerprint(), fingerprint);
    key.scope().store(scope);
    row.payload.store(payload);
    place.copy_from_slice(&tid.to_le_bytes()[..TID_BYTES]);
}

/// Reads a row that [`write`] wrote.
pub fn read<K: TreeKey>(bytes: &[u8], shape: &Shape) -> Row<K> {
    let (fingerprint, rest) = bytes.split_at(shape.key);
    let (scope, rest) = rest.split_at(shape.scope);
    let (payload, place) = rest.split_at(shape.payload);
    let mut tid = [0; 8];
    tid[..TID_BYTES].copy_from_slice(place);
    let key = K::new(K::Scope::load(scope), load_key(fingerprint));
    let entry = Entry { key, tid: u64::from_le_bytes(tid) };
    Row { entry, payload: K::Payload::load(payload) }
}

/// A temporary file with the runs of one block table, one after the other.
pub struct RunFile {
    file: TempFile,
    /// How many rows each run has.
    runs: Vec<u64>,
}

impl RunFile {
    /// Creates a file of this process alone.
    pub fn private() -> Self {
        Self { file: TempFile::private(), runs: Vec::new() }
    }

    /// Creates a file that another process can open by its name once this process has closed it.
    pub fn shared(set: FileSet, name: &CStr) -> Self {
        Self { file: TempFile::create(set, name), runs: Vec::new() }
    }

    /// Opens a file that another process wrote and closed: full runs of `run` rows, and one run of
    /// the rest.
    pub fn open_shared(set: FileSet, name: &CStr, rows: u64, run: u64) -> Self {
        let runs = (0..rows.div_ceil(run)).map(|i| run.min(rows - i * run)).collect();
        Self { file: TempFile::open(set, name), runs }
    }

    /// How many rows the file has.
    pub fn rows(&self) -> u64 {
        self.runs.iter().sum()
    }

    /// Every `step`th row, in the order of the file.
    pub fn sample<K: TreeKey>(&self, shape: &Shape, step: u64) -> Vec<Entry<K>> {
        let numbers = (step / 2..self.rows()).step_by(step as usize);
        numbers.map(|number| self.entry(shape, number)).collect()
    }

    /// For each run, the numbers in the file of its rows from `low` on and below `end`.
    pub fn between<K: TreeKey>(
        &self,
        shape: &Shape,
        low: Entry<K>,
        end: Option<Entry<K>>,
    ) -> Vec<Range<u64>> {
        let mut start = 0;
        let in_run = |&rows: &u64| {
            let run = start..start + rows;
            start = run.end;
            let from = self.first_from(shape, run.clone(), low);
            let to = end.map_or(run.end, |end| self.first_from(shape, from..run.end, end));
            from..to
        };
        self.runs.iter().map(in_run).collect()
    }

    /// The first of these rows of a run that is not below `entry`, or their end.
    fn first_from<K: TreeKey>(&self, shape: &Shape, mut rows: Range<u64>, entry: Entry<K>) -> u64 {
        check_for_interrupts();
        while rows.start < rows.end {
            let middle = rows.start + (rows.end - rows.start) / 2;
            if self.entry::<K>(shape, middle) < entry {
                rows.start = middle + 1;
            } else {
                rows.end = middle;
            }
        }
        rows.start
    }

    fn entry<K: TreeKey>(&self, shape: &Shape, number: u64) -> Entry<K> {
        let mut bytes = vec![0; stored(shape)];
        self.file.read_at(number * stored(shape) as u64, &mut bytes);
        read::<K>(&bytes, shape).entry
    }

    pub fn write_run<K: TreeKey>(&mut self, rows: &[Row<K>], shape: &Shape) {
        let mut buffer = vec![0; stored(shape) * 4096];
        for chunk in rows.chunks(4096) {
            check_for_interrupts();
            for (row, bytes) in chunk.iter().zip(buffer.chunks_exact_mut(stored(shape))) {
                write(row, shape, bytes);
            }
            self.file.write(&buffer[..chunk.len() * stored(shape)]);
        }
        self.runs.push(rows.len() as u64);
    }

    /// Flushes and closes the file; a private file is then removed.
    pub fn close(self) {
        self.file.close();
    }

    /// A reader of rows of one run, given by their numbers in the file. It reads at most `at_once`
    /// bytes at a time.
    pub fn reader<K: TreeKey>(
        &self,
        shape: Shape,
        rows: Range<u64>,
        at_once: usize,
    ) -> RunReader<'_, K> {
        let size = stored(&shape);
        RunReader {
            file: &self.file,
            shape,
            at: rows.start * size as u64,
            left: (rows.end - rows.start) * size as u64,
            at_once: at_once - at_once % size,
            buffer: Vec::new(),
            used: 0,
            _key: std::marker::PhantomData,
        }
    }
}

/// Passes the rows of all runs of a file, and of one more run in `memory`, to `each` in ascending
/// order.
pub fn merge<K: TreeKey>(
    file: &RunFile,
    shape: Shape,
    memory: &[Row<K>],
    each: impl FnMut(Row<K>),
) {
    let runs = file.between(&shape, Entry::<K>::MIN, None).into_iter();
    let runs = runs.map(|rows| Source::File(file.reader(shape, rows, MOST_AT_ONCE)));
    let memory = std::iter::once(Source::Memory(memory.iter().copied()));
    simhash_index::build::merge(runs.chain(memory).collect(), each);
}

/// A run in a file or in memory.
enum Source<'a, K, M> {
    File(RunReader<'a, K>),
    Memory(M),
}

impl<K: TreeKey, M: Iterator<Item = Row<K>>> Iterator for Source<'_, K, M> {
    type Item = Row<K>;

    #[inline]
    fn next(&mut self) -> Option<Row<K>> {
        match self {
            Source::File(run) => run.next(),
            Source::Memory(rows) => rows.next(),
        }
    }
}

/// Reads one run, or a part of it.
pub struct RunReader<'a, K> {
    file: &'a TempFile,
    shape: Shape,
    at: u64,
    left: u64,
    at_once: usize,
    buffer: Vec<u8>,
    used: usize,
    _key: std::marker::PhantomData<K>,
}

impl<K: TreeKey> RunReader<'_, K> {
    fn fill(&mut self) -> bool {
        check_for_interrupts();
        let length = self.left.min(self.at_once as u64) as usize;
        if length == 0 {
            return false;
        }
        self.buffer.resize(length, 0);
        self.file.read_at(self.at, &mut self.buffer);
        self.at += length as u64;
        self.left -= length as u64;
        self.used = 0;
        true
    }
}

impl<K: TreeKey> Iterator for RunReader<'_, K> {
    type Item = Row<K>;

    #[inline]
    fn next(&mut self) -> Option<Row<K>> {
        if self.used == self.buffer.len() && !self.fill() {
            return None;
        }
        let start = self.used;
        self.used += stored(&self.shape);
        Some(read(&self.buffer[start..self.used], &self.shape))
    }
}
