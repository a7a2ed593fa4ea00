//! Rewrites `hamming(fp, x) <= r` for an exclusion constraint's index, which is on
//! `hamming_ball(fp, R)`.
//!
//! Two balls are `~=` if the distance of their centres is at most the lesser radius. So for r up to
//! R, the clause equals `hamming_ball(fp, R) ~= hamming_ball(x, r)`.

use pgrx::{PgList, PgRelation, pg_sys};

use super::index::{relation_of, simhash_indexes, without_domain};
use super::indexed_columns::SearchedColumn;
use super::measures::{Measure, made_ball, may_execute_all};
use super::nodes::{call, operator_clause};
use super::pattern::integer_value;

/// A ball that an index of the query's table is on, as an expression of the query, and its radius.
#[derive(Clone, Copy)]
pub struct OwnBall {
    expression: *mut pg_sys::Node,
    radius: i64,
}

impl OwnBall {
    /// The largest indexed ball around an expression.
    ///
    /// # Safety
    /// `root` is the planner's state, and its arrays of relations are set up. `center` belongs to
    /// its query and is of the measure's type.
    pub unsafe fn around(
        root: *mut pg_sys::PlannerInfo,
        measure: &Measure,
        center: *mut pg_sys::Node,
    ) -> Option<OwnBall> {
        // SAFETY: `root` is set up as the caller promises, and the query has locked its tables.
        unsafe {
            let center = without_domain(center);
            let (relid, entry) = relation_of(root, center)?;
            if (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION {
                return None;
            }
            let table = PgRelation::open((*entry).relid);
            let of_index = |index| {
                let ball = Self::searched_by(index, relid)?;
                let (own, radius) = made_ball(ball)?;
                let is_its = pg_sys::exprType(ball) == measure.ball
                    && pg_sys::equal(without_domain(own).cast(), center.cast());
                let radius = constant(radius).filter(|_| is_its)?;
                Some(OwnBall { expression: ball, radius })
            };
            let balls = simhash_indexes(&table).into_iter().filter_map(of_index);
            balls.max_by_key(|ball| ball.radius)
        }
    }

    /// The expression that an index searches, with Vars of the range table index `relid`.
    unsafe fn searched_by(index: pg_sys::Oid, relid: i32) -> Option<*mut pg_sys::Node> {
        // SAFETY: the query has locked the table, and the index is locked while it is read.
        unsafe {
            let searched = SearchedColumn::of(index).filter(|searched| searched.attribute == 0)?;
            let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
            let index = PgRelation::with_lock(index, lock);
            // A copy, whose Vars have the range table index 1.
            let expressions = pg_sys::RelationGetIndexExpressions(index.as_ptr());
            let expressions = PgList::<pg_sys::Node>::from_pg(expressions);
            let expression = expressions.get_ptr(searched.expressions)?;
            pg_sys::ChangeVarNodes(expression, 1, relid, 0);
            Some(expression)
        }
    }

    /// The clause for a constant radius around `y`, if that is at most the ball's radius and the
    /// role may execute the clause's functions.
    ///
    /// # Safety
    /// As [`OwnBall::around`]; `radius` is a bigint.
    pub unsafe fn near(
        self,
        root: *mut pg_sys::PlannerInfo,
        measure: &Measure,
        y: *mut pg_sys::Node,
        radius: *mut pg_sys::Node,
    ) -> Option<*mut pg_sys::Node> {
        // SAFETY: `y` and `radius` have the types of the measure's functions, and the ball is a
        // FuncExpr, as `made_ball` checked.
        unsafe {
            let alike = measure.alike?;
            if constant(radius)? > self.radius {
                return None;
            }
            let makes = (*self.expression.cast::<pg_sys::FuncExpr>()).funcid;
            let functions = [measure.hamming, measure.make_ball, makes, pg_sys::get_opcode(alike)];
            if !may_execute_all(root, &functions) {
                return None;
            }
            let other = call(measure.make_ball, measure.ball, &[y, radius]);
            let other = pg_sys::eval_const_expressions(root, other);
            Some(operator_clause(alike, self.expression, other, pg_sys::InvalidOid))
        }
    }
}

/// The value of a constant of an integer type.
unsafe fn constant(node: *mut pg_sys::Node) -> Option<i64> {
    // SAFETY: `node` is an expression, and is cast only if it is a Const.
    unsafe {
        let is_const = pgrx::is_a(node, pg_sys::NodeTag::T_Const);
        if is_const { integer_value(node.cast()) } else { None }
    }
}
