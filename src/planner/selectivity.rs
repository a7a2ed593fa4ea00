//! How many rows `<@`, `@>`, `~=` and `hamming_within` keep.

use pgrx::{PgList, pg_sys};

use super::measures::{Objects, made_ball};
use super::statistics::{ColumnSample, Reach, release};
use crate::types::Width;
use crate::types::layout::Value;

/// Without a column to look at: as rare as an exact match.
const UNKNOWN: f64 = 0.0001;
/// A radius that is not known while planning is taken to be this share of the width.
const USUAL_RADIUS_PER_BIT: f64 = 6.0 / 64.0;

/// The greatest width. A radius beyond a column's own width is as good as that.
const GREATEST_RADIUS: i64 = 1024;

/// A clause whose selectivity the planner asks for.
pub struct Clause {
    pub root: *mut pg_sys::PlannerInfo,
    pub arguments: *mut pg_sys::List,
    /// The relation that the clause restricts, as the planner numbers it.
    pub relation: i32,
    /// A join clause, with its join if that is known.
    pub join: Option<*mut pg_sys::SpecialJoinInfo>,
}

/// What the clause itself says of its radius, whatever its operands are.
#[derive(Clone, Copy)]
enum Radius {
    Known(u32),
    /// The radius of `~=`. For balls it is the lesser of both.
    Near,
    /// That of the ball.
    OfBall,
}

impl Clause {
    /// The selectivity of `hamming_within(a, b, radius)`.
    ///
    /// # Safety
    /// The clause is the planner's.
    pub unsafe fn within_selectivity(&self) -> f64 {
        // SAFETY: as this function's.
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

    /// The selectivity of `a <@ b` or `a @> b`, where one is a ball. If the ball is made in the
    /// clause, its radius may be known although its centre is not, which may be a parameter or a
    /// column.
    ///
    /// # Safety
    /// The clause is the planner's.
    pub unsafe fn ball_selectivity(&self) -> f64 {
        // SAFETY: as this function's.
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
    /// The clause is the planner's.
    pub unsafe fn near_selectivity(&self) -> f64 {
        // SAFETY: as this function's.
        unsafe { self.operands().map_or(UNKNOWN, |operands| self.estimate(operands, Radius::Near)) }
    }

    unsafe fn operands(&self) -> Option<[*mut pg_sys::Node; 2]> {
        // SAFETY: a list of expressions, or null.
        let arguments = unsafe { PgList::<pg_sys::Node>::from_pg(self.arguments) };
        let pair = [arguments.get_ptr(0)?, arguments.get_ptr(1)?];
        (arguments.len() == 2).then_some(pair)
    }

    /// A radius that the clause gives.
    unsafe fn radius(&self, radius: *mut pg_sys::Node) -> Radius {
        // SAFETY: an expression of the query.
        unsafe { constant_radius(self.root, radius).map_or(Radius::OfBall, Radius::Known) }
    }

    /// What `read` makes of the operand that is of the clause's relation, and of the other one.
    /// `None` if there is no such operand.
    ///
    /// # Safety
    /// The clause is the planner's, and so are its arguments, of which there are two.
    pub unsafe fn with_variable<T>(
        &self,
        arguments: *mut pg_sys::List,
        read: impl FnOnce(&mut pg_sys::VariableStatData, *mut pg_sys::Node) -> T,
    ) -> Option<T> {
        // SAFETY: the planner's own structure, filled in before it is read and released after.
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

    /// What `read` makes of the operands of a join, of which the first one is of its inner side if
    /// they are reversed.
    ///
    /// # Safety
    /// As [`Clause::with_variable`].
    pub unsafe fn with_variables<T>(
        &self,
        arguments: *mut pg_sys::List,
        join: *mut pg_sys::SpecialJoinInfo,
        read: impl FnOnce(&mut pg_sys::VariableStatData, &mut pg_sys::VariableStatData, bool) -> T,
    ) -> T {
        // SAFETY: the planner's own structures, filled in before they are read and released after.
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

    /// The share of a relation's rows that a clause with one operand of it keeps.
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

    /// The share of the pairs of two relations' rows that a clause with an operand of each keeps.
    /// It is the share of near pairs within one of the columns, the lesser of the two.
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

/// Whether a join asks only whether there is a row.
///
/// # Safety
/// The planner's, or null.
pub unsafe fn is_semi(join: *mut pg_sys::SpecialJoinInfo) -> bool {
    use pg_sys::JoinType::{JOIN_ANTI, JOIN_SEMI};
    // SAFETY: as this function's.
    unsafe { !join.is_null() && matches!((*join).jointype, JOIN_SEMI | JOIN_ANTI) }
}

/// The share of pairs of a column's rows that are as near as a join asks. `radii` are those of the
/// balls on the other side, if there are some.
fn share_of_pairs(column: &ColumnSample, radius: Radius, radii: &[(u32, f64)]) -> f64 {
    let within = |radius| column.share_of_pairs(reach(column, None, radius));
    if matches!(radius, Radius::OfBall) && !column.layout.is_of_balls() && !radii.is_empty() {
        radii.iter().map(|&(radius, share)| share * within(Radius::Known(radius))).sum()
    } else {
        within(radius)
    }
}

/// How near a column's rows have to be to the other operand.
fn reach(column: &ColumnSample, operand: Option<&Value>, radius: Radius) -> Reach {
    let of_operand = operand.and_then(|operand| operand.radius);
    let allowed = match radius {
        Radius::Known(radius) => Some(radius),
        // Balls say themselves what is near.
        Radius::Near if column.layout.is_of_balls() => of_operand,
        Radius::Near => column.layout.width().map(Width::near),
        Radius::OfBall => of_operand,
    };
    let usual = (f64::from(column.bits) * USUAL_RADIUS_PER_BIT) as u32;
    Reach { allowed, usual, mutual: matches!(radius, Radius::Near) }
}

/// The other operand, if it is constant. It is read only if it is of a type of ours that fits the
/// column's. Operators that others declare with these estimators may have operands of any type.
///
/// # Safety
/// `operand` is an expression or null.
unsafe fn operand_value(column: &ColumnSample, operand: *mut pg_sys::Node) -> Option<Value> {
    // SAFETY: as this function's; the constant's layout is that of its type.
    unsafe {
        let (datum, type_oid) = constant(operand)?;
        let layout = Objects::get().layout(type_oid)?;
        layout.goes_with(column.layout).then(|| layout.read(datum))
    }
}

/// The datum and type of a constant that is not NULL.
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

/// A radius that is constant, or as good as.
unsafe fn constant_radius(
    root: *mut pg_sys::PlannerInfo,
    radius: *mut pg_sys::Node,
) -> Option<u32> {
    // SAFETY: an expression of the query; the datum is read as the type the constant says.
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

/// The radius of a ball that a function of ours makes, if that is constant, of whatever centre.
///
/// # Safety
/// `root` is the planner's, `ball` an expression of its query.
pub unsafe fn made_radius(root: *mut pg_sys::PlannerInfo, ball: *mut pg_sys::Node) -> Option<u32> {
    // SAFETY: as this function's.
    unsafe { made_ball(ball).and_then(|(_, radius)| constant_radius(root, radius)) }
}
