//! Checks whether the caller may get information about an index. The check precedes any lock on the
//! index, so that a caller without privileges cannot block others.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::opened::{heap_of, table_of};
use crate::catalog::cache;
use crate::catalog::names::relation_name;
use crate::catalog::rights::{self, check_rows_are_all, hides_rows, may_read};
use crate::error::raise;

type Row = cache::Row<pg_sys::FormData_pg_index>;

/// Raises 42501 unless the caller has SELECT on the index's table or, if the index is not partial,
/// on its key columns. Returns the table, which may be partitioned.
pub fn check_may_read(index: pg_sys::Oid) -> pg_sys::Oid {
    let heap = table_of(index);
    if !may_read_keys(index, heap) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for table {}", relation_name(heap)),
            "The call requires SELECT on the table or on the indexed columns.",
        )
    }
    heap
}

/// Whether the caller has SELECT on the index's table, or on all columns whose values the index
/// reveals.
fn may_read_keys(index: pg_sys::Oid, heap: pg_sys::Oid) -> bool {
    // SAFETY: reads this backend's current user.
    let user = unsafe { pg_sys::GetUserId() };
    let columns = key_columns(index);
    let may_read = |column| may_read(heap, column, user);
    may_read(None) || !columns.is_empty() && columns.into_iter().map(Some).all(may_read)
}

/// Whether the index still exists and [`check_may_know`] would raise no ERROR.
pub fn may_know(index: pg_sys::Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::INDEXRELID;
    // SAFETY: a catalogue look-up in a transaction; the cache's rows are of pg_index.
    let heap = unsafe { cache::row(cache, index, |row: &Row| row.indrelid) };
    // SAFETY: reads this backend's current user.
    let user = unsafe { pg_sys::GetUserId() };
    let reads_all = |heap| may_read_keys(index, heap) && !hides_rows(heap, user);
    heap.is_some_and(|heap| owns(index) || reads_all(heap))
}

/// Raises an ERROR unless the caller may know the number of rows: as the owner of the index, or
/// with SELECT where row-level security hides no row.
pub fn check_may_know(index: pg_sys::Oid) {
    heap_of(index);
    if !owns(index) {
        let heap = check_may_read(index);
        check_rows_are_all(
            heap,
            "Call the function as a role that row-level security does not apply to.",
        );
    }
}

/// Raises 42501 unless the caller owns the index or is a superuser.
pub fn check_owner(index: pg_sys::Oid) {
    heap_of(index);
    if !owns(index) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("must be owner of index {}", relation_name(index)),
            "An index can be checked by its owner or by a superuser.",
        );
    }
}

fn owns(index: pg_sys::Oid) -> bool {
    // SAFETY: reads this backend's current user.
    rights::owns(index, unsafe { pg_sys::GetUserId() })
}

/// The table's columns that are the index's key: all that the index reveals. Empty if the key has
/// an expression or the index is partial: its rows then reveal the predicate's columns too.
fn key_columns(index: pg_sys::Oid) -> Vec<pg_sys::AttrNumber> {
    let read = |row: &Row| {
        let is_partial = row.column(pg_sys::Anum_pg_index_indpred).is_some();
        // SAFETY: `indkey` has a number for each column, the key columns first.
        let columns = || unsafe { row.indkey.values.as_slice(row.indnkeyatts as usize) }.to_vec();
        (!is_partial).then(columns)
    };
    // SAFETY: a catalogue look-up in a transaction; the cache's rows are of pg_index.
    let columns = unsafe { cache::row(pg_sys::SysCacheIdentifier::INDEXRELID, index, read) };
    let columns = columns.flatten();
    columns.filter(|columns| columns.iter().all(|&column| column > 0)).unwrap_or_default()
}
