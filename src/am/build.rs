//! CREATE INDEX: one heap scan, then each table sorted and written from its leaves up. Workers may
//! share the scan and the sorting (see `parallel`).

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::{BlockLayout, Key};

use simhash_index::Meta;
use simhash_index::build::{Writer, initialize};

use super::kind::{Keys, Kind, open};
use super::options::Options;
use super::parallel::{self, Team};
use super::sort::{Share, Sorter};
use super::{pack_tid, with_key_type};
use crate::error::raise;
use crate::storage::IndexRel;
use crate::storage::cache::{Index, forget_file};

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
            initialize::<F, _>(&index, meta);
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
        let index = IndexRel::new(rel).init_fork();
        with_key_type!(meta.bits, F => initialize::<F, _>(&index, meta));
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
            kind: Kind::of(index),
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
    let index = open::<F>(rel);
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
        let mut writer = Writer::<F, _>::new(&rel, table, fill);
        collector.sorter.drain(u32::from(table), || workers_runs(table), |entry| writer.push(entry));
        writer.finish();
    }
    let mut writer = Writer::<F, _>::new(&rel, index.null_table(), fill);
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
