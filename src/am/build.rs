//! CREATE INDEX: one heap scan, then each table sorted and written from its leaves up. Workers may
//! share the scan and the sorting (see `parallel`).
//!
//! Every page is written once, in shared buffers, and WAL-logged whole. The leaves of a table lie in
//! key order on consecutive blocks. The roots' blocks are reserved first and filled last.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::{BlockLayout, Key};

use super::index::{Index, forget_file, root};
use super::kind::{Keys, Kind};
use super::options::Options;
use super::parallel::{self, Team};
use super::sort::{Share, Sorter};
use super::{check_for_interrupts, pack_tid, with_key_type};
use crate::error::raise;
use crate::storage::allocate::extend;
use crate::storage::meta::Meta;
use crate::storage::page::{Bounds, Downlink, PageMut, capacity};
use crate::storage::wal::write_new;
use crate::storage::{Entry, Exclusive, FIRST_ROOT, IndexRel, PageBytes};

/// Phases in pg_stat_progress_create_index, after PostgreSQL's own 1, "initializing".
const PHASE_SCAN: i64 = 2;
const PHASE_SORT: i64 = 3;

/// ambuildphasename.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambuildphasename(phase: i64) -> *mut std::ffi::c_char {
    let name = match phase {
        1 => c"initializing",
        PHASE_SCAN => c"scanning table",
        PHASE_SORT => c"sorting and writing block tables",
        _ => return std::ptr::null_mut(),
    };
    name.as_ptr().cast_mut()
}

/// ambuild.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambuild(
    heap: pg_sys::Relation,
    rel: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // SAFETY: PostgreSQL passes open relations that nobody else changes.
    unsafe {
        let index = IndexRel::new(rel);
        // TRUNCATE, and ON COMMIT DELETE ROWS, may have emptied the file that this backend knows.
        forget_file(index);
        let meta = new_meta(rel);
        if index.blocks() != 0 {
            raise(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                format!("index \"{}\" already contains data", index.name()),
                "",
            );
        }
        let (heap_tuples, index_tuples) = with_key_type!(meta.bits, F => {
            initialize::<F>(index, pg_sys::ForkNumber::MAIN_FORKNUM, meta, index.needs_wal());
            build::<F>(heap, index, info)
        });
        let result: *mut pg_sys::IndexBuildResult =
            pg_sys::palloc0(size_of::<pg_sys::IndexBuildResult>()).cast();
        *result = pg_sys::IndexBuildResult { heap_tuples, index_tuples };
        result
    }
}

/// ambuildempty: what an unlogged index is after a crash.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambuildempty(rel: pg_sys::Relation) {
    // SAFETY: an open index; its init fork is WAL-logged although the index is not.
    unsafe {
        let meta = new_meta(rel);
        with_key_type!(meta.bits, F => {
            initialize::<F>(IndexRel::new(rel), pg_sys::ForkNumber::INIT_FORKNUM, meta, true);
        });
    }
}

unsafe fn new_meta(rel: pg_sys::Relation) -> Meta {
    // SAFETY: an open index of this access method.
    unsafe {
        let kind = Kind::of_index(rel);
        let blocks = Options::blocks(rel, kind.default_blocks());
        Meta { kind: kind as u32, bits: kind.bits(), blocks }
    }
}

/// Writes the meta page and the empty roots.
fn initialize<F: Key>(rel: IndexRel, fork: pg_sys::ForkNumber::Type, meta: Meta, log: bool) {
    write_new(&extend(rel, fork), &meta.to_page(), log);
    for table in 0..=meta.blocks as u8 {
        let page = extend(rel, fork);
        assert_eq!(page.block(), root(table), "the roots follow the meta page");
        let mut image = blank();
        PageMut::format::<F>(&mut image, table, 0, &Bounds::ALL, None);
        write_new(&page, &image, log);
    }
}

fn blank() -> Box<PageBytes> {
    Box::new([0; size_of::<PageBytes>()])
}

fn progress(phase: i64) {
    // SAFETY: reports a number.
    unsafe { pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32, phase) };
}

/// What the heap scan's callback collects.
pub struct Collector<F> {
    kind: Kind,
    pub sorter: Sorter<F>,
    pub nulls: Sorter<F>,
    pub rows: u64,
}

impl<F: Key> Collector<F> {
    /// A collector that keeps about `memory` bytes; `share` says whether it is a worker's.
    pub fn new(index: &Index<F>, memory: usize, share: impl Fn(char) -> Option<Share>) -> Self {
        let one = BlockLayout::new::<F>(1).expect("every width can be one block");
        Self {
            kind: index.kind,
            sorter: Sorter::new(index.layout, Self::row_memory(memory), share(parallel::ROWS)),
            nulls: Sorter::new(one, Self::null_memory(memory), share(parallel::NULLS)),
            rows: 0,
        }
    }

    pub fn row_memory(memory: usize) -> usize {
        memory - Self::null_memory(memory)
    }

    pub fn null_memory(memory: usize) -> usize {
        memory / 16
    }

    /// Scans the table, or as much of it as `scan` gives this process. Returns the number of tuples.
    ///
    /// # Safety
    /// The relations are open, `info` describes the index, `scan` is NULL or a scan of the table.
    pub unsafe fn scan(
        &mut self,
        heap: pg_sys::Relation,
        rel: IndexRel,
        info: *mut pg_sys::IndexInfo,
        scan: pg_sys::TableScanDesc,
        progress: bool,
    ) -> f64 {
        // SAFETY: as this function's; the callback gets this collector, which outlives the scan.
        unsafe {
            pg_sys::table_index_build_scan(
                heap,
                rel.as_ptr(),
                info,
                true,
                progress,
                Some(collect::<F>),
                (&raw mut *self).cast(),
                scan,
            )
        }
    }
}

unsafe fn build<F: Key>(heap: pg_sys::Relation, rel: IndexRel, info: *mut pg_sys::IndexInfo) -> (f64, f64) {
    let index = Index::<F>::open(rel);
    // SAFETY: a setting, in kB.
    let memory = unsafe { pg_sys::maintenance_work_mem } as usize * 1024;
    // SAFETY: the relations are open, the meta page is written.
    let team = unsafe { Team::launch(heap, rel, info, memory) };
    let mut collector = Collector::<F>::new(&index, team.as_ref().map_or(memory, Team::memory), |_| None);
    progress(PHASE_SCAN);
    // SAFETY: the relations are open.
    let heap_tuples = unsafe {
        let scan = team.as_ref().map_or(std::ptr::null_mut(), |team| team.scan(heap));
        collector.scan(heap, rel, info, scan, true)
    };
    progress(PHASE_SORT);
    if let Some(team) = &team {
        team.expect_all();
    }
    let workers_runs = |table| team.as_ref().map_or(Vec::new(), |team| team.runs(&index, table));
    // SAFETY: an open index.
    let fill = unsafe { Options::fillfactor(rel.as_ptr()) };
    for table in 0..index.null_table() {
        let mut writer = Writer::new(rel, table, fill);
        collector.sorter.drain(u32::from(table), || workers_runs(table), |entry| writer.push(entry));
        writer.finish();
    }
    let mut writer = Writer::new(rel, index.null_table(), fill);
    collector.nulls.drain(0, || workers_runs(index.null_table()), |entry| writer.push(entry));
    writer.finish();
    // SAFETY: all tables are written.
    let (workers_tuples, workers_rows) = team.map_or((0.0, 0.0), |team| unsafe { team.finish(info) });
    (heap_tuples + workers_tuples, collector.rows as f64 + workers_rows)
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn collect<F: Key>(
    _rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes one value and the state that `build` gave it.
    unsafe {
        let collector = &mut *state.cast::<Collector<F>>();
        let tid = pack_tid(&*tid);
        collector.rows += 1;
        let keys = (!*is_null).then(|| collector.kind.keys(*values));
        let keys = keys.as_ref().map_or(&[][..], Keys::as_slice);
        if keys.is_empty() {
            collector.nulls.push(F::ZERO, tid);
        }
        for &key in keys {
            collector.sorter.push(key, tid);
        }
    }
}

/// Writes one table from entries in ascending order.
struct Writer<F> {
    rel: IndexRel,
    table: u8,
    fill: usize,
    log: bool,
    /// The leaf being filled, and its lower bound.
    entries: Vec<Entry<F>>,
    low: Entry<F>,
    leaf_capacity: usize,
    /// Downlinks of the leaves written so far.
    downlinks: Vec<Downlink<F>>,
}

impl<F: Key> Writer<F> {
    fn new(rel: IndexRel, table: u8, fill: usize) -> Self {
        let leaf_capacity = (capacity::<F>(0) * fill / 100).max(2);
        Self {
            rel,
            table,
            fill,
            log: rel.needs_wal(),
            entries: Vec::with_capacity(leaf_capacity),
            low: Entry::MIN,
            leaf_capacity,
            downlinks: Vec::new(),
        }
    }

    fn push(&mut self, entry: Entry<F>) {
        if self.entries.len() == self.leaf_capacity {
            self.write_leaf(Some(entry));
        }
        self.entries.push(entry);
    }

    /// Writes the last leaf and the levels above it, and fills the root.
    fn finish(mut self) {
        if self.downlinks.is_empty() {
            let mut image = blank();
            PageMut::format::<F>(&mut image, self.table, 0, &Bounds::ALL, None).set_entries(&self.entries);
            return self.write_root(&image);
        }
        self.write_leaf(None);
        let mut level = 1;
        while self.downlinks.len() > capacity::<F>(level) {
            self.write_level(level);
            level += 1;
        }
        let mut image = blank();
        PageMut::format::<F>(&mut image, self.table, level, &Bounds::ALL, None)
            .set_downlinks(&self.downlinks);
        self.write_root(&image);
    }

    /// Writes the leaf; `next` is the first entry of the one after it.
    fn write_leaf(&mut self, next: Option<Entry<F>>) {
        check_for_interrupts();
        let bounds = Bounds { low: self.low, high: next };
        let entries = std::mem::take(&mut self.entries);
        let child = self.write_page(0, &bounds, |page| page.set_entries(&entries));
        self.entries = entries;
        self.entries.clear();
        self.downlinks.push(Downlink { separator: self.low, child });
        self.low = next.unwrap_or(Entry::MIN);
    }

    fn write_level(&mut self, level: u8) {
        let per_page = (capacity::<F>(level) * self.fill / 100).max(2);
        let below = std::mem::take(&mut self.downlinks);
        let pages: Vec<&[Downlink<F>]> = below.chunks(per_page).collect();
        for (i, links) in pages.iter().enumerate() {
            check_for_interrupts();
            let high = pages.get(i + 1).map(|next| next[0].separator);
            let bounds = Bounds { low: links[0].separator, high };
            let child = self.write_page(level, &bounds, |page| page.set_downlinks(links));
            self.downlinks.push(Downlink { separator: bounds.low, child });
        }
    }

    /// Writes a page at the end of the file; the page after it, if any, will be its right neighbour.
    fn write_page(&self, level: u8, bounds: &Bounds<F>, fill: impl FnOnce(&mut PageMut<'_>)) -> u32 {
        let locked = extend(self.rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        let block = locked.block();
        let right = bounds.high.map(|_| block + 1);
        let mut image = blank();
        fill(&mut PageMut::format(&mut image, self.table, level, bounds, right));
        write_new(&locked, &image, self.log);
        block
    }

    fn write_root(&self, image: &PageBytes) {
        write_new(&Exclusive::read(self.rel, FIRST_ROOT + u32::from(self.table)), image, self.log);
    }
}
