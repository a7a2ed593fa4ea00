//! Rewrites `hamming(fp, x) <= r` for an exclusion constraint's index, which is on
//! `hamming_ball(fp, R)`.
//!
//! Two balls are `~=` if the distance of their centres is at most the lesser radius. So for r up to
//! R, the clause equals `hamming_ball(fp, R) ~= hamming_ball(x, r)`.

use pgrx::pg_sys;

use super::distance::Distance;
use super::expr::{Constant, Expr};
use super::measures::{made_ball, may_execute_all};
use super::nodes::{Bigint, operation};
use super::root::Root;
use super::table::{TableIndex, indexes_of};

/// A ball around the first side of a distance that an index of the query's table is on.
#[derive(Clone, Copy)]
pub struct OwnBall {
    distance: Distance,
    /// The ball, as an expression of the query and of the measure's type.
    expression: Expr,
    /// The function that makes it.
    makes: pg_sys::Oid,
    radius: i64,
}

impl OwnBall {
    /// The largest indexed ball around `x` of a distance.
    pub fn around(root: Root, distance: Distance) -> Option<OwnBall> {
        let center = distance.x().without_domain();
        let entry = root.only_entry(center)?;
        let of_index = |index: TableIndex| {
            let expression = index.expression()?;
            let [own, radius] = made_ball(expression)?;
            let is_its = expression.type_oid() == distance.measure().ball
                && own.without_domain().equals(center);
            let radius = radius.constant().and_then(Constant::integer).filter(|_| is_its)?;
            Some(OwnBall { distance, expression, makes: expression.executes()?, radius })
        };
        indexes_of(entry).filter_map(of_index).max_by_key(|ball| ball.radius)
    }

    /// The clause for a constant radius around `y`, if that is at most the ball's radius and the
    /// role may execute the clause's functions.
    pub fn near(self, root: Root, radius: Bigint) -> Option<Expr> {
        let measure = self.distance.measure();
        let alike = measure.alike?;
        if radius.value()? > self.radius {
            return None;
        }
        // SAFETY: a catalogue look-up in a transaction.
        let compares = unsafe { pg_sys::get_opcode(alike) };
        if !may_execute_all(root, &[measure.hamming, measure.make_ball, self.makes, compares]) {
            return None;
        }
        let operands = [self.expression, self.distance.ball(root, radius)];
        // SAFETY: both operands are balls of the measure.
        Some(unsafe { operation(alike, pg_sys::BOOLOID, operands, pg_sys::InvalidOid) })
    }
}
