//! Finds out whether a simhash index is on an expression of the query.
//!
//! The query has locked the tables that it names, but not their partitions, of which it will prune
//! most. So partitions are neither opened nor locked here: see [`super::descendants`].

use pgrx::pg_sys;

use super::descendants::a_descendant_is_indexed;
use super::expr::Expr;
use super::handle::members;
use super::measures::Measure;
use super::root::{Entry, Member, Root};
use super::table::{TableIndex, indexes_of};

/// Whether a simhash index searches `expression`, of one relation of the query, by distance.
pub fn is_indexed(root: Root, expression: Expr, measure: &Measure) -> bool {
    let expression = expression.without_domain();
    let Some(entry) = root.only_entry(expression) else { return false };
    let Some(table) = entry.table() else {
        let is_union =
            entry.read().rtekind == pg_sys::RTEKind::RTE_SUBQUERY && entry.has_children();
        let mut members = root.members_of(entry.number());
        return is_union
            && members.any(|member| member_is_indexed(root, member, expression, measure));
    };
    if let Some(of_parent) = of_parent(root, entry, expression) {
        return is_indexed(root, of_parent, measure);
    }
    let serves = |index: TableIndex| index.searched.serves(measure) && index.is_on(expression);
    let in_child = || {
        let column = expression.column();
        column.is_some_and(|column| a_descendant_is_indexed(table, column.varattno, measure))
    };
    indexes_of(entry).any(serves) || entry.has_children() && in_child()
}

/// Whether this member of a UNION ALL has an index on the union's column.
pub fn member_is_indexed(root: Root, member: Member, expression: Expr, measure: &Measure) -> bool {
    member.translated(expression).is_some_and(|node| is_indexed(root, node, measure))
}

/// A partition's column, as a column of the table that the query names. The decision for that table
/// holds for its partitions.
fn of_parent(root: Root, entry: Entry, expression: Expr) -> Option<Expr> {
    let member = root.member(entry.number())?;
    root.entry(member.parent())?.table()?;
    let attribute = member.column_of_parent(expression.column()?.varattno)?;
    let copy = expression.copy();
    let var = copy.as_ptr().cast::<pg_sys::Var>();
    // SAFETY: the copy of a column is a Var. The parent's column has the type of the child's.
    unsafe {
        (*var).varno = member.parent() as _;
        (*var).varattno = attribute;
    }
    Some(copy)
}

/// The quals of an index path, each with the number of its column.
///
/// # Safety
/// `path` is the planner's.
pub unsafe fn index_quals(path: *mut pg_sys::IndexPath) -> Vec<(usize, *mut pg_sys::RestrictInfo)> {
    let mut found = Vec::new();
    // SAFETY: the path's clauses are IndexClauses, each with a list of RestrictInfos.
    unsafe {
        for clause in members::<pg_sys::IndexClause>((*path).indexclauses) {
            let clause = clause.read();
            let quals = members::<pg_sys::RestrictInfo>(clause.indexquals);
            found.extend(quals.iter().map(|qual| (clause.indexcol as usize, qual.as_ptr())));
        }
    }
    found
}
