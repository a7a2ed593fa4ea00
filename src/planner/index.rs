//! Is there a simhash index on an expression of the query?
//!
//! Tables that the query names are locked by then. Their partitions are not, and most of them will
//! be pruned, so partitions are neither opened nor locked here: see [`super::descendants`].

use pgrx::{PgList, PgRelation, pg_sys};

use super::descendants::a_descendant_is_indexed;
use super::indexed_columns::SearchedColumn;
use super::measures::{Measure, access_method};
use crate::catalog::cache::{self, Row};

/// Whether a simhash index searches `expression`, of one relation of the query, by distance.
///
/// # Safety
/// `root` is the planner's, and its arrays of relations are set up. `expression` belongs to its
/// query and is of the measure's type.
pub unsafe fn is_indexed(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: as this function's.
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

/// The only relation of the query that an expression is of: its number, and its entry in the range
/// table.
///
/// # Safety
/// As [`is_indexed`].
pub unsafe fn relation_of(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
) -> Option<(i32, *mut pg_sys::RangeTblEntry)> {
    // SAFETY: as this function's.
    unsafe {
        let mut relid = 0;
        let relations = pg_sys::pull_varnos(root, expression);
        let is_of_one = pg_sys::bms_get_singleton_member(relations, &mut relid)
            && relid < (*root).simple_rel_array_size;
        is_of_one.then(|| (relid, *(*root).simple_rte_array.add(relid as usize)))
    }
}

/// A partition's column in terms of the table that the query names. What is decided for the table
/// holds for its partitions.
unsafe fn of_parent(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner's arrays are as long as it says; the Var is a copy.
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

/// The parent of a relation that is one of several to be appended, and how their columns go
/// together.
///
/// # Safety
/// `root` is the planner's, its arrays of relations set up.
pub unsafe fn appended(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
) -> Option<*mut pg_sys::AppendRelInfo> {
    // SAFETY: as this function's: the array, if there is one, is as long as that of the relations.
    unsafe {
        let members = (*root).append_rel_array;
        let member = if members.is_null() { members.cast() } else { *members.add(relid as usize) };
        (!member.is_null()).then_some(member)
    }
}

/// What is under the relabelling of a domain as the type that it is over. PostgreSQL looks there as
/// well when it matches clauses with indexes.
///
/// # Safety
/// `expression` is one.
pub unsafe fn without_domain(expression: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: an expression; it is cast only to the type its tag says.
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
    // SAFETY: opening a relation that is locked.
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
    // SAFETY: as this function's; the list is a copy.
    let indexes =
        unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr())) };
    let is_ours = |&index: &pg_sys::Oid| relation_access_method(index) == Some(access_method);
    indexes.iter_oid().filter(is_ours).collect()
}

fn relation_access_method(relation: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let cache = pg_sys::SysCacheIdentifier::RELOID;
    // SAFETY: a look-up by OID.
    unsafe { cache::row(cache, relation, |row: &Row<pg_sys::FormData_pg_class>| row.relam) }
}

unsafe fn is_column(
    index: pg_sys::Oid,
    searched: &SearchedColumn,
    relid: i32,
    expression: *mut pg_sys::Node,
) -> bool {
    // SAFETY: the index of a locked table is locked while it is looked at.
    unsafe {
        if searched.attribute != 0 {
            return pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
                && (*expression.cast::<pg_sys::Var>()).varattno == searched.attribute;
        }
        let index = PgRelation::with_lock(index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        // RelationGetIndexExpressions gives a copy, whose Vars are of relation 1.
        let expressions = pg_sys::RelationGetIndexExpressions(index.as_ptr());
        let expressions = PgList::<pg_sys::Node>::from_pg(expressions);
        expressions.get_ptr(searched.expressions).is_some_and(|indexed| {
            pg_sys::ChangeVarNodes(indexed, 1, relid, 0);
            let indexed = without_domain(indexed);
            pg_sys::equal(indexed.cast(), expression.cast())
        })
    }
}

/// Whether a column of a flattened UNION ALL is indexed in one of its members.
unsafe fn union_is_indexed(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: the list is the planner's.
    unsafe {
        let members = PgList::<pg_sys::AppendRelInfo>::from_pg((*root).append_rel_list);
        members
            .iter_ptr()
            .filter(|&member| (*member).parent_relid == relid as u32)
            .any(|member| member_is_indexed(root, member, expression, measure))
    }
}

/// Whether a column of a UNION ALL is indexed in this member.
///
/// # Safety
/// As [`is_indexed`]; `member` is one of the query's.
pub unsafe fn member_is_indexed(
    root: *mut pg_sys::PlannerInfo,
    member: *mut pg_sys::AppendRelInfo,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: as this function's.
    unsafe { of_member(member, expression).is_some_and(|node| is_indexed(root, node, measure)) }
}

/// What a column of a UNION ALL is in this member.
///
/// # Safety
/// `member` and `expression` are of one query.
pub unsafe fn of_member(
    member: *mut pg_sys::AppendRelInfo,
    expression: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: translated_vars has one expression for each output column of the union.
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
/// The path is the planner's.
pub unsafe fn index_quals(path: *mut pg_sys::IndexPath) -> Vec<(usize, *mut pg_sys::RestrictInfo)> {
    // SAFETY: as this function's: lists of clauses, each with a list of quals.
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
