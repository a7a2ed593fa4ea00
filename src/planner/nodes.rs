//! Builds the expressions that are put into a query.

use pgrx::{PgList, pg_sys};

use super::measures::Measure;
use crate::catalog::cache;

/// How the form that an index serves enters a query.
pub enum Rewritten {
    /// It is equivalent to the clause and replaces it.
    Instead(*mut pg_sys::Node),
    /// It goes beside the clause, which stays: the clause implies it, or another index serves the
    /// clause itself.
    Beside(*mut pg_sys::Node),
}

/// A constant of type bigint.
pub fn int8_const(value: i64) -> *mut pg_sys::Node {
    // SAFETY: an int8 is passed by value in eight bytes.
    unsafe {
        let datum = pg_sys::Datum::from(value);
        pg_sys::makeConst(pg_sys::INT8OID, -1, pg_sys::InvalidOid, 8, datum, false, true).cast()
    }
}

/// Casts a smallint or an integer to bigint. `None` if there is no such cast.
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
    // SAFETY: the whole node is filled in, and its arguments are bigints.
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
    // SAFETY: a catalogue look-up by name, operand types and schema. The operands have these types.
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

/// A call of `function`, which EXPLAIN shows as a call.
///
/// # Safety
/// The arguments are expressions of the types that the function takes.
pub unsafe fn call(
    function: pg_sys::Oid,
    result: pg_sys::Oid,
    arguments: &[*mut pg_sys::Node],
) -> *mut pg_sys::Node {
    // SAFETY: makeFuncExpr only builds the node, and the arguments have the function's types.
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

/// `x <@ hamming_ball_or_null(y, radius)`, with constant parts folded.
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
    // SAFETY: `x`, `y` and `radius` have the types for which the measure's objects were looked up.
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
    // SAFETY: `a` and `b` have the operator's types, and it returns a boolean.
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
    // SAFETY: make_opclause only builds the node, and `a` and `b` have the operator's types.
    unsafe {
        let none = pg_sys::InvalidOid;
        let call =
            pg_sys::make_opclause(operator, result, false, a.cast(), b.cast(), none, collation);
        pg_sys::set_opfuncid(call.cast());
        call.cast()
    }
}

/// `hamming_within(x, y, radius)`, which an index on either side can serve.
///
/// # Safety
/// `x` and `y` are of the measure's type; `radius` is a bigint.
pub unsafe fn within_call(
    measure: Measure,
    x: *mut pg_sys::Node,
    y: *mut pg_sys::Node,
    radius: *mut pg_sys::Node,
) -> *mut pg_sys::Node {
    // SAFETY: `x`, `y` and `radius` have the types of the measure's `hamming_within`.
    unsafe { call(measure.within, pg_sys::BOOLOID, &[x, y, radius]) }
}

/// `a AND b`
///
/// # Safety
/// Both are expressions of type boolean.
pub unsafe fn both(a: *mut pg_sys::Node, b: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: both arms are expressions of type boolean.
    unsafe {
        let mut arms = PgList::<pg_sys::Node>::new();
        arms.push(a);
        arms.push(b);
        pg_sys::makeBoolExpr(pg_sys::BoolExprType::AND_EXPR, arms.into_pg(), -1).cast()
    }
}
