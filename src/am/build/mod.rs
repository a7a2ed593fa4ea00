//! CREATE INDEX: one scan of the heap, then each block table sorted and written from its leaves up.
//!
//! Where things are: [`collect`] (the scan of the heap), [`sort`] and [`runs`] (sorting, in memory
//! or on temporary files). Workers may share the scan and the sorting: [`team`] (the leader's
//! side), [`worker`] (theirs), [`shared`] (the memory between them).

mod collect;
mod runs;
mod shared;
mod sort;
mod team;
mod worker;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_index::TreeKey;
use simhash_index::build::{Writer, initialize};

use self::collect::Collector;
use self::team::Team;
use super::columns::new_meta;
use super::kind::{Searched, open};
use super::options::Options;
use crate::error::raise;
use crate::storage::{IndexRel, forget_file, with_key_type};

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
        // This backend may know the file as it was before TRUNCATE or ON COMMIT DELETE ROWS.
        forget_file(index);
        let meta = new_meta(index, |searched| blocks(rel, searched));
        if index.pages() != 0 {
            raise(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                format!("index \"{}\" already contains data", index.name()),
                "",
            );
        }
        let (heap_tuples, index_tuples) = with_key_type!(meta.family(), K => {
            initialize::<K, _>(&index, meta);
            build::<K>(heap, index, info)
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
        let index = IndexRel::new(rel).init_fork();
        let meta = new_meta(index, |searched| blocks(rel, searched));
        with_key_type!(meta.family(), K => initialize::<K, _>(&index, meta));
    }
}

/// The number of blocks of a new index. Raises an ERROR if a key has fewer bits.
fn blocks(rel: pg_sys::Relation, searched: Searched) -> u32 {
    // SAFETY: an open index of this access method.
    let (blocks, index) =
        unsafe { (Options::blocks(rel, searched.default_blocks()), IndexRel::new(rel)) };
    if blocks > searched.bits {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "index \"{}\" cannot cut {} bits into {blocks} blocks",
                index.name(),
                searched.bits
            ),
            "Each block has a bit at least.",
        );
    }
    blocks
}

fn progress(phase: i64) {
    // SAFETY: reports a number.
    unsafe {
        pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32, phase);
    };
}

unsafe fn build<K: TreeKey>(
    heap: pg_sys::Relation,
    rel: IndexRel,
    info: *mut pg_sys::IndexInfo,
) -> (f64, f64) {
    let index = open::<K>(rel);
    // SAFETY: a setting, in kB.
    let memory = unsafe { pg_sys::maintenance_work_mem } as usize * 1024;
    // SAFETY: the relations are open, the meta page is written.
    let team = unsafe { Team::launch(heap, rel, info, memory) };
    let mut collector =
        Collector::<K>::new(&index, team.as_ref().map_or(memory, Team::memory), |_| None);
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
    let workers_runs =
        |block_table| team.as_ref().map_or(Vec::new(), |team| team.runs(&index, block_table));
    // SAFETY: an open index.
    let fill = unsafe { Options::fillfactor(rel.as_ptr()) };
    for block_table in 0..=index.null_table() {
        let mut writer = Writer::<K, _>::new(&rel, index.shape, block_table, fill);
        let (sorter, number) = if block_table == index.null_table() {
            (&mut collector.nulls, 0)
        } else {
            (&mut collector.sorter, u32::from(block_table))
        };
        sorter.drain(number, || workers_runs(block_table), |row| writer.push(row));
        writer.finish();
    }
    // SAFETY: all block tables are written.
    let (workers_tuples, workers_rows) =
        team.map_or((0.0, 0.0), |team| unsafe { team.finish(info) });
    (heap_tuples + workers_tuples, collector.rows as f64 + workers_rows)
}
