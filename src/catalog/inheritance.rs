//! Ancestors and descendants of a table, by inheritance or partitioning.

use std::ffi::{CStr, CString};

use pgrx::{Array, FromDatum, PgList, PgRelation, pg_sys};

use super::cache;
use super::scan::{Scan, oid_is};

// catalog/pg_inherits.h: the catalogue, its index by children, and its columns.
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

/// The table and all its descendants. Every relation but the table itself is locked. Without a
/// lock, a relation may be dropped at any moment.
pub fn all_inheritors(table: pg_sys::Oid, lock: u32) -> Vec<pg_sys::Oid> {
    let lock = lock as pg_sys::LOCKMODE;
    // SAFETY: a catalogue look-up in a transaction, which returns a list of OIDs.
    unsafe {
        let found = pg_sys::ffi::pg_guard_ffi_boundary(|| {
            find_all_inheritors(table, lock, std::ptr::null_mut())
        });
        PgList::<pg_sys::Oid>::from_pg(found).iter_oid().collect()
    }
}

/// The direct children of the table. Nothing is locked, so a relation may be dropped at any moment.
pub fn children(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
    // SAFETY: a catalogue look-up in a transaction, which returns a list of OIDs.
    unsafe {
        let found = pg_sys::ffi::pg_guard_ffi_boundary(|| find_inheritance_children(table, lock));
        PgList::<pg_sys::Oid>::from_pg(found).iter_oid().collect()
    }
}

/// The names of all columns in the partition key of the table or of a partition that is itself
/// partitioned. Rows may move to another partition when such a column is updated.
pub fn partition_columns(table: pg_sys::Oid) -> Vec<CString> {
    let mut names = Vec::new();
    for oid in all_inheritors(table, pg_sys::AccessShareLock) {
        // SAFETY: the relation is locked, and has `natts` columns.
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

/// The names of the columns of a table's own partition key, if the key has no expressions and
/// compares each column by its type's default operator class and the column's own deterministic
/// collation. Then equal values are in the same partition. `None` for another key, and if the table
/// is not partitioned.
pub fn plain_partition_key(table: pg_sys::Oid) -> Option<Vec<CString>> {
    type Row = cache::Row<Partitioned>;
    let read = |row: &Row| {
        let column = |number| row.column(number);
        // SAFETY: a vector type has the layout of an array of its elements.
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
            // SAFETY: catalogue look-ups in a transaction.
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
    // SAFETY: the cache has one key, an OID, and `Partitioned` has its catalogue's first columns.
    unsafe { cache::row(pg_sys::SysCacheIdentifier::PARTRELID, table, read).flatten() }
}

/// Whether a column is part of the partition key of this partitioned table itself.
///
/// # Safety
/// `relation` is open.
unsafe fn divides(relation: pg_sys::Relation, column: pg_sys::AttrNumber) -> bool {
    let mut in_expression = false;
    // SAFETY: the relation is open. A set of columns counts from the least system column number.
    unsafe {
        let bit = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        let set = pg_sys::bms_make_singleton(bit);
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            has_partition_attrs(relation, set, &mut in_expression)
        })
    }
}

/// The direct parents of the table. A partition that is being detached still counts as a child.
pub fn parents(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let mut parents = Vec::new();
    // SAFETY: the key is the catalogue's column, and the index is by child and then by sequence
    // number.
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

/// Whether an index is a partitioned index, which has no pages of its own.
pub fn is_partitioned(index: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::get_rel_relkind(index) as u8 == pg_sys::RELKIND_PARTITIONED_INDEX }
}
