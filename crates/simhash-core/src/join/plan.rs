//! Which tables a join reads, and with which radii.

use super::run::LEAF_KEYS;
use crate::search::cost::expected_leaves;
use crate::search::{BlockLayout, Key, Plan};

/// Nanoseconds to read one row of a table, and to compare a row with another leaf, about: their ratio
/// decides how many tables are read.
const READ: f64 = 25.0;
const COMPARE: f64 = 1.6;

/// The plan that is expected to find all pairs within `distance` of so many rows soonest.
pub fn cheapest<F: Key>(layout: BlockLayout, distance: u32, rows: f64) -> Plan {
    let leaves = (rows / (0.7 * LEAF_KEYS as f64)).max(1.0);
    let cost = |plan: &Plan| {
        let tables = plan.radii().iter().filter(|&&radius| radius >= 0).count();
        READ * tables as f64 + COMPARE * expected_leaves::<F>(plan, leaves)
    };
    let plans = (1..=layout.blocks()).map(|tables| Plan::balanced(layout, distance, tables));
    let best = plans.map(|plan| (cost(&plan), plan)).min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(|| Plan::balanced(layout, distance, 1), |(_, plan)| plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distances_read_every_table_and_large_ones_or_small_sets_one() {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        assert_eq!(cheapest::<u64>(layout, 3, 1e6).radii(), [0, 0, 0, 0]);
        assert_eq!(cheapest::<u64>(layout, 10, 1e6).radii(), [2, 2, 2, 1]);
        assert_eq!(cheapest::<u64>(layout, 40, 1e6).radii(), [40, -1, -1, -1]);
        assert_eq!(cheapest::<u64>(layout, 3, 100.0).radii(), [3, -1, -1, -1]);
        assert_eq!(cheapest::<u64>(layout, 0, 1e6).radii(), [0, -1, -1, -1]);
    }
}
