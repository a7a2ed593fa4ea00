//! How many rows `<@`, `@>`, `~=` and `hamming_within` keep.

use pgrx::{Internal, PgList, pg_extern, pg_sys};

use super::catalog::{Catalog, Layout, Width, made_ball};
use super::sample::{Sample, fingerprint_bits, first_element};
use crate::functions::distance::{NEAR_64, NEAR_128};

/// Without a column to look at: as rare as an exact match.
const UNKNOWN: f64 = 0.0001;
/// A radius that is not known while planning is taken to be this share of the width.
const USUAL_RADIUS_PER_BIT: f64 = 6.0 / 64.0;

/// Where a condition stands.
pub struct Place {
    pub root: *mut pg_sys::PlannerInfo,
    pub relation: i32,
    /// A join clause, with its join if that is known.
    pub join: Option<*mut pg_sys::SpecialJoinInfo>,
}

/// What the clause itself says of its radius, whatever its operands are.
#[derive(Clone, Copy)]
enum Radius {
    Known(u32),
    /// The radius of `~=`.
    Near,
    /// That of the ball, if one is given.
    OfBall,
}

/// What a constant operand says.
struct Target {
    center: Option<u128>,
    radius: Option<u32>,
}

/// The selectivity of `hamming_within(a, b, radius)`.
///
/// # Safety
/// The arguments are the planner's.
pub unsafe fn within_selectivity(arguments: *mut pg_sys::List, place: &Place) -> f64 {
    // SAFETY: as this function's.
    unsafe {
        let arguments = PgList::<pg_sys::Node>::from_pg(arguments);
        let (Some(a), Some(b), Some(radius)) =
            (arguments.get_ptr(0), arguments.get_ptr(1), arguments.get_ptr(2))
        else {
            return UNKNOWN;
        };
        let radius = constant_radius(place.root, radius).map_or(Radius::OfBall, Radius::Known);
        estimate([a, b], radius, place)
    }
}

/// The selectivity of `a <@ b` or `a @> b`, where one is a ball. One that is made of a centre on
/// the spot may have a radius that is known, though its centre is not: a parameter, or a column.
unsafe fn ball_selectivity(arguments: *mut pg_sys::List, place: &Place) -> f64 {
    // SAFETY: the planner's arguments.
    unsafe {
        let Some([a, b]) = operands(arguments) else { return UNKNOWN };
        let known = |radius| constant_radius(place.root, radius).map_or(Radius::OfBall, Radius::Known);
        match (made_ball(a), made_ball(b)) {
            (None, Some((center, radius))) => estimate([a, center], known(radius), place),
            (Some((center, radius)), None) => estimate([center, b], known(radius), place),
            _ => estimate([a, b], Radius::OfBall, place),
        }
    }
}

/// The selectivity of `a ~= b`.
unsafe fn near_selectivity(arguments: *mut pg_sys::List, place: &Place) -> f64 {
    // SAFETY: the planner's arguments.
    unsafe { operands(arguments).map_or(UNKNOWN, |operands| estimate(operands, Radius::Near, place)) }
}

unsafe fn operands(arguments: *mut pg_sys::List) -> Option<[*mut pg_sys::Node; 2]> {
    // SAFETY: a list of expressions, or null.
    let arguments = unsafe { PgList::<pg_sys::Node>::from_pg(arguments) };
    let pair = [arguments.get_ptr(0)?, arguments.get_ptr(1)?];
    (arguments.len() == 2).then_some(pair)
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
unsafe fn constant_radius(root: *mut pg_sys::PlannerInfo, radius: *mut pg_sys::Node) -> Option<u32> {
    // SAFETY: an expression of the query; the datum is read as the type the constant says.
    unsafe {
        let (datum, type_oid) = constant(pg_sys::estimate_expression_value(root, radius))?;
        let radius = match type_oid {
            pg_sys::INT4OID => i64::from(datum.value() as i32),
            pg_sys::INT8OID => datum.value() as i64,
            _ => return None,
        };
        Some(radius.clamp(0, 128) as u32)
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

unsafe fn estimate(operands: [*mut pg_sys::Node; 2], radius: Radius, place: &Place) -> f64 {
    // SAFETY: the planner's own structures, filled in before they are read and released after.
    unsafe {
        let mut list = PgList::<pg_sys::Node>::new();
        operands.into_iter().for_each(|operand| list.push(operand));
        let arguments = list.into_pg();
        let mut variable: pg_sys::VariableStatData = std::mem::zeroed();
        if let Some(join) = place.join {
            let mut inner: pg_sys::VariableStatData = std::mem::zeroed();
            let mut reversed = false;
            let (left, right) = (&mut variable, &mut inner);
            pg_sys::get_join_variables(place.root, arguments, join, left, right, &mut reversed);
            let sides = [Sample::of(&mut variable), Sample::of(&mut inner)];
            let share = sides
                .iter()
                .flatten()
                .map(|side| {
                    side.share_of_pairs(Target::of(side, std::ptr::null_mut(), radius).usual_radius(side))
                })
                .reduce(f64::min);
            release(&variable);
            release(&inner);
            let semi = !join.is_null()
                && matches!((*join).jointype, pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI);
            let inner_rows = sides[usize::from(!reversed)].as_ref().map_or(1.0, |side| side.rows);
            let matched_by_any = if semi { inner_rows } else { 1.0 };
            return share.map_or(UNKNOWN, |share| (share * matched_by_any).clamp(0.0, 1.0));
        }
        let mut other = std::ptr::null_mut();
        let mut on_left = false;
        let found = pg_sys::get_restriction_variable(
            place.root,
            arguments,
            place.relation,
            &mut variable,
            &mut other,
            &mut on_left,
        );
        if !found {
            return UNKNOWN;
        }
        let sample = Sample::of(&mut variable);
        release(&variable);
        let Some(sample) = sample else { return UNKNOWN };
        let target = Target::of(&sample, other, radius);
        let radius = target.usual_radius(&sample);
        match target.center {
            Some(center) => sample.share_within(center, radius),
            None => sample.share_of_pairs(radius),
        }
    }
}

impl Target {
    /// What the operand opposite a column says. A constant is read only if it is of a type of ours
    /// that fits the column's: operators that others declare with these estimators may have
    /// operands of any type.
    ///
    /// # Safety
    /// `other` is an expression or null.
    unsafe fn of(sample: &Sample, other: *mut pg_sys::Node, radius: Radius) -> Target {
        let known = match radius {
            Radius::Known(radius) => Some(radius),
            Radius::Near if sample.bits == 64 => Some(NEAR_64),
            Radius::Near => Some(NEAR_128),
            Radius::OfBall => None,
        };
        let unknown = Target { center: None, radius: known };
        // SAFETY: the constant's layout is that of its type.
        unsafe {
            let Some((datum, type_oid)) = constant(other) else { return unknown };
            match (sample.layout, Catalog::get().layout(type_oid)) {
                (Layout::Fingerprint(_), layout) if layout == Some(sample.layout) => {
                    Target { center: Some(sample.fingerprint(datum)), ..unknown }
                }
                (Layout::Fingerprint(column), Some(Layout::Ball(width))) if column == width => {
                    Target::of_ball(datum, width).unwrap_or(unknown)
                }
                (Layout::Ball(width), layout) if layout == Some(sample.layout) => {
                    let ball = Target::of_ball(datum, width);
                    Target { center: None, radius: ball.and_then(|ball| ball.radius) }
                }
                _ => unknown,
            }
        }
    }

    /// # Safety
    /// `datum` is a ball, or an array of balls, of that width. An array is taken for its first.
    unsafe fn of_ball(datum: pg_sys::Datum, width: Width) -> Option<Target> {
        // SAFETY: as this function's.
        unsafe {
            match width {
                Width::Lexicons => first_element(datum, |ball| stored_ball(ball, 64)),
                Width::Bits64 | Width::Bits128 => Some(stored_ball(datum, width.bits() as u32)),
            }
        }
    }

    fn usual_radius(&self, sample: &Sample) -> u32 {
        self.radius.unwrap_or((f64::from(sample.bits) * USUAL_RADIUS_PER_BIT) as u32)
    }
}

unsafe fn release(variable: &pg_sys::VariableStatData) {
    // SAFETY: the tuple is released by the function that came with it, once.
    unsafe {
        if let (false, Some(free)) = (variable.statsTuple.is_null(), variable.freefunc) {
            pg_sys::ffi::pg_guard_ffi_boundary(|| free(variable.statsTuple));
        }
    }
}

/// # Safety
/// `datum` is a ball of that width.
unsafe fn stored_ball(datum: pg_sys::Datum, bits: u32) -> Target {
    let ball = datum.cast_mut_ptr::<u8>();
    // SAFETY: as this function's: the centre, laid out as the fingerprint is, then the radius as an
    // int4.
    unsafe {
        let (center, size) = if bits == 64 {
            (ball.cast::<u64>().read_unaligned() as u128, 8)
        } else {
            (fingerprint_bits(datum, 128), 16)
        };
        Target { center: Some(center), radius: Some(ball.add(size).cast::<u32>().read_unaligned()) }
    }
}

/// An estimator's place as PostgreSQL passes it.
fn place(root: Internal, relation: i32, join: Option<Internal>) -> Place {
    Place { root: pointer(root), relation, join: join.map(pointer) }
}

fn pointer<T>(internal: Internal) -> *mut T {
    internal.unwrap().map_or(std::ptr::null_mut(), |datum| datum.cast_mut_ptr::<T>())
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_within_sel(root: Internal, _operator: pg_sys::Oid, arguments: Internal, relation: i32) -> f64 {
    // SAFETY: the planner's arguments.
    unsafe { ball_selectivity(pointer(arguments), &place(root, relation, None)) }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_within_joinsel(
    root: Internal,
    _operator: pg_sys::Oid,
    arguments: Internal,
    _join_type: i16,
    join: Internal,
) -> f64 {
    // SAFETY: the planner's arguments.
    unsafe { ball_selectivity(pointer(arguments), &place(root, 0, Some(join))) }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_near_sel(root: Internal, _operator: pg_sys::Oid, arguments: Internal, relation: i32) -> f64 {
    // SAFETY: the planner's arguments.
    unsafe { near_selectivity(pointer(arguments), &place(root, relation, None)) }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_near_joinsel(
    root: Internal,
    _operator: pg_sys::Oid,
    arguments: Internal,
    _join_type: i16,
    join: Internal,
) -> f64 {
    // SAFETY: the planner's arguments.
    unsafe { near_selectivity(pointer(arguments), &place(root, 0, Some(join))) }
}
