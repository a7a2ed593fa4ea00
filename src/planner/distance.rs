//! A distance in a query, and the expressions that are made of it.

use pgrx::pg_sys;

use super::expr::Expr;
use super::measures::{Measure, Objects};
use super::nodes::{Bigint, call, operation};
use super::root::Root;

/// `hamming(x, y)`. Invariant: `x` and `y` have the type that the measure compares.
#[derive(Clone, Copy)]
pub struct Distance {
    measure: Measure,
    x: Expr,
    y: Expr,
}

impl Distance {
    /// Recognises a call of `hamming`, or its operator.
    pub fn of(node: Expr) -> Option<Distance> {
        let [x, y] = node.arguments()?.exactly()?;
        Some(Distance { measure: Objects::get().of_hamming(node.executes()?)?, x, y })
    }

    /// The distance and the radius of a call of `hamming_within`.
    pub fn within(node: Expr) -> Option<(Distance, Bigint)> {
        let call = node.call()?;
        let measure = Objects::get().of_within(call.funcid)?;
        let [x, y, radius] = node.arguments()?.first()?;
        // SAFETY: the third argument of the function is a bigint.
        Some((Distance { measure, x, y }, unsafe { Bigint::new(radius) }))
    }

    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    pub fn x(&self) -> Expr {
        self.x
    }

    pub fn y(&self) -> Expr {
        self.y
    }

    /// `hamming(y, x)`
    pub fn mirrored(self) -> Distance {
        Distance { x: self.y, y: self.x, ..self }
    }

    /// `hamming_ball_or_null(y, radius)`, with constant parts folded.
    pub fn ball(&self, root: Root, radius: Bigint) -> Expr {
        let Measure { make_ball, ball, .. } = self.measure;
        // SAFETY: `y` and the radius have the types that the measure's function takes.
        root.folded(unsafe { call(make_ball, ball, &[self.y, radius.expr()]) })
    }

    /// `x <@ hamming_ball_or_null(y, radius)`
    pub fn within_ball(&self, root: Root, radius: Bigint) -> Expr {
        let operands = [self.x, self.ball(root, radius)];
        // SAFETY: `<@` of the measure is of a point and a ball.
        unsafe { operation(self.measure.operator, pg_sys::BOOLOID, operands, pg_sys::InvalidOid) }
    }

    /// `hamming_within(x, y, radius)`, which an index on either side can serve.
    pub fn within_call(&self, radius: Bigint) -> Expr {
        let arguments = [self.x, self.y, radius.expr()];
        // SAFETY: `x`, `y` and the radius have the types of the measure's function.
        unsafe { call(self.measure.within, pg_sys::BOOLOID, &arguments) }
    }

    /// The distance as the operator by which an index returns rows in order.
    pub fn ordered(&self) -> Option<Expr> {
        let (result, none) = (pg_sys::INT4OID, pg_sys::InvalidOid);
        // SAFETY: the operator compares what `hamming` does.
        self.measure.order.map(|order| unsafe { operation(order, result, [self.x, self.y], none) })
    }
}
