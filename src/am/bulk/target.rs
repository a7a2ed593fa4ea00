//! The index that is to be deduplicated by: whether the caller may, and whether its snapshot can.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::am::elsewhere::check_rows_are_here;
use crate::am::kind::Kind;
use crate::am::opened::{Opened, check_rows_are_all, is_readable, name, raise_unreadable, table_of};
use crate::error::raise;

/// An index that has been checked, and locked against being dropped until the transaction ends.
#[derive(Clone, Copy)]
pub struct Target {
    pub table: pg_sys::Oid,
    pub index: pg_sys::Oid,
}

impl Target {
    /// Checks that the caller may read the table's rows through this index; raises an ERROR if not.
    pub fn new(index: pg_sys::Oid) -> Self {
        let table = table_of(index);
        let target = Self { table, index };
        // Before the lock: whoever may not read the table cannot hold up others.
        if !is_readable(table, index) {
            raise_unreadable(table);
        }
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: table first, as everywhere; the locks go with the transaction.
        unsafe {
            pg_sys::LockRelationOid(table, lock);
            pg_sys::LockRelationOid(index, lock);
        }
        check_rows_are_all(
            table,
            "Call it as a role that row-level security does not apply to, or join the table with itself ON hamming(a.fp, b.fp) <= distance.",
        );
        let opened = target.open();
        target.check_usable(&opened);
        check_rows_are_here(&opened);
        predicate_lock(&opened);
        target
    }

    /// Opens the index and its table.
    pub fn open(&self) -> Opened {
        Opened::new(self.index, pg_sys::AccessShareLock)
    }

    /// What the planner asks before it uses an index.
    fn check_usable(&self, opened: &Opened) {
        // SAFETY: the relations are open, and a relation has its catalogue rows.
        unsafe {
            let index = &*opened.index;
            if (*index.rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char
                && !index.rd_islocaltemp
            {
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("index \"{}\" is temporary and belongs to another session", name(self.index)),
                    "",
                );
            }
            opened.check_valid();
            if Kind::of_index(opened.index).has_many_keys() {
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("index \"{}\" is on an array of fingerprints", name(self.index)),
                    "Join the table with itself ON hamming(a.fps, b.fps) <= distance, or give the index of one fingerprint a row.",
                );
            }
            if !opened.covers_snapshot() {
                raise(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("index \"{}\" cannot be used by this transaction yet", name(self.index)),
                    "It was built while rows had versions that it does not cover: start a new transaction, or wait for older ones to end.",
                );
            }
        }
    }
}

/// Under SERIALIZABLE the whole table has been read; beginning a sequential scan says so.
fn predicate_lock(opened: &Opened) {
    // SAFETY: an open table and the query's snapshot; the scan reads nothing.
    unsafe {
        if pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 {
            let snapshot = pg_sys::GetActiveSnapshot();
            pg_sys::table_endscan(pg_sys::table_beginscan(opened.table, snapshot, 0, std::ptr::null_mut()));
        }
    }
}
