//! An index that an SQL function named: opened with its table, and known to be of this access method.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::error::{raise, shown};
use crate::storage::IndexRel;

/// An index and its table; closed when dropped.
pub struct Opened {
    pub table: pg_sys::Relation,
    pub index: pg_sys::Relation,
    lock: pg_sys::LOCKMODE,
}

impl Opened {
    /// Opens the index of that OID; raises 42809 if it is not of this access method.
    pub fn new(oid: pg_sys::Oid, lock: u32) -> Self {
        let lock = lock as pg_sys::LOCKMODE;
        let table = table_of(oid);
        // SAFETY: relations are locked in the usual order, table first.
        unsafe {
            let table = pg_sys::table_open(table, lock);
            let index = pg_sys::index_open(oid, lock);
            let handler = (*(*index).rd_indam).ambuild;
            if !handler
                .is_some_and(|build| std::ptr::fn_addr_eq(build, super::build::ambuild as BuildFunction))
            {
                wrong_object(oid);
            }
            Self { table, index, lock }
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
            }
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

fn wrong_object(oid: pg_sys::Oid) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{}\" is not a simhash index", name(oid)),
        "Name an index that was created with USING simhash.",
    )
}
