//! Expressions that are put into a query.

use pgrx::{PgList, pg_sys};

use super::measures::Measure;
use crate::catalog::cache;

/// What an index can answer of a clause.
pub enum Rewritten {
    /// All of it: this goes in its place.
    Instead(*mut pg_sys::Node),
    /// A part of it, or all of it by another index: the clause must be kept beside this.
    Beside(*mut pg_sys::Node),
}

/// A bigint.
pub fn int8_const(value: i64) -> *mut pg_sys::Node {
    // SAFETY: an int8 is passed by value in eight bytes.
    unsafe {
        let datum = pg_sys::Datum::from(value);
        pg_sys::makeConst(pg_sys::INT8OID, -1, pg_sys::InvalidOid, 8, datum, false, true).cast()
    }
}

/// A smallint or an integer as a bigint. `None` if there is no such cast.
///
/// # Safety
/// `number` is an expression of an integer type.
pub unsafe fn widened(number: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    let mut function = pg_sys::InvalidOid;
    // SAFETY: catalogue look-ups; the function casts from the expression's type to bigint.
    unsafe {
        let path = pg_sys::find_coercion_pathway(
            pg_sys::INT8OID,
            pg_sys::exprType(number),
            pg_sys::CoercionContext::COERCION_IMPLICIT,
            &mut function,
        );
        let by_function = path == pg_sys::CoercionPathType::COERCION_PATH_FUNC;
        by_function.then(|| call(function, pg_sys::INT8OID, &[number]))
    }
}

/// The greater of two bigints.
///
/// # Safety
/// Both are expressions of type bigint.
pub unsafe fn greatest(a: *mut pg_sys::Node, b: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: the whole node is filled in. Its arguments are bigints.
    unsafe {
        let mut arguments = PgList::<pg_sys::Node>::new();
        arguments.push(a);
        arguments.push(b);
        let mut node = pgrx::PgBox::<pg_sys::MinMaxExpr>::alloc_node(pg_sys::NodeTag::T_MinMaxExpr);
        node.minmaxtype = pg_sys::INT8OID;
        node.op = pg_sys::MinMaxOp::IS_GREATEST;
        node.args = arguments.into_pg();
        node.location = -1;
        node.into_pg().cast()
    }
}

/// `a - b` of two bigints.
///
/// # Safety
/// Both are expressions of type bigint.
pub unsafe fn difference(a: *mut pg_sys::Node, b: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: a catalogue look-up by name, operand types and schema; the operands are of these
    // types.
    unsafe {
        let minus = cache::oid(
            pg_sys::SysCacheIdentifier::OPERNAMENSP,
            pg_sys::Anum_pg_operator_oid,
            &[
                c"-".as_ptr().into(),
                pg_sys::INT8OID.into(),
                pg_sys::INT8OID.into(),
                pg_sys::PG_CATALOG_NAMESPACE.into(),
            ],
        )?;
        Some(operation(minus, pg_sys::INT8OID, [a, b], pg_sys::InvalidOid))
    }
}

/// A call of `function`, displayed as a call.
///
/// # Safety
/// The arguments are expressions of the types that the function takes.
pub unsafe fn call(
    function: pg_sys::Oid,
    result: pg_sys::Oid,
    arguments: &[*mut pg_sys::Node],
) -> *mut pg_sys::Node {
    // SAFETY: as this function's.
    unsafe {
        let mut list = PgList::<pg_sys::Node>::new();
        for &argument in arguments {
            list.push(argument);
        }
        let none = pg_sys::InvalidOid;
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        pg_sys::makeFuncExpr(function, result, list.into_pg(), none, none, form).cast()
    }
}

/// `x <@ hamming_ball_or_null(y, radius)`, folded as far as it is constant.
///
/// # Safety
/// `x` and `y` are of the measure's type; `radius` is a bigint.
pub unsafe fn within_ball(
    root: *mut pg_sys::PlannerInfo,
    measure: Measure,
    x: *mut pg_sys::Node,
    y: *mut pg_sys::Node,
    radius: *mut pg_sys::Node,
) -> *mut pg_sys::Node {
    // SAFETY: as this function's; the catalogue knows the functions by their argument types.
    unsafe {
        let ball = pg_sys::eval_const_expressions(
            root,
            call(measure.make_ball, measure.ball, &[y, radius]),
        );
        operator_clause(measure.operator, x, ball, pg_sys::InvalidOid)
    }
}

/// `a OPERATOR b`, of type boolean.
///
/// # Safety
/// `a` and `b` are of the types that the operator takes.
pub unsafe fn operator_clause(
    operator: pg_sys::Oid,
    a: *mut pg_sys::Node,
    b: *mut pg_sys::Node,
    collation: pg_sys::Oid,
) -> *mut pg_sys::Node {
    // SAFETY: as this function's.
    unsafe { operation(operator, pg_sys::BOOLOID, [a, b], collation) }
}

/// `a OPERATOR b`, of the type that the operator returns.
///
/// # Safety
/// `a` and `b` are of the types that the operator takes.
pub unsafe fn operation(
    operator: pg_sys::Oid,
    result: pg_sys::Oid,
    [a, b]: [*mut pg_sys::Node; 2],
    collation: pg_sys::Oid,
) -> *mut pg_sys::Node {
    // SAFETY: as this function's.
    unsafe {
        let none = pg_sys::InvalidOid;
        let call =
            pg_sys::make_opclause(operator, result, false, a.cast(), b.cast(), none, collation);
        pg_sys::set_opfuncid(call.cast());
        call.cast()
    }
}

/// `hamming_within(x, y, radius)`: what either side's index can serve.
///
/// # Safety
/// `x` and `y` are of the measure's type; `radius` is a bigint.
pub unsafe fn within_call(
    measure: Measure,
    x: *mut pg_sys::Node,
    y: *mut pg_sys::Node,
    radius: *mut pg_sys::Node,
) -> *mut pg_sys::Node {
    // SAFETY: as this function's.
    unsafe { call(measure.within, pg_sys::BOOLOID, &[x, y, radius]) }
}

/// `a AND b`
///
/// # Safety
/// Both are expressions of type boolean.
pub unsafe fn both(a: *mut pg_sys::Node, b: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: as this function's.
    unsafe {
        let mut arms = PgList::<pg_sys::Node>::new();
        arms.push(a);
        arms.push(b);
        pg_sys::makeBoolExpr(pg_sys::BoolExprType::AND_EXPR, arms.into_pg(), -1).cast()
    }
}
