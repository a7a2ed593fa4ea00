//! The simhash indexes of the tables that a query has locked.

use pgrx::{PgList, PgRelation, pg_sys};

use super::expr::{Expr, Exprs};
use super::indexed_columns::SearchedColumn;
use super::measures::access_method;
use super::root::Entry;
use crate::catalog::cache::{self, Row};
use crate::catalog::inheritance::is_partitioned;
use crate::storage::IndexRel;

/// A valid index of a table that the query has locked.
pub struct TableIndex {
    oid: pg_sys::Oid,
    /// The range table index of the table.
    number: i32,
    pub searched: SearchedColumn,
}

/// The simhash indexes of an entry's own table.
pub fn indexes_of(entry: Entry) -> impl Iterator<Item = TableIndex> {
    // SAFETY: the query has locked the table.
    let table = entry.table().map(|table| unsafe { PgRelation::open(table) });
    let indexes = table.map_or_else(Vec::new, |table| simhash_indexes(&table));
    indexes.into_iter().filter_map(move |oid| {
        SearchedColumn::of(oid).map(|searched| TableIndex { oid, number: entry.number(), searched })
    })
}

/// The simhash indexes of an open table.
pub fn simhash_indexes(table: &PgRelation) -> Vec<pg_sys::Oid> {
    let Some(access_method) = access_method() else { return Vec::new() };
    // SAFETY: the table is open, and the list is a copy.
    let indexes =
        unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr())) };
    let is_ours = |row: &Row<pg_sys::FormData_pg_class>| row.relam == access_method;
    // SAFETY: a catalogue look-up in a transaction, by OID.
    let is_ours = |&index: &pg_sys::Oid| unsafe {
        cache::row(pg_sys::SysCacheIdentifier::RELOID, index, is_ours) == Some(true)
    };
    indexes.iter_oid().filter(is_ours).collect()
}

/// What `read` finds in an index, which is open meanwhile.
///
/// # Safety
/// The index is of this access method and has pages. The caller has locked it, or has locked its
/// table and asks for a lock. The result does not keep the index.
pub unsafe fn with_index<T>(index: pg_sys::Oid, lock: u32, read: impl FnOnce(IndexRel) -> T) -> T {
    // SAFETY: the index is locked, and open until the end.
    unsafe {
        let rel = PgRelation::with_lock(index, lock as pg_sys::LOCKMODE);
        read(IndexRel::new(rel.as_ptr()))
    }
}

impl TableIndex {
    fn open(&self) -> PgRelation {
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: the query has locked the table, and the index is locked while it is open.
        unsafe { PgRelation::with_lock(self.oid, lock) }
    }

    /// The expression that it searches, as one of the query. `None` for a column of the table.
    pub fn expression(&self) -> Option<Expr> {
        if self.searched.attribute != 0 {
            return None;
        }
        let index = self.open();
        // SAFETY: the index is open. The result is a copy, whose Vars have the range table index 1.
        let all = unsafe { Exprs::new(pg_sys::RelationGetIndexExpressions(index.as_ptr())) };
        let expression = all.get(self.searched.expressions)?;
        // SAFETY: the expression is a copy, and the query's table has this range table index.
        unsafe { pg_sys::ChangeVarNodes(expression.as_ptr(), 1, self.number, 0) };
        Some(expression)
    }

    /// Whether it searches this expression of its table, which comes without a domain's cast.
    pub fn is_on(&self, expression: Expr) -> bool {
        if self.searched.attribute != 0 {
            let column = expression.column();
            return column.is_some_and(|column| column.varattno == self.searched.attribute);
        }
        self.expression().is_some_and(|indexed| indexed.without_domain().equals(expression))
    }

    /// Whether it has all rows and one key column.
    pub fn is_whole(&self) -> bool {
        let index = self.open();
        // SAFETY: the index is open, so it has its pg_index row.
        unsafe {
            (*(*index.as_ptr()).rd_index).indnkeyatts == 1
                && pg_sys::RelationGetIndexPredicate(index.as_ptr()).is_null()
        }
    }

    /// What `read` finds in the open index. `None` for a partitioned index, which has no pages.
    ///
    /// # Safety
    /// The result does not keep the index: it is closed then.
    pub unsafe fn with_open<T>(&self, read: impl FnOnce(IndexRel) -> T) -> Option<T> {
        // SAFETY: the query has locked the table. `simhash_indexes` found the index.
        let found = || unsafe { with_index(self.oid, pg_sys::AccessShareLock, read) };
        (!is_partitioned(self.oid)).then(found)
    }
}
