//! Which tables are above and below a table, by inheritance or as partitions.

use std::ffi::{CStr, CString};

use pgrx::{Array, FromDatum, PgList, PgRelation, pg_sys};

use super::cache;
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

/// The names of the columns that some partition key of the table, or of a partition of its that is
/// partitioned in turn, is made of: rows may move to another partition when one is set.
pub fn partition_columns(table: pg_sys::Oid) -> Vec<CString> {
    let mut names = Vec::new();
    for oid in all_inheritors(table, pg_sys::AccessShareLock) {
        // SAFETY: a relation that is locked. It has as many columns as it says.
        unsafe {
            if pg_sys::get_rel_relkind(oid) as u8 != pg_sys::RELKIND_PARTITIONED_TABLE {
                continue;
            }
            let relation = PgRelation::open(oid);
            for number in 1..=(*relation.rd_att).natts as pg_sys::AttrNumber {
                let name = pg_sys::get_attname(oid, number, true);
                if !name.is_null() && divides(relation.as_ptr(), number) {
                    names.push(CStr::from_ptr(name).to_owned());
                }
            }
        }
    }
    names
}

// catalog/pg_partitioned_table.h: columns that pgrx does not bind.
const PARTITION_COLUMNS: u32 = 5;
const PARTITION_CLASSES: u32 = 6;
const PARTITION_COLLATIONS: u32 = 7;

/// The fixed columns of pg_partitioned_table.
#[repr(C)]
struct Partitioned {
    table: pg_sys::Oid,
    strategy: u8,
}

/// The names of the columns of a table's own partition key, if it has no expressions, and columns
/// are compared as their types have it by default. Then equal values lie in the same partition.
/// `None` for another key, and for what is not partitioned.
pub fn plain_partition_key(table: pg_sys::Oid) -> Option<Vec<CString>> {
    type Row = cache::Row<Partitioned>;
    let read = |row: &Row| {
        let column = |number| row.column(number);
        // SAFETY: a vector of the catalogue is laid out as an array of its elements.
        let (columns, classes, collations) = unsafe {
            (
                Array::<i16>::from_datum(column(PARTITION_COLUMNS)?, false)?,
                Array::<pg_sys::Oid>::from_datum(column(PARTITION_CLASSES)?, false)?,
                Array::<pg_sys::Oid>::from_datum(column(PARTITION_COLLATIONS)?, false)?,
            )
        };
        let method = match row.strategy {
            b'h' => pg_sys::HASH_AM_OID,
            _ => pg_sys::BTREE_AM_OID,
        };
        let mut names = Vec::new();
        for ((number, class), collation) in
            columns.iter().zip(classes.iter()).zip(collations.iter())
        {
            let (number, class, collation) = (number?, class?, collation?);
            // SAFETY: catalogue look-ups.
            unsafe {
                let (mut declared, mut modifier, mut own) = Default::default();
                if number <= 0 {
                    return None;
                }
                pg_sys::get_atttypetypmodcoll(
                    table,
                    number,
                    &mut declared,
                    &mut modifier,
                    &mut own,
                );
                let base = pg_sys::getBaseType(declared);
                let is_usual = collation == own
                    && (collation == pg_sys::InvalidOid
                        || pg_sys::get_collation_isdeterministic(collation))
                    && pg_sys::GetDefaultOpClass(base, method) == class;
                let name = pg_sys::get_attname(table, number, true);
                if !is_usual || name.is_null() {
                    return None;
                }
                names.push(CStr::from_ptr(name).to_owned());
            }
        }
        Some(names)
    };
    // SAFETY: the cache has one key, an OID, and the struct's columns are its catalogue's.
    unsafe { cache::row(pg_sys::SysCacheIdentifier::PARTRELID, table, read).flatten() }
}

/// Whether a column is of a partitioned table's own partition key.
///
/// # Safety
/// The relation is open.
unsafe fn divides(relation: pg_sys::Relation, column: pg_sys::AttrNumber) -> bool {
    let mut in_expression = false;
    // SAFETY: as this function's. Sets have numbers that the least one is taken from.
    unsafe {
        let bit = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        let set = pg_sys::bms_make_singleton(bit);
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            has_partition_attrs(relation, set, &mut in_expression)
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

/// Whether an index is only the parent of its partitions' indexes: it has no pages.
pub fn is_partitioned(index: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    unsafe { pg_sys::get_rel_relkind(index) as u8 == pg_sys::RELKIND_PARTITIONED_INDEX }
}
