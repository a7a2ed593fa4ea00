//! The relations that the planner has looked up, and their indexes, as handles.

use pgrx::pg_sys;

use super::expr::{Expr, Exprs};
use super::handle::{Handle, Rel, members};
use super::measures::access_method;
use super::table::with_index;
use crate::catalog::inheritance::is_partitioned;
use crate::storage::IndexRel;

/// An index of a relation. The planner has locked it.
pub type RelIndex = Handle<pg_sys::IndexOptInfo>;

/// An index of a relation that is of this access method, exists, has key columns, and has pages.
#[derive(Clone, Copy)]
pub struct OwnIndex(RelIndex);

impl Rel {
    /// Its range table index, or 0 for a join.
    pub fn number(self) -> i32 {
        self.read().relid as i32
    }

    pub fn indexes(self) -> impl Iterator<Item = RelIndex> {
        // SAFETY: the relation's list of IndexOptInfos.
        unsafe { members(self.read().indexlist) }.into_iter()
    }

    /// The number of conditions that join it with another relation.
    pub fn joins_with(self, other: Rel) -> usize {
        // SAFETY: a clause has the set of its relations.
        let joins = |clause: &Handle<pg_sys::RestrictInfo>| unsafe {
            pg_sys::bms_is_member(other.number(), clause.read().clause_relids)
        };
        // SAFETY: the relation's list of RestrictInfos.
        unsafe { members(self.read().joininfo) }.iter().filter(|clause| joins(clause)).count()
    }
}

impl RelIndex {
    /// The range table index of its table.
    pub fn table(self) -> i32 {
        // SAFETY: an index has its relation.
        unsafe { (*self.read().rel).relid as i32 }
    }

    /// The predicate of a partial index: clauses, implicitly ANDed.
    pub fn predicate(self) -> Exprs {
        // SAFETY: a list of expressions, or NIL.
        unsafe { Exprs::new(self.read().indpred) }
    }

    /// The type that the operator class of a key column takes.
    pub fn input_type(self, column: usize) -> Option<pg_sys::Oid> {
        let index = self.read();
        // SAFETY: an index has a type for each of its key columns.
        (column < index.nkeycolumns as usize).then(|| unsafe { *index.opcintype.add(column) })
    }

    /// From PostgreSQL 16 on, a relation's list also has partitioned indexes, which have no pages.
    pub fn own(self) -> Option<OwnIndex> {
        let index = self.read();
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

    /// The number of its last key column, which is searched by similarity. A text before it is a
    /// scope.
    pub fn last(self) -> usize {
        self.0.read().nkeycolumns as usize - 1
    }

    /// The operator family of its last key column.
    pub fn family(self) -> pg_sys::Oid {
        // SAFETY: an index has a family for each of its key columns.
        unsafe { *self.0.read().opfamily.add(self.last()) }
    }

    /// Whether its last key column is this expression.
    pub fn is_on(self, expression: Expr) -> bool {
        let (node, index) = (expression.as_ptr(), self.0.as_ptr());
        // SAFETY: the index has this column.
        unsafe { pg_sys::match_index_to_operand(node, self.last() as i32, index) }
    }

    /// The expression of its last key column, unless that is a column of the table.
    pub fn expression(self) -> Option<Expr> {
        let index = self.0.read();
        // SAFETY: an index has a key for each column, and an expression for each key that is 0.
        let (keys, expressions) = unsafe {
            let keys = std::slice::from_raw_parts(index.indexkeys, self.last() + 1);
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
    pub unsafe fn with_open<T>(self, read: impl FnOnce(IndexRel) -> T) -> T {
        // SAFETY: the planner has locked the index, which is of this access method.
        unsafe { with_index(self.0.read().indexoid, pg_sys::NoLock, read) }
    }
}
