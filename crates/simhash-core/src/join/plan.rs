//! Which tables a join reads, and with which radii.

use super::chunk::LEAF_KEYS;
use crate::search::cost::expected_leaves;
use crate::search::{BlockLayout, Key, Plan};

/// About the nanoseconds that it takes to read one row of a table, and to compare a row with
/// another leaf. Their ratio decides how many tables are read.
const READ: f64 = 20.0;
const COMPARE: f64 = 4.0;

/// The plan that is expected to find all pairs within `distance` among `rows` rows soonest.
pub fn plan_join<F: Key>(layout: BlockLayout, distance: u32, rows: f64) -> Plan {
    let leaves = (rows / (0.7 * LEAF_KEYS as f64)).max(1.0);
    let cost = |plan: &Plan| {
        let tables = plan.radii().flatten().count();
        READ * tables as f64 + COMPARE * expected_leaves::<F>(plan, leaves)
    };
    let plans = (1..=layout.blocks()).map(|tables| Plan::balanced(layout, distance, tables));
    let best = plans.map(|plan| (cost(&plan), plan)).min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(|| Plan::balanced(layout, distance, 1), |(_, plan)| plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(distance: u32, rows: f64) -> usize {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        plan_join::<u64>(layout, distance, rows).radii().flatten().count()
    }

    #[test]
    fn one_table_serves_small_sets_copies_and_large_distances() {
        assert_eq!(tables(3, 100.0), 1);
        assert_eq!(tables(0, 1e9), 1);
        assert_eq!(tables(40, 1e6), 1);
    }

    #[test]
    fn more_tables_are_read_the_more_that_spares() {
        assert!(tables(3, 1e6) >= 2);
        assert_eq!(tables(3, 1e8), 4);
        assert_eq!(tables(10, 1e6), 4);
    }
}
