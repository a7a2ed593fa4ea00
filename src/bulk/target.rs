//! The index that the rows are read from: whether the caller may read it, and whether it has every
//! row that the caller's snapshot sees.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::am::elsewhere::check_rows_are_here;
use crate::am::kind::Kind;
use crate::am::opened::Opened;
use crate::am::rights::check_may_read;
use crate::catalog::names::relation_name;
use crate::catalog::rights::check_rows_are_all;
use crate::error::raise;
use crate::storage;

/// An index that has been checked, and locked against being dropped until the transaction ends.
#[derive(Clone, Copy)]
pub struct Target {
    pub heap: pg_sys::Oid,
    pub index: pg_sys::Oid,
}

impl Target {
    /// Checks that the caller may read the table's rows through this index; raises an ERROR if not.
    pub fn new(index: pg_sys::Oid) -> Self {
        let heap = check_may_read(index);
        let target = Self { heap, index };
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: heap first, as everywhere; the locks end with the transaction.
        unsafe {
            pg_sys::LockRelationOid(heap, lock);
            pg_sys::LockRelationOid(index, lock);
        }
        check_rows_are_all(
            heap,
            "Call it as a role that row-level security does not apply to, \
             or join the table with itself ON hamming(a.fp, b.fp) <= distance.",
        );
        let opened = target.open();
        target.check_usable(&opened);
        check_rows_are_here(&opened);
        predicate_lock(&opened);
        target
    }

    /// Opens the index and its heap.
    pub fn open(&self) -> Opened {
        Opened::new(self.index, pg_sys::AccessShareLock)
    }

    /// Checks what the planner checks before it uses an index, and that a row has one fingerprint.
    fn check_usable(&self, opened: &Opened) {
        // SAFETY: the relations are open, and a relation has its catalogue rows.
        unsafe {
            let index = &*opened.index;
            if (*index.rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char
                && !index.rd_islocaltemp
            {
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!(
                        "index \"{}\" is temporary and belongs to another session",
                        relation_name(self.index)
                    ),
                    "",
                );
            }
            opened.check_valid();
            if Kind::of_index(opened.index).has_many_keys() {
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!(
                        "index \"{}\" is on an array of fingerprints",
                        relation_name(self.index)
                    ),
                    "Join the table with itself ON hamming(a.fps, b.fps) <= distance, \
                     or give the index of one fingerprint a row.",
                );
            }
            if !opened.covers_snapshot() {
                raise(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!(
                        "index \"{}\" cannot be used by this transaction yet",
                        relation_name(self.index)
                    ),
                    "It was built while rows had versions that it does not cover: \
                     start a new transaction, or wait for older ones to end.",
                );
            }
        }
    }
}

/// Under SERIALIZABLE, tells PostgreSQL that the whole table is read, by beginning a sequential
/// scan.
fn predicate_lock(opened: &Opened) {
    // SAFETY: an open heap and the query's snapshot; the scan reads nothing.
    unsafe {
        if pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 {
            let snapshot = pg_sys::GetActiveSnapshot();
            pg_sys::table_endscan(pg_sys::table_beginscan(
                opened.heap,
                snapshot,
                0,
                std::ptr::null_mut(),
            ));
        }
    }
}

/// The width of an index's fingerprints.
pub fn bits(opened: &Opened) -> u32 {
    storage::meta(opened.rel()).bits
}
