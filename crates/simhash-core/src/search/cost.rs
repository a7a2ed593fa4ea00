//! How many leaves a plan touches, under the model of uniformly distributed keys.
//!
//! A table of L leaves is log2(L) bits deep: a leaf is a prefix of that length. A probe touches the
//! prefixes that respect its limits. Between two whole depths the estimate is interpolated.

use super::layout::BlockLayout;
use super::plan::Plan;
use super::probe::Probe;
use crate::base::key::Key;

/// The cost of a leaf that a probe visits, where a leaf of a sweep costs 1. A sweep reads adjacent
/// leaves of one table. Wider fingerprints have more tables, and wider entries.
fn probed_leaf<F: Key>() -> f64 {
    1.0 + f64::from(F::BITS) / 256.0
}

/// The expected number of leaves that `plan` touches when every table has `leaves` leaves.
pub fn expected_leaves<F: Key>(plan: &Plan, leaves: f64) -> f64 {
    (0..plan.layout().blocks()).map(|table| expected_in_table::<F>(plan, table, leaves)).sum()
}

/// The plan for `distance` that is expected to cost least when every table has `leaves` leaves.
pub fn cheapest<F: Key>(layout: BlockLayout, distance: u32, leaves: f64) -> Plan {
    let all: Vec<u32> = (0..layout.blocks()).collect();
    cheapest_over::<F>(layout, distance, leaves, &all)
}

/// As [`cheapest`], but probing only some of the tables.
pub fn cheapest_over<F: Key>(
    layout: BlockLayout,
    distance: u32,
    leaves: f64,
    tables: &[u32],
) -> Plan {
    cheapest_over_parts::<F>(layout, distance, &[Part { count: 1.0, leaves }], tables)
}

/// Parts of a table with equally many leaves.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The number of such parts.
    pub count: f64,
    /// The number of leaves of each.
    pub leaves: f64,
}

/// The expected number of leaves that `plan` touches when every part is searched by itself.
pub fn expected_leaves_of_parts<F: Key>(plan: &Plan, parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.count * expected_leaves::<F>(plan, part.leaves)).sum()
}

/// As [`cheapest_over`], where every table has several parts, and every part is searched by itself.
pub fn cheapest_over_parts<F: Key>(
    layout: BlockLayout,
    distance: u32,
    parts: &[Part],
    tables: &[u32],
) -> Plan {
    let mut best = Plan::balanced(layout, distance, 1);
    let mut least: f64 = parts.iter().map(|part| part.count * part.leaves).sum();
    for count in 2..=tables.len() {
        let plan = Plan::balanced_over(layout, distance, &tables[..count]);
        let cost = probed_leaf::<F>() * expected_leaves_of_parts::<F>(&plan, parts);
        if cost < least {
            (best, least) = (plan, cost);
        }
    }
    best
}

/// A table is probed only if a smaller share of the pairs of rows has equal values of its block.
const SHARED: f64 = 1.0 / 16.0;

/// The tables whose blocks distinguish the rows of a sample well enough to be probed. All tables,
/// if fewer than two do or the sample is too small.
pub fn selective_tables<F: Key>(layout: BlockLayout, sample: &[F]) -> Vec<u32> {
    let all = 0..layout.blocks();
    let selective: Vec<u32> =
        all.clone().filter(|&table| shared(layout, sample, table) < SHARED).collect();
    if selective.len() < 2 || sample.len() < 32 { all.collect() } else { selective }
}

/// The share of pairs of keys that are equal in a block.
fn shared<F: Key>(layout: BlockLayout, sample: &[F], table: u32) -> f64 {
    let mask = F::leading_mask(layout.width(table));
    let mut values: Vec<F> = sample.iter().map(|&key| layout.rotate(key, table) & mask).collect();
    values.sort_unstable();
    let pairs: usize = values.chunk_by(|a, b| a == b).map(|run| run.len() * (run.len() - 1)).sum();
    pairs as f64 / (sample.len().max(2) * (sample.len().max(2) - 1)) as f64
}

/// The expected number of rows within `distance` of a query among `rows` uniformly random ones.
pub fn expected_matches(bits: u32, distance: u32, rows: f64) -> f64 {
    rows * ball_size(f64::from(bits), distance.min(bits)) / (f64::from(bits)).exp2()
}

/// The inputs from which a nearest-first scan chooses its next window.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// Bits of a fingerprint.
    pub bits: u32,
    /// The greatest distance at which rows are wanted.
    pub limit: u32,
    /// About the number of rows.
    pub rows: f64,
    /// The leaves of a sweep.
    pub leaves: f64,
}

/// How many times the cost of the last window the next one of a nearest-first scan may cost.
const GROWTH: f64 = 4.0;
/// The same for a window that is expected to end the search.
const GROWTH_TO_GOAL: f64 = 8.0;
/// The most leaves that such a window may touch, as a share of a sweep's. Below 1, because a sweep
/// reads adjacent leaves, each once.
const WORTH_PROBING: f64 = 0.7;
/// The same for windows that contain rows only if some are nearer than random rows are. A sweep
/// follows these windows.
const WORTH_HOPING: f64 = 0.1;
/// A window with so many expected rows may end the search.
const SEVERAL: f64 = 10.0;

impl Outlook {
    /// The reach of the next window of a nearest-first scan, which has returned all rows nearer
    /// than `least`. `least` must not be 0. `None` when a sweep of all leaves is cheaper. `cost`
    /// gives the leaves that a range scan touches, for each distance up to the limit.
    pub fn next_window(&self, least: u32, cost: impl Fn(u32) -> f64) -> Option<u32> {
        let goal = self.goal(least).filter(|&goal| cost(goal) <= WORTH_PROBING * self.leaves);
        let before = cost(least - 1);
        let most = match goal {
            Some(goal) if cost(goal) <= GROWTH_TO_GOAL * before => return Some(goal),
            Some(_) => GROWTH * before,
            None => (GROWTH * before).min(WORTH_HOPING * self.leaves),
        };
        let last = goal.unwrap_or(self.limit);
        let mut reach = least;
        while reach < last && cost(reach + 1) <= most {
            reach += 1;
        }
        // The next distance may cost more than GROWTH times the last and still be worth probing.
        (goal.is_some() || cost(reach) <= WORTH_HOPING * self.leaves).then_some(reach)
    }

    /// The distance at which the search probably ends: where [`SEVERAL`] uniformly random rows are
    /// expected, and [`SEVERAL`] times as many as nearer than `least`, or else the limit.
    fn goal(&self, least: u32) -> Option<u32> {
        let (bits, share) = (f64::from(self.bits), self.rows / f64::from(self.bits).exp2());
        let (mut sphere, mut ball) = (1.0, 1.0);
        let mut several = f64::INFINITY;
        for distance in 1..=self.limit {
            if distance == least {
                several = SEVERAL * (ball * share).max(1.0);
            }
            sphere *= (bits + 1.0 - f64::from(distance)) / f64::from(distance);
            ball += sphere;
            if ball * share >= several {
                return Some(distance);
            }
        }
        (least <= self.limit).then_some(self.limit)
    }
}

fn expected_in_table<F: Key>(plan: &Plan, table: u32, leaves: f64) -> f64 {
    let Some(probe) = plan.probe(F::ZERO, table) else {
        return 0.0;
    };
    let depth = leaves.max(1.0).log2().min(f64::from(plan.layout().bits()));
    let Limits { block, radius, tail } = Limits::of(&probe);
    let in_block = depth.min(f64::from(block));
    let prefixes = prefixes(in_block, depth - in_block, radius, tail);
    (prefixes + SECOND_LEAF).min(leaves)
}

/// Added to the expected leaves of a table: leaf bounds do not fall on prefix bounds, so a prefix
/// overlaps one leaf and often a second.
pub(super) const SECOND_LEAF: f64 = 0.25;

/// A probe's limits, with a single one for all bits behind the block.
pub(super) struct Limits {
    /// The bits of the block.
    pub block: u32,
    /// The most differences in the block.
    pub radius: u32,
    /// The most differences in the block and behind it.
    pub tail: u32,
}

impl Limits {
    pub(super) fn of<F: Key>(probe: &Probe<F>) -> Self {
        let [block, rest, whole] = *probe.limits();
        let tail = if rest.bits > block.bits { rest.max } else { whole.max };
        Self { block: block.bits, radius: block.max.min(block.bits), tail }
    }
}

/// The number of prefixes of `in_block` bits of the block and `beyond` bits behind it that differ
/// in at most `radius` bits of the block and in at most `tail` bits in all.
pub(super) fn prefixes(in_block: f64, beyond: f64, radius: u32, tail: u32) -> f64 {
    let of = |differing| {
        let ways = binomial(in_block, differing);
        ways * if beyond > 0.0 { ball_size(beyond, tail - differing) } else { 1.0 }
    };
    (0..=radius.min(tail)).map(of).sum()
}

/// The number of strings of `length` bits within `radius` of a given one, capped at all of them.
fn ball_size(length: f64, radius: u32) -> f64 {
    if f64::from(radius) >= length {
        return length.exp2();
    }
    (0..=radius).map(|i| binomial(length, i)).sum::<f64>().min(length.exp2())
}

/// n choose k for real n: exact at whole n, smooth between, 0 where n <= k - 1.
fn binomial(n: f64, k: u32) -> f64 {
    let mut product = 1.0;
    for i in 0..k {
        product *= (n - f64::from(i)).max(0.0) / f64::from(i + 1);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_touches_every_leaf_and_a_point_query_one_a_table() {
        let cut = BlockLayout::new::<u64>(4).unwrap();
        assert_eq!(expected_leaves::<u64>(&Plan::balanced(cut, 64, 1), 1000.0), 1000.0);
        let three = expected_leaves::<u64>(&Plan::balanced(cut, 3, 4), 17_000.0);
        assert!((4.0..8.0).contains(&three), "{three}");
    }

    fn radii(plan: &Plan) -> Vec<Option<u32>> {
        plan.radii().collect()
    }

    /// The radii of a sweep.
    fn one_table(distance: u32) -> [Option<u32>; 4] {
        [Some(distance), None, None, None]
    }

    #[test]
    fn the_cheapest_plan_probes_small_distances_and_sweeps_large_ones() {
        let cut = BlockLayout::new::<u64>(4).unwrap();
        assert_eq!(radii(&cheapest::<u64>(cut, 3, 17_000.0)), [Some(0); 4]);
        assert_eq!(radii(&cheapest::<u64>(cut, 40, 17_000.0)), one_table(40));
        assert_eq!(radii(&cheapest::<u64>(cut, 3, 1.0)), one_table(3));
    }

    #[test]
    fn tables_of_constant_blocks_are_left_out() {
        let cut = BlockLayout::new::<u64>(4).unwrap();
        let spread: Vec<u64> =
            (1..=256u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert_eq!(selective_tables(cut, &spread), [0, 1, 2, 3]);
        let first: Vec<u64> = spread.iter().map(|key| key >> 16 | 0x1234 << 48).collect();
        assert_eq!(selective_tables(cut, &first), [1, 2, 3]);
        let last: Vec<u64> = spread.iter().map(|key| key & !0xfffc).collect();
        assert_eq!(selective_tables(cut, &last), [0, 1, 2]);
        assert_eq!(selective_tables(cut, &[7u64; 256]), [0, 1, 2, 3]);
        assert_eq!(selective_tables(cut, &first[..9]), [0, 1, 2, 3]);
        let over = |distance| cheapest_over::<u64>(cut, distance, 17_000.0, &[1, 2, 3]);
        assert_eq!(radii(&over(3)), [None, Some(1), Some(0), Some(0)]);
        assert_eq!(radii(&over(40)), one_table(40));
    }

    /// The windows of a nearest-first scan of `rows` rows, and what they cost.
    fn windows(leaves: f64, rows: f64, limit: u32) -> Vec<(u32, f64)> {
        let cut = BlockLayout::new::<u64>(4).unwrap();
        let cost =
            |distance| expected_leaves::<u64>(&cheapest::<u64>(cut, distance, leaves), leaves);
        let outlook = Outlook { bits: 64, limit, rows, leaves };
        let mut found = vec![(3, cost(3))];
        while let Some(&(reach, _)) = found.last()
            && reach < limit
            && let Some(next) = outlook.next_window(reach + 1, cost)
        {
            assert!(next > reach && next <= limit, "{leaves} leaves: {found:?}, then {next}");
            found.push((next, cost(next)));
        }
        found
    }

    /// All windows together cost at most 2.5 times what the last costs, or a sweep.
    #[test]
    fn windows_of_a_nearest_first_scan_cost_little_beside_the_last() {
        for leaves in [20.0, 150.0, 1_400.0, 14_000.0, 96_000.0, 400_000.0] {
            for limit in [5, 10, 14, 20, 64] {
                let windows = windows(leaves, leaves * 700.0, limit);
                let all: f64 = windows.iter().map(|window| window.1).sum();
                let (reach, last) = *windows.last().unwrap();
                let most = if reach == limit { last } else { leaves };
                assert!(all <= 2.5 * most + 30.0, "{leaves} leaves to {limit}: {windows:?}");
                assert!(last <= 0.7 * leaves || leaves < 30.0, "{leaves} leaves: {windows:?}");
            }
        }
    }

    /// Ten of a million random rows are expected within 15 bits, and ten of ten million within 14.
    /// A window ends there.
    #[test]
    fn a_window_ends_where_random_rows_are_expected() {
        assert!(windows(1_400.0, 1e6, 64).iter().any(|window| window.0 == 15));
        assert!(windows(14_000.0, 1e7, 64).iter().any(|window| window.0 == 14));
        // No window goes past the limit: the search ends there.
        assert_eq!(windows(14_000.0, 1e7, 9).last().unwrap().0, 9);
    }

    /// Where random rows are so far away that only a sweep finds them, windows cost little.
    #[test]
    fn few_leaves_are_probed_where_a_sweep_will_follow() {
        let cut = BlockLayout::new::<u128>(8).unwrap();
        let cost =
            |distance| expected_leaves::<u128>(&cheapest::<u128>(cut, distance, 2_400.0), 2_400.0);
        let outlook = Outlook { bits: 128, limit: 128, rows: 1e6, leaves: 2_400.0 };
        let (mut least, mut all) = (8, cost(7));
        while let Some(reach) = outlook.next_window(least, cost) {
            (least, all) = (reach + 1, all + cost(reach));
        }
        assert!((16..24).contains(&least) && all < 0.25 * 2_400.0, "{least}, {all}");
        // Up to a limit that is cheap enough, every distance is probed.
        let outlook = Outlook { limit: 24, ..outlook };
        let mut least = 8;
        while let Some(reach) = outlook.next_window(least, cost) {
            least = reach + 1;
            if least > 24 {
                break;
            }
        }
        assert_eq!(least, 25);
    }

    #[test]
    fn expected_matches_of_the_whole_space_are_all_rows() {
        assert_eq!(expected_matches(64, 64, 1e6), 1e6);
        assert!((expected_matches(64, 15, 1e6) - 12.0).abs() < 1.0);
    }
}
