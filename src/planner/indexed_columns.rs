//! Finds the columns that have simhash indexes in this database. It asks the catalogues for
//! dependencies on our operator classes, and opens or locks no index.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;

use super::changes;
use super::measures::{Measure, access_method};
use crate::catalog::cache::{self, Row};
use crate::catalog::scan::{Scan, oid_is};
use crate::types::strategy;

/// The column of a simhash index that is searched by distance: its last key column.
#[derive(Clone, Copy)]
pub struct SearchedColumn {
    pub table: u32,
    /// 0 for an expression.
    pub attribute: pg_sys::AttrNumber,
    /// The number of expressions before it in the index.
    pub expressions: usize,
    class: pg_sys::Oid,
    family: pg_sys::Oid,
    input_type: pg_sys::Oid,
}

impl SearchedColumn {
    /// `None` if the index is gone, or is not valid and live.
    pub fn of(index: pg_sys::Oid) -> Option<SearchedColumn> {
        use pg_sys::SysCacheIdentifier::{CLAOID, INDEXRELID};
        // SAFETY: catalogue look-ups in a transaction, by OID. An index has a number for each of
        // its columns, and a class for each of its key columns.
        unsafe {
            let (table, attribute, expressions, class) =
                cache::row(INDEXRELID, index, |row: &Row<pg_sys::FormData_pg_index>| {
                    let classes = row.column(pg_sys::Anum_pg_index_indclass)?;
                    let classes = (*classes.cast_mut_ptr::<pg_sys::oidvector>()).values.as_ptr();
                    let last = usize::try_from(row.indnkeyatts - 1).ok()?;
                    let attribute = |i| *row.indkey.values.as_ptr().add(i);
                    let expressions = (0..last).filter(|&i| attribute(i) == 0).count();
                    let usable = row.indisvalid && row.indislive;
                    usable.then(|| {
                        let table = row.indrelid.to_u32();
                        (table, attribute(last), expressions, *classes.add(last))
                    })
                })??;
            cache::row(CLAOID, class, |row: &Row<pg_sys::FormData_pg_opclass>| {
                let (family, input_type) = (row.opcfamily, row.opcintype);
                SearchedColumn { table, attribute, expressions, class, family, input_type }
            })
        }
    }

    pub fn family(&self) -> pg_sys::Oid {
        self.family
    }

    /// Whether the index serves `<@` of the measure.
    pub fn serves(&self, measure: &Measure) -> bool {
        self.input_type == measure.point && serves(self.family, measure)
    }
}

/// Whether `<@` of the measure is the search operator of an operator family.
pub fn serves(family: pg_sys::Oid, measure: &Measure) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe {
        pg_sys::get_op_opfamily_strategy(measure.operator, family) == i32::from(strategy::WITHIN)
    }
}

/// The columns by their tables, without those of indexes on expressions.
pub type Columns = HashMap<u32, Vec<SearchedColumn>>;

thread_local! {
    /// The columns, with the counts of changes at which they were found.
    static COLUMNS: RefCell<Option<([u64; 2], Rc<Columns>)>> = const { RefCell::new(None) };
}

/// The columns with simhash indexes in this database, as they are now.
pub fn indexed_columns() -> Rc<Columns> {
    let now = [changes::of_objects(), changes::of_indexes()];
    let known = COLUMNS
        .with_borrow(|known| known.as_ref().filter(|known| known.0 == now).map(|k| k.1.clone()));
    known.unwrap_or_else(|| {
        let mut columns = Columns::new();
        for class in operator_classes() {
            for index in dependent_relations(class) {
                pgrx::check_for_interrupts!();
                let searched = SearchedColumn::of(index)
                    .filter(|searched| searched.class == class && searched.attribute > 0);
                if let Some(searched) = searched {
                    columns.entry(searched.table).or_default().push(searched);
                }
            }
        }
        let columns = Rc::new(columns);
        COLUMNS.set(Some((now, columns.clone())));
        columns
    })
}

/// The operator classes of the access method.
fn operator_classes() -> Vec<pg_sys::Oid> {
    let Some(access_method) = access_method() else { return Vec::new() };
    let cache = pg_sys::SysCacheIdentifier::CLAAMNAMENSP;
    // SAFETY: a catalogue look-up in a transaction, by access method.
    unsafe {
        cache::rows(cache, &[access_method.into()], |class: &pg_sys::FormData_pg_opclass| class.oid)
    }
}

// catalog/pg_depend.h: the catalogue, its index by referenced object, and columns.
const DEPEND: u32 = 2608;
const DEPEND_BY_REFERENCE: u32 = 2674;
const DEPENDENT_CLASS: i32 = 1;
const DEPENDENT_OBJECT: i32 = 2;
const REFERENCED_CLASS: i32 = 4;
const REFERENCED_OBJECT: i32 = 5;

/// The relations that depend on an operator class: indexes.
fn dependent_relations(class: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let depend_on = [
        oid_is(REFERENCED_CLASS, pg_sys::OperatorClassRelationId),
        oid_is(REFERENCED_OBJECT, class),
    ];
    // SAFETY: the columns are pg_depend's, and the index is on them.
    let mut scan = unsafe {
        let index = Some(pg_sys::Oid::from(DEPEND_BY_REFERENCE));
        Scan::of_catalogue(pg_sys::Oid::from(DEPEND), index, depend_on)
    };
    let mut found = Vec::new();
    while let Some(tuple) = scan.next() {
        if scan.oid(tuple, DEPENDENT_CLASS) == Some(pg_sys::RelationRelationId) {
            found.extend(scan.oid(tuple, DEPENDENT_OBJECT));
        }
    }
    scan.end();
    found
}
