//! Estimates the selectivity of `<@`, `@>`, `~=` and `hamming_within`.

use std::ptr::NonNull;

use pgrx::pg_sys;

use super::expr::{Expr, Exprs};
use super::measures::{Objects, made_ball};
use super::root::Root;
use super::statistics::{ColumnSample, Reach};
use super::variable::Variable;
use crate::types::Width;
use crate::types::layout::Value;

/// The selectivity without a column of a known type: as rare as an exact match.
const UNKNOWN: f64 = 0.0001;
/// The radius that is assumed for an unknown one, as a share of the width.
const USUAL_RADIUS_PER_BIT: f64 = 6.0 / 64.0;

/// The greatest width in bits. A greater radius is reduced to it.
const GREATEST_RADIUS: i64 = 1024;

/// A clause whose selectivity the planner asks for.
#[derive(Clone, Copy)]
pub struct Clause {
    pub root: Root,
    pub arguments: Exprs,
    /// The range table index of the relation that the clause restricts, or 0.
    relation: i32,
    /// The join of a join clause. The planner's own structure, which exists as long as `root`.
    join: Option<NonNull<pg_sys::SpecialJoinInfo>>,
}

/// What the planner knows of two operands of a clause.
pub enum Operands {
    /// One is of the relation that the clause restricts. The other one is an expression.
    One(Variable, Expr),
    /// The clause joins relations.
    Joined(Joined),
}

/// Two operands of a join.
pub struct Joined {
    pub sides: [Variable; 2],
    /// Whether the first one is of the join's inner side.
    pub is_reversed: bool,
    /// Whether the join is a semijoin or an antijoin.
    pub is_semi: bool,
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
    /// `None` without a state of the planner.
    ///
    /// # Safety
    /// The fields are the planner's, for a clause of its query: the operands, the range table index
    /// of the relation that it restricts or 0, and the join of a join clause or null.
    pub unsafe fn new(
        root: *mut pg_sys::PlannerInfo,
        arguments: *mut pg_sys::List,
        relation: i32,
        join: *mut pg_sys::SpecialJoinInfo,
    ) -> Option<Clause> {
        // SAFETY: the state is the planner's, and the list is of expressions of its query.
        let (root, arguments) = unsafe { (Root::new(root)?, Exprs::new(arguments)) };
        let join = NonNull::new(join);
        Some(Clause { join, ..Clause::restricting(root, arguments, relation) })
    }

    /// A clause that restricts the relation of a range table index.
    pub fn restricting(root: Root, arguments: Exprs, relation: i32) -> Clause {
        Clause { root, arguments, relation, join: None }
    }

    /// The selectivity of `hamming_within(a, b, radius)`.
    pub fn within_selectivity(&self) -> f64 {
        let Some([a, b, radius]) = self.arguments.first() else { return UNKNOWN };
        self.estimate([a, b], self.radius(radius))
    }

    /// The selectivity of `a <@ b` or `a @> b`, where one is a ball. If the clause makes the ball,
    /// its radius may be known although its centre is a parameter or a column.
    pub fn ball_selectivity(&self) -> f64 {
        let Some([a, b]) = self.arguments.exactly() else { return UNKNOWN };
        match (made_ball(a), made_ball(b)) {
            (None, Some([center, radius])) => self.estimate([a, center], self.radius(radius)),
            (Some([center, radius]), None) => self.estimate([center, b], self.radius(radius)),
            _ => self.estimate([a, b], Radius::OfBall),
        }
    }

    /// The selectivity of `a ~= b`.
    pub fn near_selectivity(&self) -> f64 {
        let operands = self.arguments.exactly();
        operands.map_or(UNKNOWN, |operands| self.estimate(operands, Radius::Near))
    }

    /// The radius that the clause's argument gives, if it is constant.
    fn radius(&self, radius: Expr) -> Radius {
        constant_radius(self.root, radius).map_or(Radius::OfBall, Radius::Known)
    }

    /// What the planner knows of two expressions as the operands of the clause. `None` if the
    /// clause restricts a relation, unless exactly one is of it.
    pub fn operands(&self, operands: [Expr; 2]) -> Option<Operands> {
        let (root, arguments) = (self.root.as_ptr(), Exprs::of(&operands).as_ptr());
        let Some(join) = self.join else {
            let (mut other, mut on_left) = (std::ptr::null_mut(), false);
            // SAFETY: expressions of the planner's query. The structure is filled in if the result
            // is true, and released by PostgreSQL if not.
            return unsafe {
                let mut one = std::mem::zeroed();
                let found = pg_sys::get_restriction_variable(
                    root,
                    arguments,
                    self.relation,
                    &mut one,
                    &mut other,
                    &mut on_left,
                );
                let one = found.then(|| Variable::new(one))?;
                Some(Operands::One(one, Expr::new(other)?))
            };
        };
        let (join, mut is_reversed) = (join.as_ptr(), false);
        // SAFETY: expressions and a join of the planner's query. The structures are filled in.
        unsafe {
            let [mut a, mut b]: [pg_sys::VariableStatData; 2] = std::mem::zeroed();
            pg_sys::get_join_variables(root, arguments, join, &mut a, &mut b, &mut is_reversed);
            let sides = [Variable::new(a), Variable::new(b)];
            let is_semi = matches!(
                (*join).jointype,
                pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI
            );
            Some(Operands::Joined(Joined { sides, is_reversed, is_semi }))
        }
    }

    fn estimate(&self, operands: [Expr; 2], radius: Radius) -> f64 {
        match self.operands(operands) {
            Some(Operands::One(variable, other)) => restriction(&variable, other, radius),
            Some(Operands::Joined(joined)) => join(&joined, radius),
            None => UNKNOWN,
        }
    }
}

/// The share of a relation's rows that a clause keeps, if one of its operands is of the relation.
fn restriction(variable: &Variable, other: Expr, radius: Radius) -> f64 {
    let Some(column) = ColumnSample::of(variable) else { return UNKNOWN };
    let operand = operand_value(&column, other);
    let reach = reach(&column, operand.as_ref(), radius);
    match operand {
        Some(Value { center, .. }) => column.share_within(&center, reach),
        None => column.share_of_pairs(reach),
    }
}

/// The share of pairs of two relations' rows that a clause keeps. It is taken to be the share of
/// near pairs within one of the two columns, the lesser one.
fn join(joined: &Joined, radius: Radius) -> f64 {
    let sides = joined.sides.each_ref().map(ColumnSample::of);
    let radii: Vec<_> = sides.iter().flatten().flat_map(ColumnSample::radii).collect();
    let shares = sides.iter().flatten().map(|side| share_of_pairs(side, radius, &radii));
    let share = shares.reduce(f64::min);
    let inner = &sides[usize::from(!joined.is_reversed)];
    let inner_rows = inner.as_ref().map_or(1.0, |side| side.rows);
    let matched_by_any = if joined.is_semi { inner_rows } else { 1.0 };
    share.map_or(UNKNOWN, |share| (share * matched_by_any).clamp(0.0, 1.0))
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
fn operand_value(column: &ColumnSample, operand: Expr) -> Option<Value> {
    let constant = operand.constant()?;
    let layout = Objects::get().layout(constant.type_oid())?;
    // SAFETY: the constant is of a type with this layout.
    layout.goes_with(column.layout).then(|| unsafe { layout.read(constant.datum()) })
}

/// The radius, if it is constant or can be estimated as a constant, such as a known parameter.
fn constant_radius(root: Root, radius: Expr) -> Option<u32> {
    let constant = root.estimated(radius).constant()?;
    let is_integer = matches!(constant.type_oid(), pg_sys::INT4OID | pg_sys::INT8OID);
    let radius = constant.integer().filter(|_| is_integer)?;
    Some(radius.clamp(0, GREATEST_RADIUS) as u32)
}

/// The radius of a ball around any centre that a function of ours makes, if it is constant.
///
/// # Safety
/// `root` is the planner's state, and `ball` an expression of its query.
pub unsafe fn made_radius(root: *mut pg_sys::PlannerInfo, ball: Expr) -> Option<u32> {
    // SAFETY: the planner's state.
    let root = unsafe { Root::new(root) }?;
    let [_, radius] = made_ball(ball)?;
    constant_radius(root, radius)
}
