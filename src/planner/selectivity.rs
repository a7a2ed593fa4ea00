//! Estimates the selectivity of `<@`, `@>`, `~=` and `hamming_within`.

use pgrx::{PgList, pg_sys};

use super::measures::{Objects, made_ball};
use super::statistics::{ColumnSample, Reach, release};
use crate::types::Width;
use crate::types::layout::Value;

/// The selectivity without a column of a known type: as rare as an exact match.
const UNKNOWN: f64 = 0.0001;
/// The radius that is assumed for an unknown one, as a share of the width.
const USUAL_RADIUS_PER_BIT: f64 = 6.0 / 64.0;

/// The greatest width in bits. A greater radius is reduced to it.
const GREATEST_RADIUS: i64 = 1024;

/// A clause whose selectivity the planner asks for.
pub struct Clause {
    pub root: *mut pg_sys::PlannerInfo,
    pub arguments: *mut pg_sys::List,
    /// The range table index of the relation that the clause restricts, or 0.
    pub relation: i32,
    /// For a join clause, its join, or null if that is unknown.
    pub join: Option<*mut pg_sys::SpecialJoinInfo>,
}

/// The radius, as far as the clause itself determines it.
#[derive(Clone, Copy)]
enum Radius {
    Known(u32),
    /// The radius of `~=`. For balls it is the lesser of both.
    Near,
    /// The radius of the operand that is a ball, or else the usual one.
    OfBall,
}

impl Clause {
    /// The selectivity of `hamming_within(a, b, radius)`.
    ///
    /// # Safety
    /// The clause's fields are the planner's, for a clause of its query.
    pub unsafe fn within_selectivity(&self) -> f64 {
        // SAFETY: the planner's list of operands, which are expressions.
        unsafe {
            let arguments = PgList::<pg_sys::Node>::from_pg(self.arguments);
            let (Some(a), Some(b), Some(radius)) =
                (arguments.get_ptr(0), arguments.get_ptr(1), arguments.get_ptr(2))
            else {
                return UNKNOWN;
            };
            self.estimate([a, b], self.radius(radius))
        }
    }

    /// The selectivity of `a <@ b` or `a @> b`, where one is a ball. If the clause makes the ball,
    /// its radius may be known although its centre is a parameter or a column.
    ///
    /// # Safety
    /// The clause's fields are the planner's, for a clause of its query.
    pub unsafe fn ball_selectivity(&self) -> f64 {
        // SAFETY: the operands are expressions of the planner's query.
        unsafe {
            let Some([a, b]) = self.operands() else { return UNKNOWN };
            match (made_ball(a), made_ball(b)) {
                (None, Some((center, radius))) => self.estimate([a, center], self.radius(radius)),
                (Some((center, radius)), None) => self.estimate([center, b], self.radius(radius)),
                _ => self.estimate([a, b], Radius::OfBall),
            }
        }
    }

    /// The selectivity of `a ~= b`.
    ///
    /// # Safety
    /// The clause's fields are the planner's, for a clause of its query.
    pub unsafe fn near_selectivity(&self) -> f64 {
        // SAFETY: the operands are expressions of the planner's query.
        unsafe { self.operands().map_or(UNKNOWN, |operands| self.estimate(operands, Radius::Near)) }
    }

    unsafe fn operands(&self) -> Option<[*mut pg_sys::Node; 2]> {
        // SAFETY: a list of expressions, or null.
        let arguments = unsafe { PgList::<pg_sys::Node>::from_pg(self.arguments) };
        let pair = [arguments.get_ptr(0)?, arguments.get_ptr(1)?];
        (arguments.len() == 2).then_some(pair)
    }

    /// The radius that the clause's argument gives, if it is constant.
    unsafe fn radius(&self, radius: *mut pg_sys::Node) -> Radius {
        // SAFETY: `radius` is an operand of the planner's clause.
        unsafe { constant_radius(self.root, radius).map_or(Radius::OfBall, Radius::Known) }
    }

    /// Calls `read` with the operand that is of the clause's relation, and with the other one.
    /// `None` unless exactly one operand is of the relation.
    ///
    /// # Safety
    /// `root` is the planner's state. `arguments` has the two operands of its clause.
    pub unsafe fn with_variable<T>(
        &self,
        arguments: *mut pg_sys::List,
        read: impl FnOnce(&mut pg_sys::VariableStatData, *mut pg_sys::Node) -> T,
    ) -> Option<T> {
        // SAFETY: the structure is filled in before it is read, and released after. `root` and
        // `arguments` are the planner's.
        unsafe {
            let mut variable: pg_sys::VariableStatData = std::mem::zeroed();
            let (mut other, mut on_left) = (std::ptr::null_mut(), false);
            let found = pg_sys::get_restriction_variable(
                self.root,
                arguments,
                self.relation,
                &mut variable,
                &mut other,
                &mut on_left,
            );
            found.then(|| {
                let made = read(&mut variable, other);
                release(&variable);
                made
            })
        }
    }

    /// Calls `read` with the two operands of a join, and whether they are reversed: then the first
    /// one is of the join's inner side.
    ///
    /// # Safety
    /// As [`Clause::with_variable`].
    pub unsafe fn with_variables<T>(
        &self,
        arguments: *mut pg_sys::List,
        join: *mut pg_sys::SpecialJoinInfo,
        read: impl FnOnce(&mut pg_sys::VariableStatData, &mut pg_sys::VariableStatData, bool) -> T,
    ) -> T {
        // SAFETY: the structures are filled in before they are read, and released after. `root`,
        // `arguments` and `join` are the planner's.
        unsafe {
            let [mut left, mut right]: [pg_sys::VariableStatData; 2] = std::mem::zeroed();
            let mut reversed = false;
            let root = self.root;
            pg_sys::get_join_variables(root, arguments, join, &mut left, &mut right, &mut reversed);
            let made = read(&mut left, &mut right, reversed);
            release(&left);
            release(&right);
            made
        }
    }

    unsafe fn estimate(&self, operands: [*mut pg_sys::Node; 2], radius: Radius) -> f64 {
        let mut arguments = PgList::<pg_sys::Node>::new();
        operands.into_iter().for_each(|operand| arguments.push(operand));
        let arguments = arguments.into_pg();
        // SAFETY: operands of the planner's clause.
        unsafe {
            match self.join {
                Some(join) => self.estimate_join(arguments, join, radius),
                None => self.estimate_restriction(arguments, radius),
            }
        }
    }

    /// The share of a relation's rows that a clause keeps, if one of its operands is of the
    /// relation.
    unsafe fn estimate_restriction(&self, arguments: *mut pg_sys::List, radius: Radius) -> f64 {
        // SAFETY: operands of the planner's clause.
        unsafe {
            let found = self.with_variable(arguments, |variable, other| {
                ColumnSample::of(variable).map(|column| (column, other))
            });
            let Some((column, other)) = found.flatten() else { return UNKNOWN };
            let operand = operand_value(&column, other);
            let reach = reach(&column, operand.as_ref(), radius);
            match operand {
                Some(Value { center, .. }) => column.share_within(&center, reach),
                None => column.share_of_pairs(reach),
            }
        }
    }

    /// The share of pairs of two relations' rows that a clause keeps. It is taken to be the share
    /// of near pairs within one of the two columns, the lesser one.
    unsafe fn estimate_join(
        &self,
        arguments: *mut pg_sys::List,
        join: *mut pg_sys::SpecialJoinInfo,
        radius: Radius,
    ) -> f64 {
        // SAFETY: operands of the planner's clause.
        unsafe {
            let (sides, reversed) =
                self.with_variables(arguments, join, |left, right, reversed| {
                    ([ColumnSample::of(left), ColumnSample::of(right)], reversed)
                });
            let radii: Vec<_> = sides.iter().flatten().flat_map(ColumnSample::radii).collect();
            let shares = sides.iter().flatten().map(|side| share_of_pairs(side, radius, &radii));
            let share = shares.reduce(f64::min);
            let semi = is_semi(join);
            let inner_rows = sides[usize::from(!reversed)].as_ref().map_or(1.0, |side| side.rows);
            let matched_by_any = if semi { inner_rows } else { 1.0 };
            share.map_or(UNKNOWN, |share| (share * matched_by_any).clamp(0.0, 1.0))
        }
    }
}

/// Whether a join is a semijoin or an antijoin.
///
/// # Safety
/// `join` is the planner's, or null.
pub unsafe fn is_semi(join: *mut pg_sys::SpecialJoinInfo) -> bool {
    use pg_sys::JoinType::{JOIN_ANTI, JOIN_SEMI};
    // SAFETY: `join` is null or the planner's structure.
    unsafe { !join.is_null() && matches!((*join).jointype, JOIN_SEMI | JOIN_ANTI) }
}

/// The share of pairs of a column's rows within the radius of a join clause. `radii` are those of
/// the balls on the other side, if it has balls.
fn share_of_pairs(column: &ColumnSample, radius: Radius, radii: &[(u32, f64)]) -> f64 {
    let within = |radius| column.share_of_pairs(reach(column, None, radius));
    if matches!(radius, Radius::OfBall) && !column.layout.is_of_balls() && !radii.is_empty() {
        radii.iter().map(|&(radius, share)| share * within(Radius::Known(radius))).sum()
    } else {
        within(radius)
    }
}

/// The distance up to which a column's rows match the other operand.
fn reach(column: &ColumnSample, operand: Option<&Value>, radius: Radius) -> Reach {
    let of_operand = operand.and_then(|operand| operand.radius);
    let allowed = match radius {
        Radius::Known(radius) => Some(radius),
        // Each ball of the column applies its own radius too: [`Reach`].
        Radius::Near if column.layout.is_of_balls() => of_operand,
        Radius::Near => column.layout.width().map(Width::near),
        Radius::OfBall => of_operand,
    };
    let usual = (f64::from(column.bits) * USUAL_RADIUS_PER_BIT) as u32;
    Reach { allowed, usual, mutual: matches!(radius, Radius::Near) }
}

/// The other operand, if it is a constant of a type that fits the column's. Other extensions may
/// declare operators with these estimators, so operands may have any type.
///
/// # Safety
/// `operand` is an expression or null.
unsafe fn operand_value(column: &ColumnSample, operand: *mut pg_sys::Node) -> Option<Value> {
    // SAFETY: `operand` is an expression or null, and the datum is read by the layout of its type.
    unsafe {
        let (datum, type_oid) = constant(operand)?;
        let layout = Objects::get().layout(type_oid)?;
        layout.goes_with(column.layout).then(|| layout.read(datum))
    }
}

/// The datum and the type of a constant that is not NULL.
unsafe fn constant(node: *mut pg_sys::Node) -> Option<(pg_sys::Datum, pg_sys::Oid)> {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let constant = node.cast::<pg_sys::Const>();
        (!(*constant).constisnull).then(|| ((*constant).constvalue, (*constant).consttype))
    }
}

/// The radius, if it is constant or can be estimated as a constant, such as a known parameter.
unsafe fn constant_radius(
    root: *mut pg_sys::PlannerInfo,
    radius: *mut pg_sys::Node,
) -> Option<u32> {
    // SAFETY: `radius` is an expression of the query, and the datum is read as the type that the
    // constant has.
    unsafe {
        let (datum, type_oid) = constant(pg_sys::estimate_expression_value(root, radius))?;
        let radius = match type_oid {
            pg_sys::INT4OID => i64::from(datum.value() as i32),
            pg_sys::INT8OID => datum.value() as i64,
            _ => return None,
        };
        Some(radius.clamp(0, GREATEST_RADIUS) as u32)
    }
}

/// The radius of a ball around any centre that a function of ours makes, if it is constant.
///
/// # Safety
/// `root` is the planner's state, and `ball` an expression of its query.
pub unsafe fn made_radius(root: *mut pg_sys::PlannerInfo, ball: *mut pg_sys::Node) -> Option<u32> {
    // SAFETY: `ball` is an expression of the query that `root` plans.
    unsafe { made_ball(ball).and_then(|(_, radius)| constant_radius(root, radius)) }
}
