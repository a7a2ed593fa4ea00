//! `simhash_index_info` and `simhash_index_check`: what an index looks like, and whether it is sound.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::search::Key;
use simhash_index::Entry;
use simhash_index::check::check_tables;
use simhash_index::facts::{TableFacts, table_facts};
use simhash_index::page::capacity;

use super::elsewhere::check_rows_are_here;
use super::kind::{Keys, Kind, open};
use super::opened::{Opened, check_rows_are_all, is_readable, name, raise_unreadable, table_of};
use super::{check_for_interrupts, pack_tid, with_key_type};
use crate::compat::owns_relation;
use crate::error::raise;
use crate::storage::cache::{Index, bits};
use crate::storage::{PageBytes, Shared};

/// One row about an index: see the SQL catalogue for the columns.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn simhash_index_info(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(rows, i64),
        name!(tables, i32),
        name!(pages, i64),
        name!(bytes_per_row, Option<f64>),
        name!(levels, i32),
        name!(largest_run, i64),
        name!(mean_run, Option<f64>),
        name!(fill, Option<f64>),
    ),
> {
    check_may_know(index);
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    opened.check_valid();
    check_rows_are_here(&opened);
    let rel = opened.rel();
    let (tables, facts, nulls, capacity) = with_key_type!(bits(rel), F => {
        let index = open::<F>(rel);
        let facts: Vec<TableFacts> = (0..index.null_table()).map(|table| table_facts(&index, table)).collect();
        let nulls = table_facts(&index, index.null_table()).rows;
        (index.layout.blocks(), facts, nulls, capacity::<F>(size_of::<PageBytes>(), 0))
    });
    let pages = rel.blocks();
    let with_key = facts[0].rows;
    let rows = with_key + nulls;
    let total = |of: fn(&TableFacts) -> u64| facts.iter().map(of).sum::<u64>() as f64;
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    TableIterator::once((
        rows as i64,
        tables as i32,
        i64::from(pages),
        ratio(f64::from(pages) * f64::from(pg_sys::BLCKSZ), rows as f64),
        facts.iter().map(|f| f.levels).max().unwrap_or(0) as i32,
        facts.iter().map(|f| f.largest_run).max().unwrap_or(0) as i64,
        ratio(total(|f| f.rows), total(|f| f.distinct)),
        ratio(total(|f| f.rows), total(|f| f.leaves) * capacity as f64),
    ))
}

/// Raises an ERROR unless the caller may know how many rows there are: before the lock, so that whoever may not
/// cannot hold up others.
pub fn check_may_know(index: pg_sys::Oid) {
    let table = table_of(index);
    // SAFETY: a catalogue look-up.
    if unsafe { owns_relation(index, pg_sys::GetUserId()) } {
        return;
    }
    if !is_readable(table, index) {
        raise_unreadable(table);
    }
    check_rows_are_all(table, "Call it as a role that row-level security does not apply to.");
}

/// Verifies an index; raises XX002 naming the block where something is wrong.
#[pg_extern(sql = false)]
fn simhash_index_check(index: pg_sys::Oid, heap: bool) {
    // SAFETY: asks for a state of the server.
    if unsafe { pg_sys::RecoveryInProgress() } {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "recovery is in progress".to_owned(),
            "An index is checked on the primary, or after promotion.",
        );
    }
    // Before the lock: whoever does not own the index cannot hold up writers.
    check_owner(index);
    // Writers wait: what is compared must not change between the looks at it.
    let opened = Opened::new(index, pg_sys::ShareLock);
    opened.check_valid();
    with_key_type!(bits(opened.rel()), F => {
        let index = open::<F>(opened.rel());
        check_tables(&index);
        if heap {
            check_covered(&opened);
            check_heap(&index, &opened);
        }
    });
}

/// Raises 42501 unless the caller owns the index, or is a superuser.
fn check_owner(index: pg_sys::Oid) {
    table_of(index);
    // SAFETY: a catalogue look-up.
    if unsafe { !owns_relation(index, pg_sys::GetUserId()) } {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("must be owner of index {}", name(index)),
            "An index is checked by its owner or by a superuser.",
        );
    }
}

/// Raises 55000 if the scan of the table might see row versions that the index does not have: those that were out of date
/// when it was built, by a snapshot that is older. Below REPEATABLE READ the scan takes a new one.
fn check_covered(opened: &Opened) {
    // SAFETY: a setting of the transaction.
    let keeps_snapshot = unsafe { pg_sys::XactIsoLevel } >= pg_sys::XACT_REPEATABLE_READ as i32;
    if keeps_snapshot && !opened.covers_snapshot() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "index \"{}\" cannot be checked against its table by this transaction yet",
                opened.rel().name()
            ),
            "It was built while rows had versions that it does not cover: start a new transaction.",
        );
    }
}

/// What the scan of the heap looks rows up in.
struct HeapCheck<F> {
    index: Index<F>,
    kind: Kind,
}

fn check_heap<F: Key>(index: &Index<F>, opened: &Opened) {
    let mut state = HeapCheck { index: index.clone(), kind: Kind::of(index) };
    // SAFETY: relations are open, and functions in expressions run with their owner's rights for as
    // long; the callback gets the state, which outlives the scan.
    unsafe {
        let info = pg_sys::BuildIndexInfo(opened.index);
        // Only rows visible to a new snapshot: a dead row may have left the index already.
        (*info).ii_Concurrent = true;
        (*info).ii_ExclusionOps = std::ptr::null_mut();
        pg_sys::table_index_build_scan(
            opened.table,
            opened.index,
            info,
            true,
            false,
            Some(look_up::<F>),
            (&raw mut state).cast(),
            std::ptr::null_mut(),
        );
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn look_up<F: Key>(
    _rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes one value and the state that `check_heap` gave it.
    unsafe {
        let state = &*state.cast::<HeapCheck<F>>();
        check_for_interrupts();
        let tid = pack_tid(&*tid);
        let keys = (!*is_null).then(|| state.kind.keys::<F>(*values));
        let keys = keys.as_ref().map_or(&[][..], Keys::as_slice);
        if keys.is_empty() {
            return state.expect_row(state.index.null_table(), Entry { key: F::ZERO, tid });
        }
        for &fingerprint in keys {
            for table in 0..state.index.null_table() {
                let key = state.index.layout.rotate(fingerprint, u32::from(table));
                state.expect_row(table, Entry { key, tid });
            }
        }
    }
}

impl<F: Key> HeapCheck<F> {
    fn expect_row(&self, table: u8, entry: Entry<F>) {
        if self.index.find(table, &entry).is_some() {
            return;
        }
        let (_, block) = self.index.cover::<Shared>(table, &entry, None);
        let (heap_block, offset) = (entry.tid >> 16, entry.tid & 0xffff);
        raise(
            PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
            format!(
                "index \"{}\" is damaged at block {block}: row ({heap_block},{offset}) is missing in table {table}",
                self.index.store.name()
            ),
            "REINDEX it.",
        )
    }
}
