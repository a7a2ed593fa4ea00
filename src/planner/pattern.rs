//! `hamming(x, y) <= k` and its other forms, recognised and rebuilt.

use pgrx::{PgList, pg_sys};

use super::catalog::{Catalog, Measure, valid};

/// How the distance is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Less,
    AtMost,
    Equal,
}

/// A clause `hamming(x, y) OP limit` (or `x <~> y OP limit`, or mirrored).
pub struct Pattern {
    pub measure: Measure,
    pub x: *mut pg_sys::Node,
    pub y: *mut pg_sys::Node,
    limit: *mut pg_sys::Node,
    pub comparison: Comparison,
}

/// The two arguments of an operator or function call, with the function behind it.
unsafe fn call_of_two(
    node: *mut pg_sys::Node,
) -> Option<(pg_sys::Oid, *mut pg_sys::Node, *mut pg_sys::Node)> {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        if node.is_null() {
            return None;
        }
        let (function, arguments) = match (*node).type_ {
            pg_sys::NodeTag::T_FuncExpr => {
                let call = node.cast::<pg_sys::FuncExpr>();
                ((*call).funcid, (*call).args)
            }
            pg_sys::NodeTag::T_OpExpr => {
                let call = node.cast::<pg_sys::OpExpr>();
                pg_sys::set_opfuncid(call);
                ((*call).opfuncid, (*call).args)
            }
            _ => return None,
        };
        let arguments = PgList::<pg_sys::Node>::from_pg(arguments);
        if arguments.len() != 2 {
            return None;
        }
        Some((function, arguments.get_ptr(0)?, arguments.get_ptr(1)?))
    }
}

unsafe fn distance_of(node: *mut pg_sys::Node) -> Option<(Measure, *mut pg_sys::Node, *mut pg_sys::Node)> {
    // SAFETY: as call_of_two's.
    unsafe {
        let (function, x, y) = call_of_two(node)?;
        Some((Catalog::get().of_hamming(function)?, x, y))
    }
}

impl Pattern {
    /// Recognises a clause; volatile operands are none.
    ///
    /// # Safety
    /// `clause` is an expression tree or null.
    pub unsafe fn of(clause: *mut pg_sys::Node) -> Option<Pattern> {
        // SAFETY: as this function's.
        unsafe {
            if clause.is_null() || !pgrx::is_a(clause, pg_sys::NodeTag::T_OpExpr) {
                return None;
            }
            let (_, left, right) = call_of_two(clause)?;
            let operator = (*clause.cast::<pg_sys::OpExpr>()).opno;
            let strategy = pg_sys::get_op_opfamily_strategy(operator, pg_sys::INTEGER_BTREE_FAM_OID);
            let (distance, limit, strategy) = match distance_of(left) {
                Some(distance) => (distance, right, strategy),
                None => (distance_of(right)?, left, 6 - strategy),
            };
            let comparison = match strategy as u32 {
                pg_sys::BTLessStrategyNumber => Comparison::Less,
                pg_sys::BTLessEqualStrategyNumber => Comparison::AtMost,
                pg_sys::BTEqualStrategyNumber => Comparison::Equal,
                _ => return None,
            };
            let (measure, x, y) = distance;
            let stable = [x, y, limit].into_iter().all(|node| !pg_sys::contain_volatile_functions(node));
            stable.then_some(Pattern { measure, x, y, limit, comparison })
        }
    }

    /// The greatest distance that satisfies the clause, as a bigint expression. `None` when the
    /// clause holds for every pair or for none.
    pub unsafe fn radius(&self) -> Option<*mut pg_sys::Node> {
        // SAFETY: the limit is an expression of an integer type, for it is compared with an
        // integer.
        unsafe {
            let one_less = i64::from(self.comparison == Comparison::Less);
            if pgrx::is_a(self.limit, pg_sys::NodeTag::T_Const) {
                let value = integer_value(self.limit.cast())?.checked_sub(one_less)?;
                return (0..self.measure.width.bits()).contains(&value).then(|| int8_const(value));
            }
            let limit = match pg_sys::exprType(self.limit) {
                pg_sys::INT8OID if one_less == 0 => return Some(self.limit),
                // One less than the least bigint is none; what is below 0 allows no distance, nor does
                // NULL, which GREATEST passes over.
                pg_sys::INT8OID => greatest(self.limit, int8_const(0)),
                pg_sys::INT2OID | pg_sys::INT4OID => widened(self.limit)?,
                _ => return None,
            };
            if one_less == 0 { Some(limit) } else { difference(limit, int8_const(1)) }
        }
    }
}

unsafe fn integer_value(constant: *mut pg_sys::Const) -> Option<i64> {
    // SAFETY: the datum is read as the type the node says.
    unsafe {
        let datum = (*constant).constvalue;
        match (*constant).consttype {
            _ if (*constant).constisnull => None,
            pg_sys::INT2OID => Some(i64::from(datum.value() as i16)),
            pg_sys::INT4OID => Some(i64::from(datum.value() as i32)),
            pg_sys::INT8OID => Some(datum.value() as i64),
            _ => None,
        }
    }
}

fn int8_const(value: i64) -> *mut pg_sys::Node {
    // SAFETY: an int8 is passed by value in eight bytes.
    unsafe {
        let datum = pg_sys::Datum::from(value);
        pg_sys::makeConst(pg_sys::INT8OID, -1, pg_sys::InvalidOid, 8, datum, false, true).cast()
    }
}

/// A smallint or an integer as a bigint.
unsafe fn widened(number: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
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
unsafe fn greatest(a: *mut pg_sys::Node, b: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: the node is filled in whole; its arguments are bigints.
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
unsafe fn difference(a: *mut pg_sys::Node, b: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: a catalogue look-up by name, operand types and schema; the operands are of these
    // types.
    unsafe {
        let minus = valid(pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::OPERNAMENSP as i32,
            pg_sys::Anum_pg_operator_oid as pg_sys::AttrNumber,
            pg_sys::Datum::from(c"-".as_ptr()),
            pg_sys::Datum::from(pg_sys::INT8OID),
            pg_sys::Datum::from(pg_sys::INT8OID),
            pg_sys::Datum::from(pg_sys::PG_CATALOG_NAMESPACE),
        ))?;
        let none = pg_sys::InvalidOid;
        let clause = pg_sys::make_opclause(minus, pg_sys::INT8OID, false, a.cast(), b.cast(), none, none);
        pg_sys::set_opfuncid(clause.cast());
        Some(clause.cast())
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
        let ball = pg_sys::eval_const_expressions(root, call(measure.make_ball, measure.ball, &[y, radius]));
        let (operator, none) = (measure.operator, pg_sys::InvalidOid);
        let clause =
            pg_sys::make_opclause(operator, pg_sys::BOOLOID, false, x.cast(), ball.cast(), none, none);
        pg_sys::set_opfuncid(clause.cast());
        clause.cast()
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
