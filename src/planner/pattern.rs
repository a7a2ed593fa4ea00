//! Recognises `hamming(x, y) <= k` and its other forms.

use pgrx::pg_sys;

use super::distance::Distance;
use super::expr::Expr;
use super::nodes::Bigint;

/// How the distance is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Less,
    AtMost,
    Equal,
}

/// A clause `hamming(x, y) OP limit` (or `x <~> y OP limit`, or mirrored).
pub struct Pattern {
    pub distance: Distance,
    limit: Expr,
    pub comparison: Comparison,
}

impl Pattern {
    /// Recognises a clause, unless it has volatile operands.
    pub fn of(clause: Expr) -> Option<Pattern> {
        if clause.tag() != pg_sys::NodeTag::T_OpExpr {
            return None;
        }
        let [left, right] = clause.arguments()?.exactly()?;
        let (operator, family) = (clause.operator()?, pg_sys::INTEGER_BTREE_FAM_OID);
        // SAFETY: a catalogue look-up in a transaction.
        let strategy = unsafe { pg_sys::get_op_opfamily_strategy(operator, family) };
        let (distance, limit, strategy) = match Distance::of(left) {
            Some(distance) => (distance, right, strategy),
            // B-tree strategies are numbered from 1 (<) to 5 (>), so mirrored s becomes 6 - s.
            None => (Distance::of(right)?, left, 6 - strategy),
        };
        let comparison = match strategy as u32 {
            pg_sys::BTLessStrategyNumber => Comparison::Less,
            pg_sys::BTLessEqualStrategyNumber => Comparison::AtMost,
            pg_sys::BTEqualStrategyNumber => Comparison::Equal,
            _ => return None,
        };
        let is_stable = ![distance.x(), distance.y(), limit].into_iter().any(Expr::is_volatile);
        is_stable.then_some(Pattern { distance, limit, comparison })
    }

    /// The greatest distance that satisfies the clause. `None` if the limit is a constant with
    /// which the clause holds for every pair or for none.
    pub fn radius(&self) -> Option<Bigint> {
        let is_less = self.comparison == Comparison::Less;
        if self.limit.is_constant() {
            let value = self.limit.constant()?.integer()?.checked_sub(i64::from(is_less))?;
            let most = i64::from(self.distance.measure().layout.most_bits());
            return (0..most).contains(&value).then(|| Bigint::constant(value));
        }
        let limit = Bigint::of_integer(self.limit)?;
        if !is_less {
            return Some(limit);
        }
        // GREATEST(limit, 0) - 1 cannot overflow. It is -1, which no distance satisfies, for a
        // limit below 0 and for NULL, which GREATEST ignores.
        let is_wide = self.limit.type_oid() == pg_sys::INT8OID;
        let limit = if is_wide { limit.greatest(Bigint::constant(0)) } else { limit };
        limit.minus(Bigint::constant(1))
    }
}
