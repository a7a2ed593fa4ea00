//! Writes stretches of block tables, which the processes of a parallel build do at the same time.
//!
//! Every process has left its rows in sorted runs, one file for each block table. The leader cuts
//! each table into stretches that a sample of its rows shows to be about equal ([`Writing::cut`]).
//! Each free process takes the next stretch, merges that part of the runs, and writes its leaves
//! ([`Writing::write_all`]). It leaves their downlinks in a file, from which the leader writes the
//! levels above ([`Writing::finish`]). So the work of one process alone grows with the number of
//! leaves, not of rows.

use std::ffi::CString;
use std::ops::Range;
use std::sync::atomic::Ordering;

use simhash_index::build::{Stretch, Writer, merge};
use simhash_index::{Entry, Row, Shape, Store, TreeKey};

use super::downlinks;
use super::runs::{LEAST_AT_ONCE, MOST_AT_ONCE, RunFile};
use super::shared::{Chunks, Piece};
use super::sort::{Content, Share};
use crate::storage::{Index, IndexRel};

/// The least number of rows of a stretch.
const LEAST_ROWS: u64 = 8192;
/// How many rows of a stretch are sampled.
const SAMPLED: u64 = 64;

/// A build whose runs are all written, as seen by a process that writes stretches.
pub struct Writing<'a, K: TreeKey> {
    pub chunks: Chunks,
    pub rel: IndexRel,
    pub index: &'a Index<K>,
    /// How full leaves become, in percent.
    pub fill: usize,
}

impl<K: TreeKey> Writing<'_, K> {
    /// The shape of the rows in the runs.
    fn shape(&self, content: Content) -> Shape {
        self.index.shape.at(content.last_table(self.index))
    }

    /// All processes' runs of a block table. All processes have published them.
    fn runs(&self, content: Content, number: u32) -> Vec<RunFile> {
        let (memory, set) = (self.chunks.task().memory, self.chunks.files());
        let slots = self.chunks.published().iter().enumerate();
        let runs = slots.filter_map(|(process, slot)| {
            let entries = slot.entries(content).load(Ordering::Relaxed);
            let share = Share { set, process, content };
            share.open::<K>(number, entries, content.memory(memory))
        });
        runs.collect()
    }

    /// A writer of a block table.
    fn writer(&self, table: u8) -> Writer<'_, K, IndexRel> {
        Writer::new(&self.rel, self.index.shape, table, self.fill)
    }

    /// Cuts a block table into stretches, at most one for each process. Returns none if the table
    /// is too small.
    pub fn cut(&self, content: Content, number: u32, processes: usize) -> Vec<Stretch<K>> {
        let files = self.runs(content, number);
        let rows: u64 = files.iter().map(RunFile::rows).sum();
        let count = (rows / LEAST_ROWS).min(processes as u64);
        let mut lows = vec![Entry::MIN];
        if count > 1 {
            let step = (rows / (count * SAMPLED)).max(1);
            let shape = self.shape(content);
            let mut sample: Vec<Entry<K>> =
                files.iter().flat_map(|file| file.sample(&shape, step)).collect();
            sample.sort_unstable();
            let places = (1..count as usize).map(|i| i * sample.len() / count as usize);
            lows.extend(places.map(|place| sample[place]));
            lows.dedup();
        }
        files.into_iter().for_each(RunFile::close);
        if lows.len() < 2 {
            return Vec::new();
        }
        let pages = self.rel.reserve(lows.len() as u32);
        let firsts: Vec<(Entry<K>, u32)> = lows.into_iter().zip(pages).collect();
        let ends = firsts.iter().skip(1).copied().map(Some).chain([None]);
        let stretch = |(&(low, first), end)| Stretch { low, first, end, rows: 0 };
        firsts.iter().zip(ends).map(stretch).collect()
    }

    /// The rows of a block table, in all runs, from `low` on and below `end`.
    fn part(
        &self,
        (content, number): (Content, u32),
        low: Entry<K>,
        end: Option<Entry<K>>,
    ) -> Part {
        let shape = self.shape(content);
        let files = self.runs(content, number);
        let windows = files.iter().map(|file| file.between(&shape, low, end)).collect();
        let memory = self.chunks.task().memory;
        Part { shape, memory, files, windows }
    }

    /// Writes a whole block table that was not cut.
    pub fn write_whole(&self, content: Content, number: u32) {
        let mut writer = self.writer(content.tables(self.index).start + number as u8);
        self.part((content, number), Entry::MIN, None).merge(|row| writer.push(row));
        writer.finish();
    }

    /// Takes and writes one stretch after the other, until none is left.
    pub fn write_all(&self) {
        while let Some((place, piece)) = self.chunks.take::<K>() {
            self.write(place, piece);
            self.chunks.done();
        }
    }

    fn write(&self, place: usize, piece: Piece<K>) {
        let Piece { content, number, mut stretch } = piece;
        let end = stretch.end.map(|(entry, _)| entry);
        let part = self.part((content, number), stretch.low, end);
        stretch.rows = part.rows();
        let table = content.tables(self.index).start + number as u8;
        let (shape, fill) = (self.index.shape, self.fill);
        let mut writer = Writer::of_stretch(&self.rel, shape, table, fill, &stretch);
        part.merge(|row| writer.push(row));
        let set = self.chunks.files();
        downlinks::write(set, &name(place), &shape, &writer.finish_stretch());
    }

    /// Writes the levels above the stretches of a block table, which are all written. `places` are
    /// their numbers among all pieces.
    pub fn finish(&self, content: Content, number: u32, places: Range<usize>) {
        let mut all = Vec::new();
        for place in places {
            downlinks::read(self.chunks.files(), &name(place), &self.index.shape, &mut all);
        }
        self.writer(content.tables(self.index).start + number as u8).finish_above(all);
    }
}

fn name(place: usize) -> CString {
    CString::new(format!("d{place}")).expect("neither letters nor digits are NUL")
}

/// A part of a block table: for each file, the rows of each of its runs.
struct Part {
    shape: Shape,
    /// Bytes for read buffers: all of the process's memory, since it needs no other by then.
    memory: usize,
    files: Vec<RunFile>,
    windows: Vec<Vec<Range<u64>>>,
}

impl Part {
    fn rows(&self) -> u64 {
        self.windows.iter().flatten().map(|rows| rows.end - rows.start).sum()
    }

    /// Passes all rows to `each` in ascending order.
    fn merge<K: TreeKey>(self, each: impl FnMut(Row<K>)) {
        let Self { shape, memory, files, windows } = self;
        let runs = windows.iter().flatten().filter(|rows| !rows.is_empty()).count();
        let at_once = (memory / runs.max(1)).clamp(LEAST_AT_ONCE, MOST_AT_ONCE);
        let readers = files.iter().zip(windows).flat_map(|(file, windows)| {
            windows.into_iter().map(move |rows| file.reader(shape, rows, at_once))
        });
        merge(readers.collect(), each);
        files.into_iter().for_each(RunFile::close);
    }
}
