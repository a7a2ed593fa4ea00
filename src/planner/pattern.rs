//! Recognises `hamming(x, y) <= k` and its other forms.

use pgrx::{PgList, pg_sys};

use super::measures::{Measure, Objects};
use super::nodes::{difference, greatest, int8_const, widened};

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

/// The two arguments of an operator or a function call, with the function that it executes.
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

/// The measure and the two arguments of a distance: a call of `hamming`, or its operator.
///
/// # Safety
/// The node is an expression or null.
pub unsafe fn distance_of(
    node: *mut pg_sys::Node,
) -> Option<(Measure, *mut pg_sys::Node, *mut pg_sys::Node)> {
    // SAFETY: `node` is an expression or null, as `call_of_two` requires.
    unsafe {
        let (function, x, y) = call_of_two(node)?;
        Some((Objects::get().of_hamming(function)?, x, y))
    }
}

impl Pattern {
    /// Recognises a clause, unless it has volatile operands.
    ///
    /// # Safety
    /// `clause` is an expression tree or null.
    pub unsafe fn of(clause: *mut pg_sys::Node) -> Option<Pattern> {
        // SAFETY: `clause` is an expression or null, and is cast only to the type its tag says.
        unsafe {
            if clause.is_null() || !pgrx::is_a(clause, pg_sys::NodeTag::T_OpExpr) {
                return None;
            }
            let (_, left, right) = call_of_two(clause)?;
            let operator = (*clause.cast::<pg_sys::OpExpr>()).opno;
            let strategy =
                pg_sys::get_op_opfamily_strategy(operator, pg_sys::INTEGER_BTREE_FAM_OID);
            let (distance, limit, strategy) = match distance_of(left) {
                Some(distance) => (distance, right, strategy),
                // B-tree strategies are numbered from 1 (<) to 5 (>), so mirrored s becomes 6 - s.
                None => (distance_of(right)?, left, 6 - strategy),
            };
            let comparison = match strategy as u32 {
                pg_sys::BTLessStrategyNumber => Comparison::Less,
                pg_sys::BTLessEqualStrategyNumber => Comparison::AtMost,
                pg_sys::BTEqualStrategyNumber => Comparison::Equal,
                _ => return None,
            };
            let (measure, x, y) = distance;
            let stable =
                [x, y, limit].into_iter().all(|node| !pg_sys::contain_volatile_functions(node));
            stable.then_some(Pattern { measure, x, y, limit, comparison })
        }
    }

    /// The greatest distance that satisfies the clause, as a bigint expression. `None` if the limit
    /// is a constant with which the clause holds for every pair or for none.
    pub unsafe fn radius(&self) -> Option<*mut pg_sys::Node> {
        // SAFETY: the limit has an integer type, since an operator of the integer B-tree family
        // compares it with an integer.
        unsafe {
            let one_less = i64::from(self.comparison == Comparison::Less);
            if pgrx::is_a(self.limit, pg_sys::NodeTag::T_Const) {
                let value = integer_value(self.limit.cast())?.checked_sub(one_less)?;
                return (0..i64::from(self.measure.layout.most_bits()))
                    .contains(&value)
                    .then(|| int8_const(value));
            }
            let limit = match pg_sys::exprType(self.limit) {
                pg_sys::INT8OID if one_less == 0 => return Some(self.limit),
                // GREATEST(limit, 0) - 1 cannot overflow. It is -1, which no distance satisfies,
                // for a limit below 0 and for NULL, which GREATEST ignores.
                pg_sys::INT8OID => greatest(self.limit, int8_const(0)),
                pg_sys::INT2OID | pg_sys::INT4OID => widened(self.limit)?,
                _ => return None,
            };
            if one_less == 0 { Some(limit) } else { difference(limit, int8_const(1)) }
        }
    }
}

/// The value of a constant of an integer type. `None` for NULL, and for another type.
///
/// # Safety
/// `constant` is a Const.
pub unsafe fn integer_value(constant: *mut pg_sys::Const) -> Option<i64> {
    // SAFETY: `constant` is a Const, and its datum is read as the type that it has.
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
