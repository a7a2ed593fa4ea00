//! The index that is to be deduplicated by: whether the caller may, and whether its snapshot can.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::am::kind::Kind;
use crate::am::opened::{Opened, name, table_of};
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
        target.check_privileges();
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: table first, as everywhere; the locks go with the transaction.
        unsafe {
            pg_sys::LockRelationOid(table, lock);
            pg_sys::LockRelationOid(index, lock);
        }
        let opened = target.open();
        target.check_rows_are_all();
        target.check_usable(&opened);
        predicate_lock(&opened);
        target
    }

    /// Opens the index and its table.
    pub fn open(&self) -> Opened {
        Opened::new(self.index, pg_sys::AccessShareLock)
    }

    /// SELECT on the table, or on the indexed column.
    fn check_privileges(&self) {
        let allowed = pg_sys::AclResult::ACLCHECK_OK;
        // SAFETY: catalogue look-ups.
        let readable = unsafe {
            let user = pg_sys::GetUserId();
            let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
            pg_sys::pg_class_aclcheck(self.table, user, select) == allowed
                || self.column().is_some_and(|column| {
                    pg_sys::pg_attribute_aclcheck(self.table, column, user, select) == allowed
                })
        };
        if !readable {
            raise(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {}", name(self.table)),
                "SELECT on the table is needed, or on the indexed column.",
            );
        }
    }

    /// The table's column that the index is on; none if it is on an expression.
    fn column(&self) -> Option<pg_sys::AttrNumber> {
        // SAFETY: a catalogue look-up; the tuple is released.
        unsafe {
            let tuple = pg_sys::SearchSysCache1(
                pg_sys::SysCacheIdentifier::INDEXRELID as i32,
                pg_sys::Datum::from(self.index),
            );
            if tuple.is_null() {
                return None;
            }
            let form: pg_sys::Form_pg_index = pg_sys::GETSTRUCT(tuple).cast();
            let column = *(*form).indkey.values.as_slice(1).first()?;
            pg_sys::ReleaseSysCache(tuple);
            (column > 0).then_some(column)
        }
    }

    /// With row-level security active, some rows would have to stay hidden: policies are for queries.
    fn check_rows_are_all(&self) {
        // SAFETY: a catalogue look-up; raises an ERROR itself where row_security is off.
        let enabled = unsafe { pg_sys::check_enable_rls(self.table, pg_sys::InvalidOid, false) };
        if enabled == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32 {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("row-level security hides rows of table \"{}\" from you", name(self.table)),
                "Call it as a role that row-level security does not apply to, or join the table with itself ON hamming(a.fp, b.fp) <= distance.",
            );
        }
    }

    /// What the planner asks before it uses an index.
    fn check_usable(&self, opened: &Opened) {
        let refuse = |why: &str, hint: &str| -> ! {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{}\" {why}", name(self.index)),
                hint,
            )
        };
        // SAFETY: the relations are open, and a relation has its catalogue rows.
        unsafe {
            let index = &*opened.index;
            let form = &*index.rd_index;
            if (*index.rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char
                && !index.rd_islocaltemp
            {
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("index \"{}\" is temporary and belongs to another session", name(self.index)),
                    "",
                );
            }
            if !form.indisvalid || !form.indislive {
                refuse("is not valid", "REINDEX it, or wait until CREATE INDEX CONCURRENTLY is done.");
            }
            if Kind::of_index(opened.index).has_many_keys() {
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("index \"{}\" is on an array of fingerprints", name(self.index)),
                    "Join the table with itself ON hamming(a.fps, b.fps) <= distance, or give the index of one fingerprint a row.",
                );
            }
            if form.indcheckxmin
                && !pg_sys::TransactionIdPrecedes(created_by(index.rd_indextuple), pg_sys::TransactionXmin)
            {
                refuse(
                    "cannot be used by this transaction yet",
                    "It was built while rows had versions that it does not cover: start a new transaction, or wait for older ones to end.",
                );
            }
        }
    }
}

/// The transaction that wrote a catalogue row.
unsafe fn created_by(tuple: pg_sys::HeapTuple) -> pg_sys::TransactionId {
    // SAFETY: the caller passes a tuple of the heap.
    unsafe {
        let header = &*(*tuple).t_data;
        let frozen = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID) as u16;
        if header.t_infomask & frozen == frozen {
            pg_sys::FrozenTransactionId
        } else {
            header.t_choice.t_heap.t_xmin
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
