//! Whether two intervals of a table's key space can hold a pair that the table emits.

use crate::base::key::Key;
use crate::search::probe::Limit;

/// An interval of keys, both ends included.
type Interval<F> = (F, F);

/// Whether some key of `a` and some key of `b` respect the limits on their difference.
///
/// Descends bit by bit. Where one interval covers a whole subtree the answer is yes, because the
/// other's keys are in that subtree too. So at most two parts of each interval are examined on each
/// level.
pub fn can_meet<F: Key>(limits: &[Limit; 3], a: Interval<F>, b: Interval<F>) -> bool {
    below(limits, 0, 0, a, b)
}

fn below<F: Key>(
    limits: &[Limit; 3],
    depth: u32,
    spent: u32,
    a: Interval<F>,
    b: Interval<F>,
) -> bool {
    // Behind the last limit there are no bits.
    if depth >= limits[2].bits || covers(depth, a) || covers(depth, b) {
        return true;
    }
    let max = limits.iter().find(|limit| depth < limit.bits).map_or(0, |limit| limit.max);
    [(false, false), (true, true), (false, true), (true, false)].into_iter().any(|(x, y)| {
        let spent = spent + u32::from(x != y);
        let (Some(a), Some(b)) = (half(depth, x, a), half(depth, y, b)) else {
            return false;
        };
        spent <= max && below(limits, depth + 1, spent, a, b)
    })
}

/// Whether an interval whose keys agree in `depth` bits is all keys with that prefix.
fn covers<F: Key>(depth: u32, (low, high): Interval<F>) -> bool {
    let rest = !F::leading_mask(depth);
    low & rest == F::ZERO && high & rest == rest
}

/// The keys of an interval whose bit number `depth` is `one`.
fn half<F: Key>(depth: u32, one: bool, (low, high): Interval<F>) -> Option<Interval<F>> {
    let bit = F::bit(depth);
    let rest = !F::leading_mask(depth + 1);
    let (low_has, high_has) = (low & bit != F::ZERO, high & bit != F::ZERO);
    match (one, low_has, high_has) {
        (false, true, _) | (true, _, false) => None,
        (false, false, false) | (true, true, true) => Some((low, high)),
        // The interval crosses the middle, where this half ends.
        (false, false, true) => Some((low, (low & F::leading_mask(depth)) | rest)),
        (true, false, true) => Some(((high & F::leading_mask(depth)) | bit, high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of intervals of six-bit keys, whose lower bits are free.
    #[test]
    fn equals_brute_force_on_short_keys() {
        let limits = |r, s, t| {
            [Limit { bits: 3, max: r }, Limit { bits: 5, max: s }, Limit { bits: 64, max: t }]
        };
        let key = |i: u64| i << 58;
        for limits in
            [limits(0, 0, 0), limits(0, 1, 2), limits(1, 1, 1), limits(1, 2, 3), limits(2, 2, 4)]
        {
            for (a, b) in (0..64).flat_map(|a| (a..64).map(move |b| (a, b))).step_by(23) {
                for (c, d) in (0..64).flat_map(|c| (c..64).map(move |d| (c, d))).step_by(31) {
                    let pairs = (a..=b).flat_map(|x| (c..=d).map(move |y| key(x ^ y)));
                    let mut expected = pairs.into_iter().map(|difference| {
                        limits
                            .iter()
                            .all(|l| (difference & u64::leading_mask(l.bits)).count_ones() <= l.max)
                    });
                    let expected = expected.any(|within| within);
                    let end = |i| key(i) | (key(1) - 1);
                    assert_eq!(can_meet(&limits, (key(a), end(b)), (key(c), end(d))), expected);
                }
            }
        }
    }
}
