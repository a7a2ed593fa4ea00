//! Finds out whether a simhash index is on an expression of the query.
//!
//! The query has locked the tables that it names, but not their partitions, of which it will prune
//! most. So partitions are neither opened nor locked here: see [`super::descendants`].

use pgrx::{PgList, PgRelation, pg_sys};

use super::descendants::a_descendant_is_indexed;
use super::indexed_columns::SearchedColumn;
use super::measures::{Measure, access_method};
use crate::catalog::cache::{self, Row};

/// Whether a simhash index searches `expression`, of one relation of the query, by distance.
///
/// # Safety
/// `root` is the planner's state, and its arrays of relations are set up. `expression` belongs to
/// its query and is of the measure's type.
pub unsafe fn is_indexed(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: `root` is set up as the caller promises, so each range table index has an entry.
    unsafe {
        let expression = without_domain(expression);
        let Some((relid, entry)) = relation_of(root, expression) else { return false };
        match (*entry).rtekind {
            pg_sys::RTEKind::RTE_RELATION => {
                if let Some(of_parent) = of_parent(root, relid, expression) {
                    return is_indexed(root, of_parent, measure);
                }
                table_is_indexed((*entry).relid, relid, expression, measure)
                    || (*entry).inh && a_child_is_indexed((*entry).relid, expression, measure)
            }
            pg_sys::RTEKind::RTE_SUBQUERY if (*entry).inh => {
                union_is_indexed(root, relid, expression, measure)
            }
            _ => false,
        }
    }
}

/// The only relation of the query in an expression: its range table index and its entry.
///
/// # Safety
/// As [`is_indexed`].
pub unsafe fn relation_of(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
) -> Option<(i32, *mut pg_sys::RangeTblEntry)> {
    // SAFETY: `root` is set up as the caller promises, and the index is below the array's size.
    unsafe {
        let mut relid = 0;
        let relations = pg_sys::pull_varnos(root, expression);
        let is_of_one = pg_sys::bms_get_singleton_member(relations, &mut relid)
            && relid < (*root).simple_rel_array_size;
        is_of_one.then(|| (relid, *(*root).simple_rte_array.add(relid as usize)))
    }
}

/// A partition's column, as a column of the table that the query names. The decision for that table
/// holds for its partitions.
unsafe fn of_parent(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner's arrays have an entry for each range table index, and the Var is a copy.
    unsafe {
        let member = appended(root, relid)?;
        let parent = *(*root).simple_rte_array.add((*member).parent_relid as usize);
        if (*parent).rtekind != pg_sys::RTEKind::RTE_RELATION
            || !pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
        {
            return None;
        }
        let column = usize::try_from((*expression.cast::<pg_sys::Var>()).varattno - 1).ok()?;
        if column >= usize::try_from((*member).num_child_cols).ok()? {
            return None;
        }
        let attribute = *(*member).parent_colnos.add(column);
        if attribute <= 0 {
            return None;
        }
        let var: *mut pg_sys::Var = pg_sys::copyObjectImpl(expression.cast()).cast();
        (*var).varno = (*member).parent_relid as _;
        (*var).varattno = attribute;
        Some(var.cast())
    }
}

/// How a child relation, such as a partition or a member of UNION ALL, is appended to its parent,
/// and how their columns correspond.
///
/// # Safety
/// `root` is the planner's state, and its arrays of relations are set up.
pub unsafe fn appended(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
) -> Option<*mut pg_sys::AppendRelInfo> {
    // SAFETY: the array is null, or as long as the array of relations.
    unsafe {
        let members = (*root).append_rel_array;
        let member = if members.is_null() { members.cast() } else { *members.add(relid as usize) };
        (!member.is_null()).then_some(member)
    }
}

/// The expression under a change of type from a domain to its base type. PostgreSQL ignores it as
/// well when it matches clauses with indexes.
///
/// # Safety
/// `expression` is an expression.
pub unsafe fn without_domain(expression: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: `expression` is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_RelabelType) {
            return expression;
        }
        let relabelled = expression.cast::<pg_sys::RelabelType>();
        let under: *mut pg_sys::Node = (*relabelled).arg.cast();
        if pg_sys::getBaseType(pg_sys::exprType(under)) == (*relabelled).resulttype {
            under
        } else {
            expression
        }
    }
}

/// Whether an index of the table itself is on the expression. The query has locked the table.
unsafe fn table_is_indexed(
    table: pg_sys::Oid,
    relid: i32,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: the query has locked the table that is opened.
    unsafe {
        let table = PgRelation::open(table);
        simhash_indexes(&table).into_iter().any(|index| {
            SearchedColumn::of(index).is_some_and(|searched| {
                searched.serves(measure) && is_column(index, &searched, relid, expression)
            })
        })
    }
}

/// The simhash indexes of a table.
///
/// # Safety
/// The table is locked.
pub unsafe fn simhash_indexes(table: &PgRelation) -> Vec<pg_sys::Oid> {
    let Some(access_method) = access_method() else { return Vec::new() };
    // SAFETY: the table is open and locked, and the list is a copy.
    let indexes =
        unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr())) };
    let is_ours = |&index: &pg_sys::Oid| relation_access_method(index) == Some(access_method);
    indexes.iter_oid().filter(is_ours).collect()
}

fn relation_access_method(relation: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let cache = pg_sys::SysCacheIdentifier::RELOID;
    // SAFETY: a catalogue look-up in a transaction, by OID.
    unsafe { cache::row(cache, relation, |row: &Row<pg_sys::FormData_pg_class>| row.relam) }
}

unsafe fn is_column(
    index: pg_sys::Oid,
    searched: &SearchedColumn,
    relid: i32,
    expression: *mut pg_sys::Node,
) -> bool {
    // SAFETY: the query has locked the table, and the index is locked while it is read.
    unsafe {
        if searched.attribute != 0 {
            return pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
                && (*expression.cast::<pg_sys::Var>()).varattno == searched.attribute;
        }
        let index = PgRelation::with_lock(index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        // RelationGetIndexExpressions returns a copy, whose Vars have the range table index 1.
        let expressions = pg_sys::RelationGetIndexExpressions(index.as_ptr());
        let expressions = PgList::<pg_sys::Node>::from_pg(expressions);
        expressions.get_ptr(searched.expressions).is_some_and(|indexed| {
            pg_sys::ChangeVarNodes(indexed, 1, relid, 0);
            let indexed = without_domain(indexed);
            pg_sys::equal(indexed.cast(), expression.cast())
        })
    }
}

/// Whether a member of a flattened UNION ALL has an index on the union's column.
unsafe fn union_is_indexed(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: the list is the planner's, of AppendRelInfos.
    unsafe {
        let members = PgList::<pg_sys::AppendRelInfo>::from_pg((*root).append_rel_list);
        members
            .iter_ptr()
            .filter(|&member| (*member).parent_relid == relid as u32)
            .any(|member| member_is_indexed(root, member, expression, measure))
    }
}

/// Whether this member of a UNION ALL has an index on the union's column.
///
/// # Safety
/// As [`is_indexed`]; `member` is one of the query's.
pub unsafe fn member_is_indexed(
    root: *mut pg_sys::PlannerInfo,
    member: *mut pg_sys::AppendRelInfo,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: `member` and `expression` are of the query, whose `root` is set up.
    unsafe { of_member(member, expression).is_some_and(|node| is_indexed(root, node, measure)) }
}

/// The expression of this member for a column of a UNION ALL.
///
/// # Safety
/// `member` and `expression` are of one query.
pub unsafe fn of_member(
    member: *mut pg_sys::AppendRelInfo,
    expression: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: translated_vars has one expression for each column of the union.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
            || (*expression.cast::<pg_sys::Var>()).varno as u32 != (*member).parent_relid
        {
            return None;
        }
        let column = usize::try_from((*expression.cast::<pg_sys::Var>()).varattno - 1).ok()?;
        let translated = PgList::<pg_sys::Node>::from_pg((*member).translated_vars).get_ptr(column);
        translated.filter(|node| !node.is_null())
    }
}

/// Whether a partition or an inheriting table has an index on the column.
unsafe fn a_child_is_indexed(
    parent: pg_sys::Oid,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
            && a_descendant_is_indexed(
                parent,
                (*expression.cast::<pg_sys::Var>()).varattno,
                measure,
            )
    }
}

/// The quals of an index path, each with the number of its column.
///
/// # Safety
/// `path` is the planner's.
pub unsafe fn index_quals(path: *mut pg_sys::IndexPath) -> Vec<(usize, *mut pg_sys::RestrictInfo)> {
    // SAFETY: the path's clauses are IndexClauses, each with a list of RestrictInfos.
    unsafe {
        let clauses = PgList::<pg_sys::IndexClause>::from_pg((*path).indexclauses);
        let each = clauses.iter_ptr().flat_map(|clause| {
            let quals = PgList::<pg_sys::RestrictInfo>::from_pg((*clause).indexquals);
            let column = (*clause).indexcol as usize;
            quals.iter_ptr().map(|qual| (column, qual)).collect::<Vec<_>>()
        });
        each.collect()
    }
}
