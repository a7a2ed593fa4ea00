//! Ancestors and descendants of a table, by inheritance or partitioning.

use std::ffi::CString;

use pgrx::datum::UnboxDatum;
use pgrx::{Array, FromDatum, PgRelation, pg_sys};

use super::cache;
use super::names::column_name;
use super::relations::{kind, listed};
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
    let no_counts = std::ptr::null_mut();
    // SAFETY: a catalogue look-up in a transaction.
    let find = || unsafe { find_all_inheritors(table, lock, no_counts) };
    // SAFETY: the look-up returns a list of OIDs.
    unsafe { listed(pg_sys::ffi::pg_guard_ffi_boundary(find)) }
}

/// The direct children of the table. Nothing is locked, so a relation may be dropped at any moment.
pub fn children(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
    // SAFETY: a catalogue look-up in a transaction.
    let find = || unsafe { find_inheritance_children(table, lock) };
    // SAFETY: the look-up returns a list of OIDs.
    unsafe { listed(pg_sys::ffi::pg_guard_ffi_boundary(find)) }
}

/// The names of all columns in the partition key of the table or of a partition that is itself
/// partitioned. Rows may move to another partition when such a column is updated.
pub fn partition_columns(table: pg_sys::Oid) -> Vec<CString> {
    let mut names = Vec::new();
    for oid in all_inheritors(table, pg_sys::AccessShareLock) {
        if kind(oid) != pg_sys::RELKIND_PARTITIONED_TABLE {
            continue;
        }
        // SAFETY: the relation is locked.
        let relation = unsafe { PgRelation::open(oid) };
        // SAFETY: an open relation has a description of its columns.
        let columns = unsafe { (*relation.rd_att).natts } as pg_sys::AttrNumber;
        let dividing = (1..=columns).filter(|&number| divides(&relation, number));
        names.extend(dividing.filter_map(|number| column_name(oid, number)));
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
        // SAFETY: these columns are vectors of elements of these types.
        let columns = unsafe { vector::<i16>(row, PARTITION_COLUMNS) }?;
        // SAFETY: as above.
        let classes = unsafe { vector::<pg_sys::Oid>(row, PARTITION_CLASSES) }?;
        // SAFETY: as above.
        let collations = unsafe { vector::<pg_sys::Oid>(row, PARTITION_COLLATIONS) }?;
        let method = match row.strategy {
            b'h' => pg_sys::HASH_AM_OID,
            _ => pg_sys::BTREE_AM_OID,
        };
        let columns = columns.into_iter().zip(classes).zip(collations);
        let names = columns.map(|((number, class), collation)| {
            let is_usual = number > 0
                && is_deterministic(table, number, collation)
                && default_class(table, number, method) == class;
            column_name(table, number).filter(|_| is_usual)
        });
        names.collect()
    };
    // SAFETY: the cache has one key, an OID, and `Partitioned` has its catalogue's first columns.
    unsafe { cache::row(pg_sys::SysCacheIdentifier::PARTRELID, table, read).flatten() }
}

/// A column of a catalogue's row that is a vector. `None` if it is NULL.
///
/// # Safety
/// The column is a vector of elements of type `T`.
unsafe fn vector<T>(row: &cache::Row<Partitioned>, column: u32) -> Option<Vec<T>>
where
    T: for<'a> UnboxDatum<As<'a> = T>,
{
    // SAFETY: a vector type has the layout of an array of its elements.
    let array = unsafe { Array::<T>::from_datum(row.column(column)?, false)? };
    array.iter().collect()
}

/// The type of a table's column, and the column's collation.
fn declared(table: pg_sys::Oid, column: i16) -> (pg_sys::Oid, pg_sys::Oid) {
    let (mut of, mut modifier, mut own) = Default::default();
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::get_atttypetypmodcoll(table, column, &mut of, &mut modifier, &mut own) };
    (of, own)
}

/// Whether a collation is a column's own, and deterministic.
fn is_deterministic(table: pg_sys::Oid, column: i16, collation: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    let has_bytes = || unsafe { pg_sys::get_collation_isdeterministic(collation) };
    let (_, own) = declared(table, column);
    collation == own && (collation == pg_sys::InvalidOid || has_bytes())
}

/// The default operator class of a column's type for an access method.
fn default_class(table: pg_sys::Oid, column: i16, method: pg_sys::Oid) -> pg_sys::Oid {
    let (of, _) = declared(table, column);
    // SAFETY: catalogue look-ups in a transaction.
    unsafe { pg_sys::GetDefaultOpClass(pg_sys::getBaseType(of), method) }
}

/// Whether a column is part of the partition key of this partitioned table itself.
fn divides(relation: &PgRelation, column: pg_sys::AttrNumber) -> bool {
    // A set of columns counts from the least system column number.
    let bit = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
    // SAFETY: allocates a set of one number, which is not negative.
    let set = unsafe { pg_sys::bms_make_singleton(bit) };
    let (relation, mut in_expression) = (relation.as_ptr(), false);
    // SAFETY: the relation is open.
    let find = || unsafe { has_partition_attrs(relation, set, &mut in_expression) };
    // SAFETY: the look-up keeps no Rust value.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(find) }
}

/// The direct parents of the table. A partition that is being detached still counts as a child.
pub fn parents(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let mut parents = Vec::new();
    let index = Some(pg_sys::Oid::from(INHERITS_BY_CHILD));
    let (inherits, is_child) = (pg_sys::Oid::from(INHERITS), [oid_is(CHILD, table)]);
    // SAFETY: the key is the catalogue's column, and the index is by child and then by sequence
    // number.
    let mut scan = unsafe { Scan::of_catalogue(inherits, index, is_child) };
    while let Some(tuple) = scan.next() {
        parents.extend(scan.oid(tuple, PARENT));
    }
    scan.end();
    parents
}

/// Whether an index is a partitioned index, which has no pages of its own.
pub fn is_partitioned(index: pg_sys::Oid) -> bool {
    kind(index) == pg_sys::RELKIND_PARTITIONED_INDEX
}
