//! Which tables a join reads, and with which radii.

use super::chunk::LEAF_KEYS;
use crate::base::key::Key;
use crate::search::cost::expected_leaves;
use crate::search::{BlockLayout, Plan};

/// About the nanoseconds to read one row of a table, and to compare a row with one more leaf. Their
/// ratio decides how many tables are read.
const READ: f64 = 20.0;
const COMPARE: f64 = 4.0;

/// Rows in scopes of about one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The number of rows in all of these scopes.
    pub rows: f64,
    /// The number of rows in one of them.
    pub each: f64,
}

impl Part {
    /// One scope of `rows` rows.
    pub fn one(rows: f64) -> Self {
        Self { rows, each: rows }
    }
}

/// The plan with the least expected time to find all pairs within `distance` in `processes`
/// processes. These share the comparisons, and the reading of tables with radius 0
/// ([`has_ranges`](super::has_ranges)).
pub fn plan_join<F: Key>(
    layout: BlockLayout,
    distance: u32,
    parts: &[Part],
    processes: usize,
) -> Plan {
    let processes = processes.max(1) as f64;
    let rows: f64 = parts.iter().map(|part| part.rows).sum();
    let cost = |plan: &Plan| {
        let read = |radius| if radius == 0 { READ / processes } else { READ };
        let compare = |part: &Part| {
            let leaves = (part.each / (0.7 * LEAF_KEYS as f64)).max(1.0);
            COMPARE * expected_leaves::<F>(plan, leaves) * part.rows / rows.max(1.0)
        };
        let compared = parts.iter().map(compare).sum::<f64>() / processes;
        plan.radii().flatten().map(read).sum::<f64>() + compared
    };
    let plans = (1..=layout.blocks()).map(|tables| ascending(layout, distance, tables));
    let best = plans.map(|plan| (cost(&plan), plan)).min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(|| Plan::balanced(layout, distance, 1), |(_, plan)| plan)
}

/// As [`Plan::balanced`], with the least radii first. The later a table is read, the cheaper it is
/// to compare a pair of leaves ([`filter`](super::filter)), so the large radii come last.
fn ascending(layout: BlockLayout, distance: u32, tables: u32) -> Plan {
    let even = Plan::balanced(layout, distance, tables);
    let mut radii: Vec<_> = even.radii().collect();
    radii.sort_by_key(|radius| radius.map_or(u32::MAX, |radius| radius));
    Plan::with_radii(layout, distance, &radii).unwrap_or(even)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(distance: u32, rows: f64) -> usize {
        tables_for(distance, &[Part::one(rows)])
    }

    fn tables_for(distance: u32, parts: &[Part]) -> usize {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        plan_join::<u64>(layout, distance, parts, 1).radii().flatten().count()
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
        assert_eq!(tables(3, 1e7), 4);
        assert_eq!(tables(10, 1e6), 4);
    }

    /// Measured with 30 million random rows, medians of two runs: four tables of radius 0 take 18.4
    /// s, of which 7.0 are comparisons. Three of radii 0, 0 and 1 take 14.6 s, of which 6.3 are.
    #[test]
    fn a_late_table_with_a_radius_spares_one() {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        let plan = plan_join::<u64>(layout, 3, &[Part::one(3e7)], 1);
        assert_eq!(plan.radii().collect::<Vec<_>>(), [Some(0), Some(0), Some(1), None]);
    }

    #[test]
    fn many_processes_read_as_many_tables_as_they_can_share() {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        for processes in [8, 16] {
            let plan = plan_join::<u64>(layout, 3, &[Part::one(1e6)], processes);
            assert_eq!(plan.radii().collect::<Vec<_>>(), [Some(0); 4], "{processes} processes");
        }
    }

    #[test]
    fn the_size_of_scopes_decides_and_not_that_of_the_table() {
        let small = Part { rows: 1e8, each: 10.0 };
        assert_eq!(tables_for(3, &[small]), 1);
        assert_eq!(tables_for(3, &[small, Part::one(1e3)]), 1);
        assert_eq!(tables_for(3, &[Part { rows: 1e6, each: 10.0 }, Part::one(1e7)]), 4);
    }
}
