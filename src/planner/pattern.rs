//! `hamming(x, y) <= k` and its other forms, recognised and rebuilt.

use pgrx::{PgList, pg_sys};

use super::catalog::{Distance, Measure};

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

/// catalog/pg_opfamily.dat: the B-tree family of int2, int4 and int8.
const INTEGER_BTREE_FAMILY: u32 = 1976;
/// catalog/pg_proc.dat: int8(int4), int8(int2), int8mi.
const INT8_FROM_INT4: u32 = 481;
const INT8_FROM_INT2: u32 = 754;
const INT8_MINUS: u32 = 463;

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
        let measure = Measure::from_function(function)?;
        (measure.distance == Distance::Hamming).then_some((measure, x, y))
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
            let strategy = pg_sys::get_op_opfamily_strategy(operator, INTEGER_BTREE_FAMILY.into());
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
    /// clause holds for every pair or for none, and when the radius could overflow.
    pub unsafe fn radius(&self) -> Option<*mut pg_sys::Node> {
        // SAFETY: the limit is an expression of an integer type, for it is compared with an integer.
        unsafe {
            let one_less = i64::from(self.comparison == Comparison::Less);
            if pgrx::is_a(self.limit, pg_sys::NodeTag::T_Const) {
                let value = integer_value(self.limit.cast())?.checked_sub(one_less)?;
                return (0..self.measure.width.bits()).contains(&value).then(|| int8_const(value));
            }
            let limit = match pg_sys::exprType(self.limit) {
                pg_sys::INT8OID if one_less == 0 => return Some(self.limit),
                pg_sys::INT4OID => int8_call(INT8_FROM_INT4, &[self.limit]),
                pg_sys::INT2OID => int8_call(INT8_FROM_INT2, &[self.limit]),
                _ => return None,
            };
            Some(if one_less == 0 { limit } else { int8_call(INT8_MINUS, &[limit, int8_const(1)]) })
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

unsafe fn int8_call(function: u32, arguments: &[*mut pg_sys::Node]) -> *mut pg_sys::Node {
    // SAFETY: the caller's arguments are of the types the function takes.
    unsafe { call(function.into(), pg_sys::INT8OID, arguments) }
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
/// `operator` is `<@` for the type of `x` and balls of the measure's width; `radius` is a bigint.
pub unsafe fn within_ball(
    root: *mut pg_sys::PlannerInfo,
    measure: Measure,
    operator: pg_sys::Oid,
    x: *mut pg_sys::Node,
    y: *mut pg_sys::Node,
    radius: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: as this function's; the function's argument types are those of y and radius.
    unsafe {
        let ball = measure.ball_type()?;
        let arguments = [pg_sys::exprType(y), pg_sys::INT8OID];
        let make_ball = measure.function(c"hamming_ball_or_null", &arguments)?;
        let ball = pg_sys::eval_const_expressions(root, call(make_ball, ball, &[y, radius]));
        let none = pg_sys::InvalidOid;
        Some(
            pg_sys::make_opclause(operator, pg_sys::BOOLOID, false, x.cast(), ball.cast(), none, none).cast(),
        )
    }
}

/// `hamming_within(x, y, radius)`: what either side's index can serve.
///
/// # Safety
/// `radius` is a bigint expression.
pub unsafe fn within_call(
    measure: Measure,
    x: *mut pg_sys::Node,
    y: *mut pg_sys::Node,
    radius: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: as this function's.
    unsafe {
        let arguments = [pg_sys::exprType(x), pg_sys::exprType(y), pg_sys::INT8OID];
        let within = measure.function(c"hamming_within", &arguments)?;
        Some(call(within, pg_sys::BOOLOID, &[x, y, radius]))
    }
}
