//! Is there a simhash index on an expression of the query?

use pgrx::{PgList, PgRelation, pg_sys};

use super::catalog::valid;
use crate::compat;

/// What an index stores of an expression: enough to name its operators.
#[derive(Clone, Copy, Debug)]
pub struct IndexedBy {
    pub family: pg_sys::Oid,
    pub input_type: pg_sys::Oid,
}

unsafe extern "C-unwind" {
    /// catalog/pg_inherits.h, which pgrx does not bind.
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        lock: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
}

/// The simhash index that has `expression`, of one relation of the query, as its column.
///
/// # Safety
/// `root` is the planner's, its arrays of relations set up; `expression` belongs to its query.
pub unsafe fn indexed_by(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
    access_method: pg_sys::Oid,
) -> Option<IndexedBy> {
    // SAFETY: as this function's.
    unsafe {
        let expression = without_domain(expression);
        let mut relid = 0;
        if !pg_sys::bms_get_singleton_member(compat::pull_varnos(root, expression), &mut relid)
            || relid >= (*root).simple_rel_array_size
        {
            return None;
        }
        let entry = *(*root).simple_rte_array.add(relid as usize);
        match (*entry).rtekind {
            pg_sys::RTEKind::RTE_RELATION => table_index((*entry).relid, relid, expression, access_method)
                .or_else(|| {
                    (*entry)
                        .inh
                        .then(|| child_index((*entry).relid, relid, expression, access_method))
                        .flatten()
                }),
            pg_sys::RTEKind::RTE_SUBQUERY if (*entry).inh => {
                union_index(root, relid, expression, access_method)
            }
            _ => None,
        }
    }
}

/// What is under the relabelling of a domain as the type that it is over; PostgreSQL looks there, too, when it matches
/// clauses with indexes.
unsafe fn without_domain(expression: *mut pg_sys::Node) -> *mut pg_sys::Node {
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

/// An index of the table itself. The query holds a lock on the table already.
unsafe fn table_index(
    table: pg_sys::Oid,
    relid: i32,
    expression: *mut pg_sys::Node,
    access_method: pg_sys::Oid,
) -> Option<IndexedBy> {
    // SAFETY: opening a relation that is locked; the indexes are locked while they are looked at.
    unsafe {
        let table = PgRelation::open(table);
        let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr()));
        indexes.iter_oid().find_map(|oid| {
            let index = PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
            let matches = (*index.rd_rel).relam == access_method
                && (*index.rd_index).indisvalid
                && is_first_column(index.as_ptr(), relid, expression);
            matches.then(|| IndexedBy { family: *index.rd_opfamily, input_type: *index.rd_opcintype })
        })
    }
}

unsafe fn is_first_column(index: pg_sys::Relation, relid: i32, expression: *mut pg_sys::Node) -> bool {
    // SAFETY: an open index has at least one key column, and an expression for each column number 0.
    unsafe {
        let column = *(*(*index).rd_index).indkey.values.as_ptr();
        if column != 0 {
            return pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
                && (*expression.cast::<pg_sys::Var>()).varattno == column;
        }
        // RelationGetIndexExpressions gives a copy, whose Vars are of relation 1.
        let expressions = pg_sys::RelationGetIndexExpressions(index);
        PgList::<pg_sys::Node>::from_pg(expressions).get_ptr(0).is_some_and(|indexed| {
            pg_sys::ChangeVarNodes(indexed, 1, relid, 0);
            let indexed = without_domain(indexed);
            pg_sys::equal(indexed.cast(), expression.cast())
        })
    }
}

/// An index of a partition or an inheriting table; columns go by name.
unsafe fn child_index(
    parent: pg_sys::Oid,
    relid: i32,
    expression: *mut pg_sys::Node,
    access_method: pg_sys::Oid,
) -> Option<IndexedBy> {
    // SAFETY: the children are locked before they are opened; the Var is a copy.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_Var) {
            return None;
        }
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        let children =
            pg_sys::ffi::pg_guard_ffi_boundary(|| find_all_inheritors(parent, lock, std::ptr::null_mut()));
        let name = pg_sys::get_attname(parent, (*expression.cast::<pg_sys::Var>()).varattno, true);
        if name.is_null() {
            return None;
        }
        PgList::<pg_sys::Oid>::from_pg(children).iter_oid().filter(|&child| child != parent).find_map(
            |child| {
                let var: *mut pg_sys::Var = pg_sys::copyObjectImpl(expression.cast()).cast();
                (*var).varattno = pg_sys::get_attnum(child, name);
                table_index(child, relid, var.cast(), access_method)
            },
        )
    }
}

/// An index of a member of a flattened UNION ALL.
unsafe fn union_index(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
    access_method: pg_sys::Oid,
) -> Option<IndexedBy> {
    // SAFETY: translated_vars has one expression for each output column of the union.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_Var) {
            return None;
        }
        let column = usize::try_from((*expression.cast::<pg_sys::Var>()).varattno - 1).ok()?;
        let members = PgList::<pg_sys::AppendRelInfo>::from_pg((*root).append_rel_list);
        members.iter_ptr().filter(|&member| (*member).parent_relid == relid as u32).find_map(|member| {
            let translated = PgList::<pg_sys::Node>::from_pg((*member).translated_vars).get_ptr(column)?;
            (!translated.is_null()).then(|| indexed_by(root, translated, access_method)).flatten()
        })
    }
}

impl IndexedBy {
    /// The operator `<@` of the index's operator class, for balls of type `ball`.
    pub fn within_operator(self, ball: pg_sys::Oid) -> Option<pg_sys::Oid> {
        const WITHIN_STRATEGY: i16 = 2;
        // SAFETY: a catalogue look-up.
        valid(unsafe { pg_sys::get_opfamily_member(self.family, self.input_type, ball, WITHIN_STRATEGY) })
    }
}
