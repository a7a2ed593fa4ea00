//! An index that an SQL function named: opened with its table, and known to be of this access method.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::compat::restrict_search_path;
use crate::error::{raise, shown};
use crate::storage::IndexRel;

/// An index and its table; closed when dropped. Until then nothing runs with the caller's rights:
/// what is to be asked about the caller is asked before.
pub struct Opened {
    pub table: pg_sys::Relation,
    pub index: pg_sys::Relation,
    lock: pg_sys::LOCKMODE,
    rights: OwnersRights,
}

impl Opened {
    /// Opens the index of that OID; raises 42809 if it is not of this access method.
    pub fn new(oid: pg_sys::Oid, lock: u32) -> Self {
        let lock = lock as pg_sys::LOCKMODE;
        let expected = table_of(oid);
        // SAFETY: relations are locked in the usual order, table first.
        unsafe {
            let table = pg_sys::table_open(expected, lock);
            let rights = OwnersRights::take(table);
            let index = pg_sys::index_open(oid, lock);
            // Before the lock on the table, the index could have been dropped, and its OID given to
            // another.
            if pg_sys::IndexGetRelation(oid, true) != expected {
                wrong_object(oid);
            }
            let handler = (*(*index).rd_indam).ambuild;
            if !handler
                .is_some_and(|build| std::ptr::fn_addr_eq(build, super::build::ambuild as BuildFunction))
            {
                wrong_object(oid);
            }
            Self { table, index, lock, rights }
        }
    }

    /// Whether the index has every row version that this transaction's snapshot can see: what the planner asks.
    pub fn covers_snapshot(&self) -> bool {
        // SAFETY: an open index has its catalogue row.
        unsafe {
            let index = &*self.index;
            !(*index.rd_index).indcheckxmin
                || pg_sys::TransactionIdPrecedes(created_by(index.rd_indextuple), pg_sys::TransactionXmin)
        }
    }

    /// Raises 55000 if the index was never finished, or is on its way out.
    pub fn check_valid(&self) {
        // SAFETY: an open index has its catalogue row.
        let form = unsafe { &*(*self.index).rd_index };
        if !form.indisvalid || !form.indisready || !form.indislive {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{}\" is not valid", self.rel().name()),
                "CREATE INDEX CONCURRENTLY is not done or has failed: wait, or REINDEX or drop the index.",
            )
        }
    }

    pub fn rel(&self) -> IndexRel {
        // SAFETY: open until the guard is dropped.
        unsafe { IndexRel::new(self.index) }
    }
}

type BuildFunction = unsafe extern "C-unwind" fn(
    pg_sys::Relation,
    pg_sys::Relation,
    *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult;

impl Drop for Opened {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `new`.
            unsafe {
                pg_sys::index_close(self.index, self.lock);
                pg_sys::table_close(self.table, self.lock);
                self.rights.give_back();
            }
        }
    }
}

/// What the caller had before a table's owner took his place.
///
/// Functions in an index's expressions and predicate are the owner's, and PostgreSQL may run them
/// as soon as it looks at these: it evaluates calls of constants when it reads them. So the user is
/// switched before the index is opened, security-restricted (nothing that would run later with the
/// caller's rights), with settings of its own. An ERROR restores everything in aborting the
/// (sub)transaction.
struct OwnersRights {
    user: pg_sys::Oid,
    context: i32,
    settings: i32,
}

impl OwnersRights {
    /// # Safety
    /// The table is open and locked.
    unsafe fn take(table: pg_sys::Relation) -> Self {
        // SAFETY: as this function's; what is taken is given back, or the transaction aborts.
        unsafe {
            let (mut user, mut context) = (pg_sys::InvalidOid, 0);
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            let restricted = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
            pg_sys::SetUserIdAndSecContext((*(*table).rd_rel).relowner, restricted);
            let settings = pg_sys::NewGUCNestLevel();
            restrict_search_path();
            Self { user, context, settings }
        }
    }

    /// # Safety
    /// Once, and in the reverse order of `take`.
    unsafe fn give_back(&self) {
        // SAFETY: as this function's.
        unsafe {
            pg_sys::AtEOXact_GUC(false, self.settings);
            pg_sys::SetUserIdAndSecContext(self.user, self.context);
        }
    }
}

/// The table of an index; raises 42809 if there is none, or if the index is only the parent of its partitions' indexes.
pub fn table_of(index: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: catalogue look-ups.
    let (table, kind) = unsafe { (pg_sys::IndexGetRelation(index, true), pg_sys::get_rel_relkind(index)) };
    if table == pg_sys::InvalidOid {
        wrong_object(index);
    }
    if kind as u8 == pg_sys::RELKIND_PARTITIONED_INDEX {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is a partitioned index", name(index)),
            "Name the index of one partition; pg_partition_tree lists them.",
        );
    }
    table
}

/// The name of a relation, or its OID if there is none.
pub fn name(oid: pg_sys::Oid) -> String {
    // SAFETY: a catalogue look-up; the name is a C string if there is one.
    let name = unsafe {
        let name = pg_sys::get_rel_name(oid);
        (!name.is_null()).then(|| shown(CStr::from_ptr(name)).into_owned())
    };
    name.unwrap_or_else(|| oid.to_u32().to_string())
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

/// Whether the caller has SELECT on the table, or on the indexed column.
pub fn is_readable(table: pg_sys::Oid, index: pg_sys::Oid) -> bool {
    let allowed = pg_sys::AclResult::ACLCHECK_OK;
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    // SAFETY: catalogue look-ups.
    unsafe {
        let user = pg_sys::GetUserId();
        pg_sys::pg_class_aclcheck(table, user, select) == allowed
            || indexed_column(index)
                .is_some_and(|column| pg_sys::pg_attribute_aclcheck(table, column, user, select) == allowed)
    }
}

/// Raises 42501: neither table nor column may be read.
pub fn raise_unreadable(table: pg_sys::Oid) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for table {}", name(table)),
        "SELECT on the table is needed, or on the indexed column.",
    )
}

/// The table's column that an index is on; none if it is on an expression.
fn indexed_column(index: pg_sys::Oid) -> Option<pg_sys::AttrNumber> {
    // SAFETY: a catalogue look-up; the tuple is released.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(
            pg_sys::SysCacheIdentifier::INDEXRELID as i32,
            pg_sys::Datum::from(index),
        );
        if tuple.is_null() {
            return None;
        }
        let form: pg_sys::Form_pg_index = pg_sys::GETSTRUCT(tuple).cast();
        let column = (*form).indkey.values.as_slice(1).first().copied();
        pg_sys::ReleaseSysCache(tuple);
        column.filter(|&column| column > 0)
    }
}

/// With row-level security active, some rows would have to stay hidden: policies are for queries. Raises 0A000.
pub fn check_rows_are_all(table: pg_sys::Oid, hint: &str) {
    // SAFETY: a catalogue look-up; raises an ERROR itself where row_security is off.
    let enabled = unsafe { pg_sys::check_enable_rls(table, pg_sys::InvalidOid, false) };
    if enabled == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32 {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("row-level security hides rows of table \"{}\" from you", name(table)),
            hint,
        );
    }
}

fn wrong_object(oid: pg_sys::Oid) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{}\" is not a simhash index", name(oid)),
        "Name an index that was created with USING simhash.",
    )
}
