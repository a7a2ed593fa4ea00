//! How many rows `<@`, `@>`, `~=` and `hamming_within` keep.

use pgrx::{Internal, PgList, pg_extern, pg_sys};

use super::sample::{Sample, fingerprint_bits, first_element};

/// Without a column to look at: as rare as an exact match.
const UNKNOWN: f64 = 0.0001;
/// A radius that is not known while planning is taken to be this share of the width.
const USUAL_RADIUS_PER_BIT: f64 = 6.0 / 64.0;

/// A condition `near(a, b)` or `near(a, b, radius)`, as an estimator gets it.
pub struct Clause {
    pub root: *mut pg_sys::PlannerInfo,
    pub arguments: *mut pg_sys::List,
    pub relation: i32,
    /// A join clause, with its join if that is known.
    pub join: Option<*mut pg_sys::SpecialJoinInfo>,
    /// Which argument is the radius, past the first two for none.
    pub radius_argument: usize,
}

/// What a constant argument says.
struct Target {
    center: Option<u128>,
    radius: Option<u32>,
}

/// The selectivity of `hamming_within(a, b, radius)`.
///
/// # Safety
/// The clause's parts are the planner's.
pub unsafe fn within_selectivity(clause: &Clause) -> f64 {
    // SAFETY: as this function's.
    unsafe {
        let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
        let radius = arguments
            .get_ptr(clause.radius_argument)
            .map(|node| pg_sys::estimate_expression_value(clause.root, node))
            .and_then(|node| constant(node))
            .map(|(datum, _)| (datum.value() as i64).clamp(0, 128) as u32);
        let mut operands = PgList::<pg_sys::Node>::new();
        for i in 0..2 {
            if let Some(operand) = arguments.get_ptr(i) {
                operands.push(operand);
            }
        }
        let clause = Clause { arguments: operands.into_pg(), ..*clause };
        estimate(&clause, |sample, other| Target {
            center: constant(other).map(|(datum, _)| sample.fingerprint(datum)),
            radius,
        })
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

/// `target` tells what the other side is, once it is known which side is the column.
unsafe fn estimate(clause: &Clause, target: impl Fn(&Sample, *mut pg_sys::Node) -> Target) -> f64 {
    // SAFETY: the planner's own structures, filled in before they are read and released after.
    unsafe {
        let mut variable: pg_sys::VariableStatData = std::mem::zeroed();
        if let Some(join) = clause.join {
            let mut inner: pg_sys::VariableStatData = std::mem::zeroed();
            let mut reversed = false;
            pg_sys::get_join_variables(
                clause.root,
                clause.arguments,
                join,
                &mut variable,
                &mut inner,
                &mut reversed,
            );
            let sides = [Sample::of(&mut variable), Sample::of(&mut inner)];
            let share = sides
                .iter()
                .map(|side| side.share_of_pairs(target(side, std::ptr::null_mut()).usual_radius(side)))
                .fold(1.0, f64::min);
            release(&variable);
            release(&inner);
            let semi = !join.is_null()
                && matches!((*join).jointype, pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI);
            let matched_by_any = if semi { sides[usize::from(!reversed)].rows } else { 1.0 };
            return (share * matched_by_any).clamp(0.0, 1.0);
        }
        let mut other = std::ptr::null_mut();
        let mut on_left = false;
        if !pg_sys::get_restriction_variable(
            clause.root,
            clause.arguments,
            clause.relation,
            &mut variable,
            &mut other,
            &mut on_left,
        ) {
            return UNKNOWN;
        }
        let sample = Sample::of(&mut variable);
        let target = target(&sample, other);
        let radius = target.usual_radius(&sample);
        release(&variable);
        match target.center {
            Some(center) => sample.share_within(center, radius),
            None => sample.share_of_pairs(radius),
        }
    }
}

impl Target {
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

/// The ball that `<@` compares with, if it is a constant.
unsafe fn ball_target(sample: &Sample, other: *mut pg_sys::Node) -> Target {
    // SAFETY: a constant opposite a fingerprint column of `<@` is a ball of its width; the length says so.
    unsafe {
        let unknown = Target { center: None, radius: None };
        let Some((datum, constant_type)) = constant(other) else { return unknown };
        // With `ball_column @> fingerprint` the constant is the fingerprint, which may be no pointer at all.
        let ball_length = if sample.bits == 64 { size_of::<[u64; 2]>() } else { 20 };
        let element = pg_sys::get_element_type(constant_type);
        let single = if sample.of_arrays { element } else { constant_type };
        if sample.of_balls || pg_sys::get_typlen(single) as usize != ball_length {
            return unknown;
        }
        if sample.of_arrays {
            return first_element(datum, |ball| stored_ball(ball, sample.bits)).unwrap_or(unknown);
        }
        stored_ball(datum, sample.bits)
    }
}

/// # Safety
/// `datum` is a ball of that width.
unsafe fn stored_ball(datum: pg_sys::Datum, bits: u32) -> Target {
    let ball = datum.cast_mut_ptr::<u8>();
    // SAFETY: as this function's: the centre, laid out as the fingerprint is, then the radius as an int4.
    unsafe {
        let (center, size) = if bits == 64 {
            (ball.cast::<u64>().read_unaligned() as u128, 8)
        } else {
            (fingerprint_bits(datum, 128), 16)
        };
        Target { center: Some(center), radius: Some(ball.add(size).cast::<u32>().read_unaligned()) }
    }
}

/// The fixed radius of `~=`, and its other side if that is a constant.
unsafe fn near_target(sample: &Sample, other: *mut pg_sys::Node) -> Target {
    use crate::functions::distance::{NEAR_64, NEAR_128};
    // SAFETY: a constant opposite a fingerprint column of `~=` is of the same type.
    let center = unsafe { constant(other).map(|(datum, _)| sample.fingerprint(datum)) };
    Target { center, radius: Some(if sample.bits == 64 { NEAR_64 } else { NEAR_128 }) }
}

/// An estimator's arguments as PostgreSQL passes them.
fn clause(root: Internal, arguments: Internal, relation: i32, join: Option<Internal>) -> Clause {
    let pointer = |internal: Internal| internal.unwrap().map(|datum| datum.cast_mut_ptr::<u8>());
    Clause {
        root: pointer(root).unwrap_or(std::ptr::null_mut()).cast(),
        arguments: pointer(arguments).unwrap_or(std::ptr::null_mut()).cast(),
        relation,
        join: join.map(|join| pointer(join).unwrap_or(std::ptr::null_mut()).cast()),
        radius_argument: usize::MAX,
    }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_within_sel(root: Internal, _operator: pg_sys::Oid, arguments: Internal, relation: i32) -> f64 {
    let clause = clause(root, arguments, relation, None);
    // SAFETY: the planner's arguments.
    unsafe { estimate(&clause, |sample, other| ball_target(sample, other)) }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_within_joinsel(
    root: Internal,
    _operator: pg_sys::Oid,
    arguments: Internal,
    _join_type: i16,
    join: Internal,
) -> f64 {
    let clause = clause(root, arguments, 0, Some(join));
    // SAFETY: the planner's arguments.
    unsafe { estimate(&clause, |sample, other| ball_target(sample, other)) }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_near_sel(root: Internal, _operator: pg_sys::Oid, arguments: Internal, relation: i32) -> f64 {
    let clause = clause(root, arguments, relation, None);
    // SAFETY: the planner's arguments.
    unsafe { estimate(&clause, |sample, other| near_target(sample, other)) }
}

#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn hamming_near_joinsel(
    root: Internal,
    _operator: pg_sys::Oid,
    arguments: Internal,
    _join_type: i16,
    join: Internal,
) -> f64 {
    let clause = clause(root, arguments, 0, Some(join));
    // SAFETY: the planner's arguments.
    unsafe { estimate(&clause, |sample, other| near_target(sample, other)) }
}
