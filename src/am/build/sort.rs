//! Sorts rows for a build: in memory while they fit, otherwise in runs in temporary files.
//!
//! Rows are collected once, not rotated. If they fit in memory, they are rotated and sorted in
//! place for one block table after the other. Otherwise, each time the memory is full, they are
//! rotated, sorted and written as one run for each block table. To build a block table, its runs
//! are merged with the rows still in memory. The processes of a parallel build write all rows as
//! runs to files; each process then merges different [stretches](super::stretches) of the tables.

use std::ffi::CString;
use std::ops::Range;

use simhash_core::base::sort::sort_in_pieces;
use simhash_core::search::BlockLayout;
use simhash_index::postings::SETTLED;
use simhash_index::{Row, Shape, TreeKey};

use super::files::FileSet;
use super::runs::{RunFile, merge};
use crate::error::raise_no_memory;
use crate::storage::{Index, check_for_interrupts};

/// The rows of a build of one content, or one process's part of them.
pub struct Sorter<K: TreeKey> {
    layout: BlockLayout,
    shape: Shape,
    rows: Vec<Row<K>>,
    limit: usize,
    /// The block that comes first in the keys of `rows`.
    rotation: u32,
    /// One file for each block table, created when rows are first written out.
    files: Vec<RunFile>,
    /// How many rows each of the files has.
    spilled: u64,
    share: Option<Share>,
}

/// What a sorter sorts. Every process has one sorter for each content.
#[derive(Clone, Copy)]
pub enum Content {
    /// The keys of rows, for every block table.
    Rows,
    /// The rows without a key, for the table of NULLs.
    Nulls,
}

impl Content {
    /// The numbers of the tables that the sorter fills.
    pub fn tables<K: TreeKey>(self, index: &Index<K>) -> Range<u8> {
        let last = index.null_table();
        match self {
            // A build writes all postings to the settled tree.
            Content::Rows if index.is_of_postings() => SETTLED..last,
            Content::Rows => 0..last,
            Content::Nulls => last..last + 1,
        }
    }

    /// The last of those tables.
    pub fn last_table<K: TreeKey>(self, index: &Index<K>) -> u8 {
        self.tables(index).end - 1
    }

    /// The part of a process's memory that the sorter may use.
    pub fn memory(self, all: usize) -> usize {
        let nulls = all / 16;
        match self {
            Content::Rows => all - nulls,
            Content::Nulls => nulls,
        }
    }
}

/// Identifies the files in which a process leaves its runs to all processes.
#[derive(Clone, Copy)]
pub struct Share {
    pub set: FileSet,
    pub process: usize,
    pub content: Content,
}

impl Share {
    fn name(&self, block_table: u32) -> CString {
        let letter = match self.content {
            Content::Rows => 'r',
            Content::Nulls => 'n',
        };
        CString::new(format!("{letter}{}.{block_table}", self.process))
            .expect("neither letters nor digits are NUL")
    }

    /// The runs of a block table that the process has published: `rows` rows, from a sorter that
    /// had `memory` bytes. `None` if it has no rows.
    pub fn open<K: TreeKey>(&self, block_table: u32, rows: u64, memory: usize) -> Option<RunFile> {
        let run = limit::<K>(memory) as u64;
        let name = self.name(block_table);
        (rows > 0).then(|| RunFile::open_shared(self.set, &name, rows, run))
    }
}

/// The number of rows that fit in about `memory` bytes.
fn limit<K: TreeKey>(memory: usize) -> usize {
    (memory / size_of::<Row<K>>()).max(1024)
}

impl<K: TreeKey> Sorter<K> {
    /// A sorter that keeps about `memory` bytes of rows.
    pub fn new(layout: BlockLayout, shape: Shape, memory: usize, share: Option<Share>) -> Self {
        let limit = limit::<K>(memory);
        Self {
            layout,
            shape,
            rows: Vec::new(),
            limit,
            rotation: 0,
            files: Vec::new(),
            spilled: 0,
            share,
        }
    }

    pub fn push(&mut self, row: Row<K>) {
        if self.rows.len() == self.limit {
            self.spill();
        }
        if self.rows.len() == self.rows.capacity() {
            self.grow();
        }
        self.rows.push(row);
    }

    /// Doubles the capacity, up to the limit, which has not been reached.
    fn grow(&mut self) {
        let more = self.rows.len().max(1024).min(self.limit - self.rows.len());
        if self.rows.try_reserve_exact(more).is_err() {
            let bytes = (self.rows.len() + more).saturating_mul(size_of::<Row<K>>());
            raise_no_memory(bytes, "Lower maintenance_work_mem.");
        }
    }

    /// How many rows each block table has.
    pub fn len(&self) -> u64 {
        self.spilled + self.rows.len() as u64
    }

    /// Passes all rows, as rows of `block_table`, to `each` in ascending order. Callers drain the
    /// block tables in order.
    pub fn drain(&mut self, block_table: u32, each: impl FnMut(Row<K>)) {
        self.lead_with(block_table);
        if self.spilled == 0 {
            return self.rows.iter().copied().for_each(each);
        }
        // Block tables are drained in order, so the first remaining file is this one's.
        let file = self.files.remove(0);
        merge(&file, self.shape, &self.rows, each);
        file.close();
    }

    /// Writes all rows to the shared files, for the processes that write the block tables.
    pub fn publish(mut self) {
        let last = !self.rows.is_empty();
        if last && self.files.is_empty() {
            self.create_files();
        }
        let files = std::mem::take(&mut self.files).into_iter();
        for (mut file, block_table) in files.zip(0..) {
            if last {
                self.lead_with(block_table);
                file.write_run(&self.rows, &self.shape);
            }
            file.close();
        }
    }

    fn lead_with(&mut self, block: u32) {
        for row in &mut self.rows {
            let key = row.entry.key;
            let fingerprint = self.layout.restore(key.fingerprint(), self.rotation);
            row.entry.key = K::new(key.scope(), self.layout.rotate(fingerprint, block));
        }
        self.rotation = block;
        check_for_interrupts();
        sort_in_pieces(&mut self.rows, &mut || check_for_interrupts());
    }

    fn spill(&mut self) {
        if self.files.is_empty() {
            self.create_files();
        }
        for block_table in 0..self.layout.blocks() {
            self.lead_with(block_table);
            self.files[block_table as usize].write_run(&self.rows, &self.shape);
        }
        self.spilled += self.rows.len() as u64;
        self.rows.clear();
        self.rotation = 0;
    }

    fn create_files(&mut self) {
        let share = self.share;
        let file = |block_table| match &share {
            None => RunFile::private(),
            Some(share) => RunFile::shared(share.set, &share.name(block_table)),
        };
        self.files = (0..self.layout.blocks()).map(file).collect();
    }
}
