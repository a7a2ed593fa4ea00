//! Which tables are above and below a table, by inheritance or as partitions.

use pgrx::{PgList, pg_sys};

use super::scan::{Scan, oid_is};

// catalog/pg_inherits.h: the catalogue, its index by children, and columns.
const INHERITS: u32 = 2611;
const INHERITS_BY_CHILD: u32 = 2680;
const CHILD: i32 = 1;
const PARENT: i32 = 2;

unsafe extern "C-unwind" {
    // catalog/pg_inherits.h, which pgrx does not bind.
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        lock: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
    fn find_inheritance_children(parent: pg_sys::Oid, lock: pg_sys::LOCKMODE) -> *mut pg_sys::List;
    // catalog/partition.h, which pgrx does not bind either.
    fn has_partition_attrs(
        relation: pg_sys::Relation,
        columns: *mut pg_sys::Bitmapset,
        used_in_expression: *mut bool,
    ) -> bool;
}

/// The table and everything below it. Each relation but the table gets the lock. Without a lock, a
/// relation may be gone a moment later.
pub fn all_inheritors(table: pg_sys::Oid, lock: u32) -> Vec<pg_sys::Oid> {
    let lock = lock as pg_sys::LOCKMODE;
    // SAFETY: a catalogue look-up, which returns a list of OIDs.
    unsafe {
        let found = pg_sys::ffi::pg_guard_ffi_boundary(|| {
            find_all_inheritors(table, lock, std::ptr::null_mut())
        });
        PgList::<pg_sys::Oid>::from_pg(found).iter_oid().collect()
    }
}

/// What is directly below the table. Nothing is locked, so a relation may be gone a moment later.
pub fn children(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
    // SAFETY: as in all_inheritors.
    unsafe {
        let found = pg_sys::ffi::pg_guard_ffi_boundary(|| find_inheritance_children(table, lock));
        PgList::<pg_sys::Oid>::from_pg(found).iter_oid().collect()
    }
}

/// Whether one of some columns is of a partitioned table's own partition key, so that rows may move
/// to another partition when it is set.
///
/// # Safety
/// The relation is open. The set is PostgreSQL's: of numbers that the least one is taken from.
pub unsafe fn partitions_by(relation: pg_sys::Relation, columns: *const pg_sys::Bitmapset) -> bool {
    let mut in_expression = false;
    // SAFETY: as this function's. The set is only read.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            has_partition_attrs(relation, columns.cast_mut(), &mut in_expression)
        })
    }
}

/// What the table inherits from, or is a partition of. A partition that is being detached counts.
pub fn parents(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let mut parents = Vec::new();
    // SAFETY: the catalogue's own column and index, which is in the order of parents.
    let mut scan = unsafe {
        let index = Some(pg_sys::Oid::from(INHERITS_BY_CHILD));
        Scan::of_catalogue(pg_sys::Oid::from(INHERITS), index, [oid_is(CHILD, table)])
    };
    while let Some(tuple) = scan.next() {
        parents.extend(scan.oid(tuple, PARENT));
    }
    scan.end();
    parents
}
