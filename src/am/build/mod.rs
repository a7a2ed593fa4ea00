//! CREATE INDEX: one scan of the heap, then each block table sorted and written from its leaves up.
//!
//! Where things are: [`collect`] (the scan of the heap), [`sort`] and [`runs`] (sorting, in memory
//! or in temporary files). Parallel workers may take part: [`team`] (the leader), [`worker`] (a
//! worker), [`shared`] (their shared memory), [`stretches`] (the parts of a table that each process
//! writes), [`downlinks`] (files with those parts' downlinks, for the leader), [`files`].

mod collect;
mod downlinks;
mod files;
mod runs;
mod shared;
mod sort;
mod stretches;
mod team;
mod worker;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_index::build::{Writer, initialize};
use simhash_index::{Meta, TreeKey};

use self::collect::Collector;
use self::sort::Content;
use self::team::Team;
use super::columns::new_meta;
use super::kind::{Kind, Searched, open};
use super::options::Options;
use super::passages::PassageRecipe;
use super::texts::Recipe;
use crate::error::raise;
use crate::storage::{Index, IndexRel, forget_file, with_key_type};

/// Phases in pg_stat_progress_create_index, after PostgreSQL's own 1, "initializing".
const PHASE_SCAN: i64 = 2;
const PHASE_SORT: i64 = 3;

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambuildphasename(phase: i64) -> *mut std::ffi::c_char {
    let name = match phase {
        1 => c"initializing",
        PHASE_SCAN => c"scanning table",
        PHASE_SORT => c"sorting and writing tables",
        _ => return std::ptr::null_mut(),
    };
    name.as_ptr().cast_mut()
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambuild(
    heap: pg_sys::Relation,
    rel: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // SAFETY: PostgreSQL passes an open index.
    let index = unsafe { IndexRel::new(rel) };
    // This backend may have cached the file as it was before TRUNCATE or ON COMMIT DELETE ROWS.
    forget_file(index);
    let (meta, note) = described(index);
    if index.pages() != 0 {
        raise(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("index \"{}\" already contains data", index.name()),
            "",
        );
    }
    // pg_upgrade makes indexes of empty tables, before the models and word lists that they name
    // have rows, and then puts the old files in the place of theirs.
    // SAFETY: a variable that is set when the server starts.
    let is_empty = unsafe { pg_sys::IsBinaryUpgrade };
    let (heap_tuples, index_tuples) = with_key_type!(meta.family(), K => {
        initialize::<K, _>(&index, meta, note.as_bytes());
        // SAFETY: PostgreSQL passes the open table and the index's description. No other backend
        // changes the index during its build.
        let build = || unsafe { build::<K>(heap, index, info) };
        if is_empty { (0.0, 0.0) } else { build() }
    });
    let result = pg_sys::IndexBuildResult { heap_tuples, index_tuples };
    // SAFETY: the room is for such a result.
    unsafe {
        let room: *mut pg_sys::IndexBuildResult = pg_sys::palloc0(size_of_val(&result)).cast();
        room.write(result);
        room
    }
}

/// ambuildempty: writes the init fork, which an unlogged index is after a crash.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambuildempty(rel: pg_sys::Relation) {
    // SAFETY: PostgreSQL passes an open index. Its init fork is WAL-logged although the index is
    // not.
    let index = unsafe { IndexRel::new(rel) }.init_fork();
    let (meta, note) = described(index);
    with_key_type!(meta.family(), K => initialize::<K, _>(&index, meta, note.as_bytes()));
}

/// The content of a new index's meta page, and the note on it. Raises an ERROR if its columns and
/// parameters do not fit together.
fn described(rel: IndexRel) -> (Meta, String) {
    let searched = Searched::of_new(rel);
    let meta = new_meta(rel, searched, || blocks(rel, searched));
    if searched.kind == Kind::Passages {
        let recipe = PassageRecipe::of_new(rel);
        return (recipe.describe(meta), recipe.note());
    }
    Options::expect_no_words(rel);
    if searched.kind.is_of_texts() {
        let recipe = Recipe::of_new(rel, searched.kind);
        return (recipe.describe(meta), recipe.note());
    }
    Options::expect_none_of_texts(rel);
    (meta, String::new())
}

/// The number of blocks of a new index. Raises an ERROR if a key has fewer bits than that.
fn blocks(rel: IndexRel, searched: Searched) -> u32 {
    let blocks = Options::blocks(rel, searched.default_blocks());
    if searched.kind.is_of_texts() {
        return searched.default_blocks();
    }
    if blocks > searched.bits {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "index \"{}\" cannot cut {} bits into {blocks} blocks",
                rel.name(),
                searched.bits
            ),
            "Each block must have at least one bit.",
        );
    }
    blocks
}

fn progress(phase: i64) {
    let place = pg_sys::PROGRESS_CREATEIDX_SUBPHASE as i32;
    // SAFETY: writes a number to this backend's progress entry.
    unsafe { pg_sys::pgstat_progress_update_param(place, phase) };
}

/// Fills the index. Returns how many tuples the table has, and how many the index.
///
/// # Safety
/// The table is open, `info` describes the index, and its meta page is written.
unsafe fn build<K: TreeKey>(
    heap: pg_sys::Relation,
    rel: IndexRel,
    info: *mut pg_sys::IndexInfo,
) -> (f64, f64) {
    let index = open::<K>(rel);
    // SAFETY: reads a setting, in kB.
    let memory = unsafe { pg_sys::maintenance_work_mem } as usize * 1024;
    // SAFETY: the relations are open, and the meta page is written.
    let team = unsafe { Team::launch(heap, &index, info, memory) };
    let memory = team.as_ref().map_or(memory, Team::memory);
    let share = |content| team.as_ref().map(|team| team.share(content));
    let mut collector = Collector::<K>::new(&index, memory, share);
    progress(PHASE_SCAN);
    // SAFETY: the relations are open; the scan is null or this process's part of the team's.
    let heap_tuples = unsafe {
        let scan = team.as_ref().map_or(std::ptr::null_mut(), |team| team.scan(heap));
        collector.scan(heap, rel, info, scan, true)
    };
    progress(PHASE_SORT);
    let rows = collector.rows;
    let fill = Options::fillfactor(rel, index.is_of_postings());
    let Some(team) = team else {
        write_alone(&index, &mut collector, fill);
        return (heap_tuples, rows as f64);
    };
    team.expect_all();
    // SAFETY: `index` is the one that the team was launched for, and `info` is that of `launch`.
    let (workers_tuples, workers_rows) = unsafe {
        team.write(&index, collector, fill);
        team.finish(info)
    };
    (heap_tuples + workers_tuples, rows as f64 + workers_rows)
}

/// Sorts and writes one block table after the other, without workers.
fn write_alone<K: TreeKey>(index: &Index<K>, collector: &mut Collector<K>, fill: usize) {
    for (content, sorter) in
        [(Content::Rows, &mut collector.sorter), (Content::Nulls, &mut collector.nulls)]
    {
        for (table, number) in content.tables(index).zip(0..) {
            let mut writer = Writer::<K, _>::new(&index.store, index.shape, table, fill);
            sorter.drain(number, |row| writer.push(row));
            writer.finish();
        }
    }
}
