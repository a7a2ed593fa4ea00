//! `hamming(fp, x) <= r` by an exclusion constraint's index, which is on `hamming_ball(fp, R)`.
//!
//! Two balls are `~=` if the distance of their centres is at most the lesser radius. So for r up to
//! R the clause is `hamming_ball(fp, R) ~= hamming_ball(x, r)`.

use pgrx::{PgList, PgRelation, pg_sys};

use super::index::{simhash_indexes, without_domain};
use super::indexed_columns::SearchedColumn;
use super::measures::{Measure, made_ball, may_execute_all};
use super::nodes::{call, operator_clause};

/// The clause for such an index on the ball around `x`, if there is one and the role may execute
/// what is in it.
///
/// # Safety
/// `root` is the planner's, and its arrays of relations are set up. `x` and `y` belong to its query
/// and are of the measure's type; `radius` is a bigint.
pub unsafe fn within_own_balls(
    root: *mut pg_sys::PlannerInfo,
    measure: &Measure,
    x: *mut pg_sys::Node,
    y: *mut pg_sys::Node,
    radius: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: as this function's; nodes are cast only to the types their tags say.
    unsafe {
        let alike = measure.alike?;
        let own = ball_of(root, measure, x, number(radius)?)?;
        let makes = (*own.cast::<pg_sys::FuncExpr>()).funcid;
        let functions = [measure.hamming, measure.make_ball, makes, pg_sys::get_opcode(alike)];
        if !may_execute_all(root, &functions) {
            return None;
        }
        let other = call(measure.make_ball, measure.ball, &[y, radius]);
        let other = pg_sys::eval_const_expressions(root, other);
        Some(operator_clause(alike, own, other, pg_sys::InvalidOid))
    }
}

/// A constant radius.
unsafe fn number(node: *mut pg_sys::Node) -> Option<i64> {
    // SAFETY: the datum is read as the type the node says.
    unsafe {
        if !pgrx::is_a(node, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let pg_sys::Const { consttype, constvalue, constisnull, .. } = *node.cast();
        match consttype {
            _ if constisnull => None,
            pg_sys::INT4OID => Some(i64::from(constvalue.value() as i32)),
            pg_sys::INT8OID => Some(constvalue.value() as i64),
            _ => None,
        }
    }
}

/// The ball around an expression that an index searches, of at least this radius.
unsafe fn ball_of(
    root: *mut pg_sys::PlannerInfo,
    measure: &Measure,
    center: *mut pg_sys::Node,
    least: i64,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: as within_own_balls's. The query has locked its tables.
    unsafe {
        let center = without_domain(center);
        let mut relid = 0;
        if !pg_sys::bms_get_singleton_member(pg_sys::pull_varnos(root, center), &mut relid)
            || relid >= (*root).simple_rel_array_size
        {
            return None;
        }
        let entry = *(*root).simple_rte_array.add(relid as usize);
        if (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION {
            return None;
        }
        let table = PgRelation::open((*entry).relid);
        simhash_indexes(&table).into_iter().find_map(|index| {
            let searched = SearchedColumn::of(index).filter(|searched| searched.attribute == 0)?;
            let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
            let index = PgRelation::with_lock(index, lock);
            // A copy, whose Vars are of relation 1.
            let expressions = pg_sys::RelationGetIndexExpressions(index.as_ptr());
            let ball =
                PgList::<pg_sys::Node>::from_pg(expressions).get_ptr(searched.expressions)?;
            pg_sys::ChangeVarNodes(ball, 1, relid, 0);
            let (own, radius) = made_ball(ball)?;
            let is_its = pg_sys::exprType(ball) == measure.ball
                && pg_sys::equal(without_domain(own).cast(), center.cast())
                && number(radius)? >= least;
            is_its.then_some(ball)
        })
    }
}
