//! The relations that the planner has looked up, and their indexes, as handles that are read safely.

use std::ptr::NonNull;

use pgrx::pg_sys;

use super::expr::{Expr, Exprs};
use super::measures::access_method;
use super::root::{Relations, members};
use super::table::read_index;
use crate::catalog::inheritance::is_partitioned;
use crate::storage::IndexRel;

/// A relation of the query. The invariant of [`super::root::Root`] holds for this and for the
/// handles below.
#[derive(Clone, Copy)]
pub struct Rel(NonNull<pg_sys::RelOptInfo>);

/// An index of a relation. The planner has locked it.
#[derive(Clone, Copy)]
pub struct RelIndex(NonNull<pg_sys::IndexOptInfo>);

/// An index of a relation that is of this access method, exists, has key columns, and has pages.
#[derive(Clone, Copy)]
pub struct OwnIndex(RelIndex);

impl Rel {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `rel` is null, or the type's invariant holds for it.
    pub unsafe fn new(rel: *mut pg_sys::RelOptInfo) -> Option<Rel> {
        NonNull::new(rel).map(Rel)
    }

    pub fn as_ptr(self) -> *mut pg_sys::RelOptInfo {
        self.0.as_ptr()
    }

    /// The structure, to read a field of it.
    fn fields(&self) -> &pg_sys::RelOptInfo {
        // SAFETY: the structure exists, and nothing writes to it while a field is read.
        unsafe { self.0.as_ref() }
    }

    /// Its range table index, or 0 for a join.
    pub fn number(self) -> i32 {
        self.fields().relid as i32
    }

    /// The rows of the table.
    pub fn tuples(self) -> f64 {
        self.fields().tuples
    }

    /// Whether it is of this kind in the range table.
    pub fn is(self, kind: pg_sys::RTEKind::Type) -> bool {
        self.fields().rtekind == kind
    }

    /// Whether the query itself names it.
    pub fn is_base(self) -> bool {
        self.fields().reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
    }

    pub fn indexes(self) -> impl Iterator<Item = RelIndex> {
        // SAFETY: the relation's list of IndexOptInfos.
        unsafe { members(self.fields().indexlist) }.into_iter().map(RelIndex)
    }

    pub fn own_indexes(self) -> impl Iterator<Item = OwnIndex> {
        self.indexes().filter_map(RelIndex::own)
    }

    /// The number of conditions that join it with another relation.
    pub fn joins_with(self, other: Rel) -> usize {
        // SAFETY: the relation's list of RestrictInfos, each with a set of relations.
        let sets = unsafe {
            let clauses = members::<pg_sys::RestrictInfo>(self.fields().joininfo);
            clauses.into_iter().map(|clause| Relations::new(clause.as_ref().clause_relids))
        };
        sets.filter(|set| set.contains(other.number())).count()
    }
}

impl RelIndex {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `index` is null, or the type's invariant holds for it.
    pub unsafe fn new(index: *mut pg_sys::IndexOptInfo) -> Option<RelIndex> {
        NonNull::new(index).map(RelIndex)
    }

    /// The structure, to read a field of it.
    fn fields(&self) -> &pg_sys::IndexOptInfo {
        // SAFETY: the structure exists, and nothing writes to it while a field is read.
        unsafe { self.0.as_ref() }
    }

    /// Its relation.
    pub fn rel(self) -> Option<Rel> {
        // SAFETY: the relation is the planner's.
        unsafe { Rel::new(self.fields().rel) }
    }

    /// The predicate of a partial index: clauses, implicitly ANDed.
    pub fn predicate(self) -> Exprs {
        // SAFETY: a list of expressions, or NIL.
        unsafe { Exprs::new(self.fields().indpred) }
    }

    /// The type that the operator class of a key column takes.
    pub fn input_type(self, column: usize) -> Option<pg_sys::Oid> {
        let index = self.fields();
        // SAFETY: an index has a type for each of its key columns.
        (column < index.nkeycolumns as usize).then(|| unsafe { *index.opcintype.add(column) })
    }

    /// From PostgreSQL 16 on, a relation's list also has partitioned indexes, which have no pages.
    pub fn own(self) -> Option<OwnIndex> {
        let index = self.fields();
        let is_own = Some(index.relam) == access_method()
            && !index.hypothetical
            && index.nkeycolumns > 0
            && !is_partitioned(index.indexoid);
        is_own.then_some(OwnIndex(self))
    }
}

impl OwnIndex {
    /// Whether its predicate leaves rows out.
    pub fn is_partial(self) -> bool {
        self.0.predicate().len() > 0
    }

    /// The number of its key columns.
    pub fn key_columns(self) -> usize {
        self.0.fields().nkeycolumns as usize
    }

    /// The number of its last key column, which is searched by similarity. A text before it is a
    /// scope.
    pub fn last(self) -> usize {
        self.key_columns() - 1
    }

    /// The operator family of its last key column.
    pub fn family(self) -> pg_sys::Oid {
        // SAFETY: an index has a family for each of its key columns.
        unsafe { *self.0.fields().opfamily.add(self.last()) }
    }

    /// Whether its last key column is this expression.
    pub fn is_on(self, expression: Expr) -> bool {
        let (node, index) = (expression.as_ptr(), self.0.0.as_ptr());
        // SAFETY: the index has this column.
        unsafe { pg_sys::match_index_to_operand(node, self.last() as i32, index) }
    }

    /// The expression of its last key column, unless that is a column of the table.
    pub fn expression(self) -> Option<Expr> {
        let index = self.0.fields();
        // SAFETY: an index has a key for each column, and an expression for each key that is 0.
        let (keys, expressions) = unsafe {
            let keys = std::slice::from_raw_parts(index.indexkeys, self.key_columns());
            (keys, Exprs::new(index.indexprs))
        };
        let (&last, before) = keys.split_last()?;
        let number = before.iter().filter(|&&key| key == 0).count();
        expressions.get(number).filter(|_| last == 0)
    }

    /// What `read` finds in the open index.
    ///
    /// # Safety
    /// The result does not keep the index: it is closed then.
    pub unsafe fn read<T>(self, read: impl FnOnce(IndexRel) -> T) -> T {
        // SAFETY: the planner has locked the index, which is of this access method.
        unsafe { read_index(self.0.fields().indexoid, pg_sys::NoLock, read) }
    }
}
