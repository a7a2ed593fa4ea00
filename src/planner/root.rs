//! What the planner knows of a query and of its relations, as handles that are read safely.

use std::ptr::NonNull;

use pgrx::{PgList, pg_sys};

use super::expr::{Expr, Exprs};
use super::measures::access_method;
use super::table::read_index;
use crate::catalog::inheritance::is_partitioned;
use crate::storage::IndexRel;

/// The planner's state for a query.
///
/// Invariant, of this and of the handles below: the structure is PostgreSQL's, as it makes it for a
/// query that it plans. It exists until the hook or the support function returns for which the
/// handle was made, and no handle is used after that.
#[derive(Clone, Copy)]
pub struct Root(NonNull<pg_sys::PlannerInfo>);

/// An entry of the range table.
#[derive(Clone, Copy)]
pub struct Entry(NonNull<pg_sys::RangeTblEntry>);

/// A relation of the query.
#[derive(Clone, Copy)]
pub struct Rel(NonNull<pg_sys::RelOptInfo>);

/// How a child relation, such as a partition or a member of UNION ALL, is appended to its parent,
/// and how their columns correspond.
#[derive(Clone, Copy)]
pub struct Member(NonNull<pg_sys::AppendRelInfo>);

/// An index of a relation. The planner has locked it.
#[derive(Clone, Copy)]
pub struct RelIndex(NonNull<pg_sys::IndexOptInfo>);

/// An index of a relation that is of this access method, exists, has key columns, and has pages.
#[derive(Clone, Copy)]
pub struct OwnIndex(RelIndex);

/// The range table indexes in an expression.
#[derive(Clone, Copy)]
pub struct Relations(*mut pg_sys::Bitmapset);

/// The members of a list of structures.
///
/// # Safety
/// `list` is NIL or a list of pointers to `T`, or null.
pub unsafe fn members<T>(list: *mut pg_sys::List) -> Vec<NonNull<T>> {
    // SAFETY: the caller's list has pointers.
    let list = unsafe { PgList::<T>::from_pg(list) };
    list.iter_ptr().filter_map(NonNull::new).collect()
}

impl Root {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `root` is null, or the type's invariant holds for it.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo) -> Option<Root> {
        NonNull::new(root).map(Root)
    }

    pub fn as_ptr(self) -> *mut pg_sys::PlannerInfo {
        self.0.as_ptr()
    }

    /// Marks the plan as that of the current role.
    pub fn depends_on_role(self) {
        // SAFETY: the planner's state has its PlannerGlobal.
        unsafe { (*(*self.as_ptr()).glob).dependsOnRole = true };
    }

    /// The member of one of the planner's arrays by a range table index.
    ///
    /// # Safety
    /// `array` is null, or has as many members as the planner's array of relations.
    unsafe fn at<T>(self, array: *mut *mut T, number: i32) -> Option<NonNull<T>> {
        // SAFETY: the number is below the array's size.
        unsafe {
            let is_there = (0..(*self.as_ptr()).simple_rel_array_size).contains(&number);
            if array.is_null() || !is_there {
                None
            } else {
                NonNull::new(*array.add(number as usize))
            }
        }
    }

    /// The entry of a range table index. `None` before the planner's arrays are set up.
    pub fn entry(self, number: i32) -> Option<Entry> {
        // SAFETY: the array is set up together with that of relations.
        unsafe { self.at((*self.as_ptr()).simple_rte_array, number).map(Entry) }
    }

    /// The relation of a range table index, if the planner has looked it up.
    pub fn relation(self, number: i32) -> Option<Rel> {
        // SAFETY: the array of relations itself.
        unsafe { self.at((*self.as_ptr()).simple_rel_array, number).map(Rel) }
    }

    /// The relations that the planner has looked up.
    pub fn relations(self) -> impl Iterator<Item = Rel> {
        self.numbers().filter_map(move |number| self.relation(number))
    }

    /// The range table indexes, once the planner's arrays are set up.
    pub fn numbers(self) -> impl Iterator<Item = i32> {
        // SAFETY: reads a field of the planner's state.
        1..unsafe { (*self.as_ptr()).simple_rel_array_size }
    }

    /// How a relation is appended to its parent, if it is.
    pub fn member(self, number: i32) -> Option<Member> {
        // SAFETY: the array is null, or set up together with that of relations.
        unsafe { self.at((*self.as_ptr()).append_rel_array, number).map(Member) }
    }

    /// The children of a relation.
    pub fn members_of(self, parent: i32) -> impl Iterator<Item = Member> {
        // SAFETY: the planner's list of AppendRelInfos.
        let all = unsafe { members((*self.as_ptr()).append_rel_list) };
        all.into_iter().map(Member).filter(move |member| member.parent() == parent)
    }

    /// The entries of the query's range table, in order, from that of range table index 1 on.
    pub fn range_table(self) -> impl Iterator<Item = Entry> {
        // SAFETY: the query's range table has an entry in each place.
        unsafe { members((*(*self.as_ptr()).parse).rtable) }.into_iter().map(Entry)
    }

    /// The relations that an expression is of.
    pub fn relations_in(self, expression: Expr) -> Relations {
        // SAFETY: an expression of the query.
        Relations(unsafe { pg_sys::pull_varnos(self.as_ptr(), expression.as_ptr()) })
    }

    /// An expression with its constant parts computed.
    pub fn folded(self, expression: Expr) -> Expr {
        // SAFETY: an expression of the query; the result is one of the same type.
        unsafe {
            let folded = pg_sys::eval_const_expressions(self.as_ptr(), expression.as_ptr());
            Expr::made(folded)
        }
    }

    /// The value of an expression if it is constant or can be estimated as a constant, such as a
    /// known parameter.
    pub fn estimated(self, expression: Expr) -> Expr {
        // SAFETY: an expression of the query; the result is one of the same type.
        unsafe {
            let value = pg_sys::estimate_expression_value(self.as_ptr(), expression.as_ptr());
            Expr::made(value)
        }
    }
}

impl Relations {
    pub fn contains(self, number: i32) -> bool {
        // SAFETY: a set that PostgreSQL made, or null.
        unsafe { pg_sys::bms_is_member(number, self.0) }
    }

    pub fn overlaps(self, other: Relations) -> bool {
        // SAFETY: sets that PostgreSQL made, or null.
        unsafe { pg_sys::bms_overlap(self.0, other.0) }
    }

    /// The only member.
    pub fn only(self) -> Option<i32> {
        let mut number = 0;
        // SAFETY: a set that PostgreSQL made, or null.
        unsafe { pg_sys::bms_get_singleton_member(self.0, &mut number) }.then_some(number)
    }
}

impl Entry {
    fn is(self, kind: pg_sys::RTEKind::Type) -> bool {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).rtekind == kind }
    }

    /// The table, unless the entry is of something else. The query has locked it.
    pub fn table(self) -> Option<pg_sys::Oid> {
        self.is(pg_sys::RTEKind::RTE_RELATION).then(|| self.relation())
    }

    /// The table, the view from which a subquery was made, or `InvalidOid`.
    pub fn relation(self) -> pg_sys::Oid {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).relid }
    }

    pub fn is_subquery(self) -> bool {
        self.is(pg_sys::RTEKind::RTE_SUBQUERY)
    }

    /// Whether its children are read with it.
    pub fn has_children(self) -> bool {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).inh }
    }

    /// Whether row-level security or a security barrier hides rows of it.
    pub fn hides_rows(self) -> bool {
        // SAFETY: reads fields of PostgreSQL's structure.
        unsafe {
            !(*self.0.as_ptr()).securityQuals.is_null() || (*self.0.as_ptr()).security_barrier
        }
    }
}

impl Rel {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `rel` is null, or the invariant of [`Root`] holds for it.
    pub unsafe fn new(rel: *mut pg_sys::RelOptInfo) -> Option<Rel> {
        NonNull::new(rel).map(Rel)
    }

    pub fn as_ptr(self) -> *mut pg_sys::RelOptInfo {
        self.0.as_ptr()
    }

    /// Its range table index, or 0 for a join.
    pub fn number(self) -> i32 {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.as_ptr()).relid as i32 }
    }

    /// The rows of the table.
    pub fn tuples(self) -> f64 {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.as_ptr()).tuples }
    }

    /// Whether it is of this kind in the range table.
    pub fn is(self, kind: pg_sys::RTEKind::Type) -> bool {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.as_ptr()).rtekind == kind }
    }

    /// Whether the query itself names it.
    pub fn is_base(self) -> bool {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.as_ptr()).reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL }
    }

    pub fn indexes(self) -> impl Iterator<Item = RelIndex> {
        // SAFETY: the relation's list of IndexOptInfos.
        unsafe { members((*self.as_ptr()).indexlist) }.into_iter().map(RelIndex)
    }

    pub fn own_indexes(self) -> impl Iterator<Item = OwnIndex> {
        self.indexes().filter_map(RelIndex::own)
    }

    /// The number of conditions that join it with another relation.
    pub fn joins_with(self, other: Rel) -> usize {
        let joins = |clause: &NonNull<pg_sys::RestrictInfo>| {
            // SAFETY: reads a field of PostgreSQL's structure.
            Relations(unsafe { (*clause.as_ptr()).clause_relids }).contains(other.number())
        };
        // SAFETY: the relation's list of RestrictInfos.
        unsafe { members((*self.as_ptr()).joininfo) }.iter().filter(|clause| joins(clause)).count()
    }
}

impl Member {
    pub fn parent(self) -> i32 {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).parent_relid as i32 }
    }

    pub fn child(self) -> i32 {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).child_relid as i32 }
    }

    /// The column of a partition's parent, from the partition's own.
    pub fn column_of_parent(self, attribute: pg_sys::AttrNumber) -> Option<pg_sys::AttrNumber> {
        let column = usize::try_from(attribute - 1).ok()?;
        // SAFETY: the array has a number for each column of the child.
        let parent = unsafe {
            let info = &*self.0.as_ptr();
            let is_there = column < usize::try_from(info.num_child_cols).ok()?;
            is_there.then(|| *info.parent_colnos.add(column))?
        };
        (parent > 0).then_some(parent)
    }

    /// The member's own expression for a column of a UNION ALL.
    pub fn translated(self, expression: Expr) -> Option<Expr> {
        let column = expression.column().filter(|column| column.relation == self.parent())?;
        // SAFETY: the list has an expression for each column of the union, or null.
        let translated = unsafe { Exprs::new((*self.0.as_ptr()).translated_vars) };
        translated.get(usize::try_from(column.attribute - 1).ok()?)
    }

    /// An expression of the parent as one of the child.
    pub fn adjusted(self, root: Root, expression: Expr) -> Expr {
        let mut member = self.0.as_ptr();
        // SAFETY: an expression of the query, and one of its AppendRelInfos.
        unsafe {
            let (root, node) = (root.as_ptr(), expression.as_ptr());
            Expr::made(pg_sys::adjust_appendrel_attrs(root, node, 1, &mut member))
        }
    }
}

impl RelIndex {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `index` is null, or the invariant of [`Root`] holds for it.
    pub unsafe fn new(index: *mut pg_sys::IndexOptInfo) -> Option<RelIndex> {
        NonNull::new(index).map(RelIndex)
    }

    pub fn as_ptr(self) -> *mut pg_sys::IndexOptInfo {
        self.0.as_ptr()
    }

    /// The relation's range table index.
    pub fn relation(self) -> i32 {
        // SAFETY: an index has its relation.
        unsafe { (*(*self.as_ptr()).rel).relid as i32 }
    }

    /// The predicate of a partial index: clauses, implicitly ANDed.
    pub fn predicate(self) -> Exprs {
        // SAFETY: a list of expressions, or NIL.
        unsafe { Exprs::new((*self.as_ptr()).indpred) }
    }

    /// The type that the operator class of a key column takes.
    pub fn input_type(self, column: usize) -> Option<pg_sys::Oid> {
        // SAFETY: an index has a type for each of its key columns.
        unsafe {
            let index = &*self.as_ptr();
            (column < index.nkeycolumns as usize).then(|| *index.opcintype.add(column))
        }
    }

    /// From PostgreSQL 16 on, a relation's list also has partitioned indexes, which have no pages.
    pub fn own(self) -> Option<OwnIndex> {
        // SAFETY: reads fields of PostgreSQL's structure.
        let is_own = unsafe {
            let index = &*self.as_ptr();
            Some(index.relam) == access_method()
                && !index.hypothetical
                && index.nkeycolumns > 0
                && !is_partitioned(index.indexoid)
        };
        is_own.then_some(OwnIndex(self))
    }
}

impl OwnIndex {
    pub fn oid(self) -> pg_sys::Oid {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).indexoid }
    }

    /// The number of its key columns.
    pub fn key_columns(self) -> usize {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { (*self.0.as_ptr()).nkeycolumns as usize }
    }

    /// Whether its predicate leaves rows out.
    pub fn is_partial(self) -> bool {
        // SAFETY: reads a field of PostgreSQL's structure.
        unsafe { !(*self.0.as_ptr()).indpred.is_null() }
    }

    /// The number of its last key column, which is searched by similarity. A text before it is a
    /// scope.
    pub fn last(self) -> usize {
        self.key_columns() - 1
    }

    /// The operator family of its last key column.
    pub fn family(self) -> pg_sys::Oid {
        // SAFETY: an index has a family for each of its key columns.
        unsafe { *(*self.0.as_ptr()).opfamily.add(self.last()) }
    }

    /// Whether its last key column is this expression.
    pub fn is_on(self, expression: Expr) -> bool {
        let (node, index) = (expression.as_ptr(), self.0.as_ptr());
        // SAFETY: the index has this column.
        unsafe { pg_sys::match_index_to_operand(node, self.last() as i32, index) }
    }

    /// The expression of its last key column, unless that is a column of the table.
    pub fn expression(self) -> Option<Expr> {
        // SAFETY: an index has a key for each column, and an expression for each key that is 0.
        let (keys, expressions) = unsafe {
            let index = &*self.0.as_ptr();
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
        unsafe { read_index(self.oid(), pg_sys::NoLock, read) }
    }
}
