//! Builds the expressions that are put into a query.

use pgrx::pg_sys;

use super::expr::{Expr, Exprs};
use crate::catalog::cache;

/// How the form that an index serves enters a query.
pub enum Rewritten {
    /// It is equivalent to the clause and replaces it.
    Instead(Expr),
    /// It goes beside the clause, which stays: the clause implies it, or another index serves the
    /// clause itself.
    Beside(Expr),
}

/// An expression of type bigint.
#[derive(Clone, Copy)]
pub struct Bigint(Expr);

impl Bigint {
    pub fn constant(value: i64) -> Bigint {
        let datum = pg_sys::Datum::from(value);
        let none = pg_sys::InvalidOid;
        // SAFETY: an int8 is passed by value in eight bytes.
        unsafe {
            Bigint(Expr::made(pg_sys::makeConst(pg_sys::INT8OID, -1, none, 8, datum, false, true)))
        }
    }

    /// # Safety
    /// The expression is of type bigint.
    pub unsafe fn new(number: Expr) -> Bigint {
        Bigint(number)
    }

    /// An integer, cast to bigint if it is narrower. `None` for another type, and if there is no
    /// such cast.
    pub fn of_integer(number: Expr) -> Option<Bigint> {
        match number.type_oid() {
            pg_sys::INT8OID => Some(Bigint(number)),
            narrower @ (pg_sys::INT2OID | pg_sys::INT4OID) => {
                let implicit = pg_sys::CoercionContext::COERCION_IMPLICIT;
                let mut cast = pg_sys::InvalidOid;
                // SAFETY: a catalogue look-up; the function casts the number's type to bigint.
                unsafe {
                    let result = pg_sys::INT8OID;
                    let path = pg_sys::find_coercion_pathway(result, narrower, implicit, &mut cast);
                    let by_function = path == pg_sys::CoercionPathType::COERCION_PATH_FUNC;
                    by_function.then(|| Bigint(call(cast, result, &[number])))
                }
            }
            _ => None,
        }
    }

    pub fn expr(self) -> Expr {
        self.0
    }

    /// The value of a constant that is not NULL.
    pub fn value(self) -> Option<i64> {
        self.0.constant()?.integer()
    }

    /// The greater of two.
    pub fn greatest(self, other: Bigint) -> Bigint {
        let tag = pg_sys::NodeTag::T_MinMaxExpr;
        // SAFETY: the whole node is filled in, and its arguments are bigints.
        unsafe {
            let mut node = pgrx::PgBox::<pg_sys::MinMaxExpr>::alloc_node(tag);
            node.minmaxtype = pg_sys::INT8OID;
            node.op = pg_sys::MinMaxOp::IS_GREATEST;
            node.args = Exprs::of(&[self.0, other.0]).as_ptr();
            node.location = -1;
            Bigint(Expr::made(node.into_pg()))
        }
    }

    /// `self - other`
    pub fn minus(self, other: Bigint) -> Option<Bigint> {
        let int8 = pg_sys::INT8OID;
        let (minus, schema) = (c"-".as_ptr().into(), pg_sys::PG_CATALOG_NAMESPACE.into());
        let keys = [minus, int8.into(), int8.into(), schema];
        let operators = pg_sys::SysCacheIdentifier::OPERNAMENSP;
        // SAFETY: a catalogue look-up by name, operand types and schema. The operands are bigints.
        unsafe {
            let minus = cache::oid(operators, pg_sys::Anum_pg_operator_oid, &keys)?;
            Some(Bigint(operation(minus, int8, [self.0, other.0], pg_sys::InvalidOid)))
        }
    }
}

/// A call of `function`, which EXPLAIN shows as a call.
///
/// # Safety
/// The function takes arguments of these types, and returns `result`.
pub unsafe fn call(function: pg_sys::Oid, result: pg_sys::Oid, arguments: &[Expr]) -> Expr {
    let (none, arguments) = (pg_sys::InvalidOid, Exprs::of(arguments).as_ptr());
    let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
    // SAFETY: makeFuncExpr only builds the node, which is as the function requires.
    unsafe { Expr::made(pg_sys::makeFuncExpr(function, result, arguments, none, none, form)) }
}

/// `a OPERATOR b`, of the type that the operator returns.
///
/// # Safety
/// The operator takes operands of these types, and returns `result`.
pub unsafe fn operation(
    operator: pg_sys::Oid,
    result: pg_sys::Oid,
    [a, b]: [Expr; 2],
    collation: pg_sys::Oid,
) -> Expr {
    let (a, b, none) = (a.as_ptr().cast(), b.as_ptr().cast(), pg_sys::InvalidOid);
    // SAFETY: make_opclause only builds the node, which is as the operator requires.
    unsafe {
        let made = pg_sys::make_opclause(operator, result, false, a, b, none, collation);
        pg_sys::set_opfuncid(made.cast());
        Expr::made(made)
    }
}

/// `a AND b`
///
/// # Safety
/// Both are expressions of type boolean.
pub unsafe fn both(a: Expr, b: Expr) -> Expr {
    let arms = Exprs::of(&[a, b]).as_ptr();
    // SAFETY: both arms are booleans.
    unsafe { Expr::made(pg_sys::makeBoolExpr(pg_sys::BoolExprType::AND_EXPR, arms, -1)) }
}
