//! The planner's state for a query, and its range table, as handles.

use pgrx::{PgList, pg_sys};

use super::expr::{Expr, Exprs};
use super::handle::{Handle, Rel, members};

/// The planner's state for a query.
pub type Root = Handle<pg_sys::PlannerInfo>;

/// An entry of the range table, with its range table index.
#[derive(Clone, Copy)]
pub struct Entry(i32, Handle<pg_sys::RangeTblEntry>);

/// How a child relation, such as a partition or a member of UNION ALL, is appended to its parent,
/// and how their columns correspond.
pub type Member = Handle<pg_sys::AppendRelInfo>;

/// The range table indexes in an expression.
#[derive(Clone, Copy)]
pub struct Relations(*mut pg_sys::Bitmapset);

impl Root {
    /// Marks the plan as that of the current role.
    pub fn depends_on_role(self) {
        // SAFETY: the planner's state has its PlannerGlobal.
        unsafe { (*self.read().glob).dependsOnRole = true };
    }

    /// The member of one of the planner's arrays by a range table index.
    ///
    /// # Safety
    /// `array` is null, or has as many members as the planner's array of relations. They are null,
    /// or the invariant of [`Handle`] holds for them.
    unsafe fn at<T: Copy>(self, array: *mut *mut T, number: i32) -> Option<Handle<T>> {
        let is_there = !array.is_null() && (0..self.read().simple_rel_array_size).contains(&number);
        // SAFETY: the number is below the array's size.
        unsafe { Handle::new(is_there.then(|| *array.add(number as usize))?) }
    }

    /// The entry of a range table index. `None` before the planner's arrays are set up.
    pub fn entry(self, number: i32) -> Option<Entry> {
        // SAFETY: the array is set up together with that of relations.
        Some(Entry(number, unsafe { self.at(self.read().simple_rte_array, number)? }))
    }

    /// The relation of a range table index, if the planner has looked it up.
    pub fn relation(self, number: i32) -> Option<Rel> {
        // SAFETY: the array of relations itself.
        unsafe { self.at(self.read().simple_rel_array, number) }
    }

    /// How a relation is appended to its parent, if it is.
    pub fn member(self, number: i32) -> Option<Member> {
        // SAFETY: the array is null, or set up together with that of relations.
        unsafe { self.at(self.read().append_rel_array, number) }
    }

    /// The range table indexes, once the planner's arrays are set up.
    pub fn numbers(self) -> impl Iterator<Item = i32> {
        1..self.read().simple_rel_array_size
    }

    /// The children of a relation.
    pub fn members_of(self, parent: i32) -> impl Iterator<Item = Member> {
        // SAFETY: the planner's list of AppendRelInfos.
        let all: Vec<Member> = unsafe { members(self.read().append_rel_list) };
        all.into_iter().filter(move |member| member.parent() == parent)
    }

    /// An entry of the query's own range table, which exists before the planner's arrays.
    pub fn in_range_table(self, number: i32) -> Option<Entry> {
        let place = usize::try_from(number - 1).ok()?;
        // SAFETY: the query's range table is a list of RangeTblEntries.
        let entry = unsafe {
            let entries = PgList::<pg_sys::RangeTblEntry>::from_pg((*self.read().parse).rtable);
            Handle::new(entries.get_ptr(place)?)?
        };
        Some(Entry(number, entry))
    }

    /// The relations that an expression is of.
    pub fn relations_in(self, expression: Expr) -> Relations {
        // SAFETY: an expression of the query.
        Relations(unsafe { pg_sys::pull_varnos(self.as_ptr(), expression.as_ptr()) })
    }

    /// The entry of the only relation in an expression.
    pub fn only_entry(self, expression: Expr) -> Option<Entry> {
        self.entry(self.relations_in(expression).only()?)
    }

    /// An expression with its constant parts computed.
    pub fn folded(self, expression: Expr) -> Expr {
        let (root, node) = (self.as_ptr(), expression.as_ptr());
        // SAFETY: an expression of the query; the result is one of the same type.
        unsafe { Expr::made(pg_sys::eval_const_expressions(root, node)) }
    }

    /// The value of an expression if it is constant or can be estimated as a constant, such as a
    /// known parameter.
    pub fn estimated(self, expression: Expr) -> Expr {
        let (root, node) = (self.as_ptr(), expression.as_ptr());
        // SAFETY: an expression of the query; the result is one of the same type.
        unsafe { Expr::made(pg_sys::estimate_expression_value(root, node)) }
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
    /// Its range table index.
    pub fn number(self) -> i32 {
        self.0
    }

    /// A copy of its fields.
    pub fn read(self) -> pg_sys::RangeTblEntry {
        self.1.read()
    }

    /// The table, unless the entry is of something else. The query has locked it.
    pub fn table(self) -> Option<pg_sys::Oid> {
        let entry = self.read();
        (entry.rtekind == pg_sys::RTEKind::RTE_RELATION).then_some(entry.relid)
    }

    /// Whether its children are read with it.
    pub fn has_children(self) -> bool {
        self.read().inh
    }
}

impl Member {
    pub fn parent(self) -> i32 {
        self.read().parent_relid as i32
    }

    /// The column of a partition's parent, from the partition's own.
    pub fn column_of_parent(self, attribute: pg_sys::AttrNumber) -> Option<pg_sys::AttrNumber> {
        let column = usize::try_from(attribute - 1).ok()?;
        let is_there = column < usize::try_from(self.read().num_child_cols).ok()?;
        // SAFETY: the array has a number for each column of the child.
        let parent = is_there.then(|| unsafe { *self.read().parent_colnos.add(column) })?;
        (parent > 0).then_some(parent)
    }

    /// The member's own expression for a column of a UNION ALL.
    pub fn translated(self, expression: Expr) -> Option<Expr> {
        let column = expression.column()?;
        if i64::from(column.varno) != i64::from(self.parent()) {
            return None;
        }
        // SAFETY: the list has an expression for each column of the union, or null.
        let translated = unsafe { Exprs::new(self.read().translated_vars) };
        translated.get(usize::try_from(column.varattno - 1).ok()?)
    }

    /// An expression of the parent as one of the child.
    pub fn adjusted(self, root: Root, expression: Expr) -> Expr {
        let (mut member, root, node) = (self.as_ptr(), root.as_ptr(), expression.as_ptr());
        // SAFETY: an expression of the query, and one of its AppendRelInfos.
        unsafe { Expr::made(pg_sys::adjust_appendrel_attrs(root, node, 1, &mut member)) }
    }
}
