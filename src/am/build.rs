//! CREATE INDEX: one heap scan, then each table sorted and written from its leaves up.
//!
//! Every page is written once, in shared buffers, and WAL-logged whole. The leaves of a table lie in
//! key order on consecutive blocks. The roots' blocks are reserved first and filled last.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::Key;

use super::index::{Index, root};
use super::kind::{Keys, Kind};
use super::options::Options;
use super::sort::Sorter;
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
struct Collector<F> {
    kind: Kind,
    sorter: Sorter<F>,
    nulls: Vec<u64>,
    rows: u64,
}

unsafe fn build<F: Key>(heap: pg_sys::Relation, rel: IndexRel, info: *mut pg_sys::IndexInfo) -> (f64, f64) {
    let index = Index::<F>::open(rel);
    // SAFETY: a setting, in kB.
    let memory = unsafe { pg_sys::maintenance_work_mem } as usize * 1024;
    let sorter = Sorter::new(index.layout, memory);
    let mut collector = Collector::<F> { kind: index.kind, sorter, nulls: Vec::new(), rows: 0 };
    progress(PHASE_SCAN);
    // SAFETY: the callback gets the collector, which outlives the scan.
    let heap_tuples = unsafe {
        pg_sys::table_index_build_scan(
            heap,
            rel.as_ptr(),
            info,
            true,
            true,
            Some(collect::<F>),
            (&raw mut collector).cast(),
            std::ptr::null_mut(),
        )
    };
    progress(PHASE_SORT);
    // SAFETY: an open index.
    let fill = unsafe { Options::fillfactor(rel.as_ptr()) };
    for table in 0..index.null_table() {
        let mut writer = Writer::new(rel, table, fill);
        collector.sorter.drain(u32::from(table), |entry| writer.push(entry));
        writer.finish();
    }
    let mut writer = Writer::new(rel, index.null_table(), fill);
    collector.nulls.sort_unstable();
    for &tid in &collector.nulls {
        writer.push(Entry { key: F::ZERO, tid });
    }
    writer.finish();
    (heap_tuples, collector.rows as f64)
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
            collector.nulls.push(tid);
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
