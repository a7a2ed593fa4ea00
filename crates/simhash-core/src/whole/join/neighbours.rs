//! Finds the rows of a part of a table that have neighbours, so that a join needs no others.
//!
//! A table of radius 0 emits only pairs with equal blocks. A range that begins and ends where the
//! block changes has all rows with its blocks, so no pair is in two ranges. Several processes can
//! read one range each, and the rows that they pass on are joined as if they were the whole table.

use super::chunk::Chunk;
use super::steps::{Start, Walking};
use super::walk::Walk;
use crate::base::key::Key;
use crate::search::{Plan, TreeKey};

/// Starts of ranges, at most one for each of these keys of the table: before the first row with the
/// key's scope and block. They ascend, beginning with the start of the table.
pub fn starts_of_ranges<K: TreeKey>(
    plan: &Plan,
    table: u32,
    keys: impl Iterator<Item = K>,
) -> Vec<Start<K>> {
    let block = K::Fingerprint::leading_mask(plan.layout().width(table));
    let start = |key: K| (K::new(key.scope(), key.fingerprint() & block), 0);
    let mut starts: Vec<_> = std::iter::once((K::MIN, 0)).chain(keys.map(start)).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Whether each pair that the table emits is within one range.
pub fn has_ranges(plan: &Plan, table: u32) -> bool {
    plan.radii().nth(table as usize) == Some(Some(0))
}

/// Whether each row of a chunk, by its place in it, is in a pair that the table emits. Pairs of
/// equal fingerprints are emitted by the first table of a plan. `check` is called now and then and
/// may unwind.
pub fn mark_neighbours<K: TreeKey>(
    plan: &Plan,
    table: u32,
    chunk: &Chunk<K>,
    check: &mut dyn FnMut(),
) -> Vec<bool> {
    let mut is_near = vec![false; chunk.rows()];
    let mut mark = |group: u32| is_near[chunk.places(group)].fill(true);
    let first = plan.radii().position(|radius| radius.is_some());
    if first == Some(table as usize) {
        for group in 0..chunk.keys().len() as u32 {
            let sides = chunk.sides(group);
            if chunk.group(group).len() > 1 && sides.can_pair(sides) {
                mark(group);
            }
        }
    }
    let mut found = Vec::new();
    if let Some(mut walk) = Walk::new(plan, table, chunk, None) {
        let mut walking = Walking::of_one(&mut walk, chunk);
        loop {
            check();
            let more = walking.step(&mut found);
            found
                .drain(..)
                .for_each(|pair| [pair.left, pair.right].into_iter().for_each(&mut mark));
            if !more {
                break;
            }
        }
    }
    is_near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;
    use crate::search::BlockLayout;

    /// Clustered fingerprints: some equal, some near, most far from all others.
    fn fingerprints(count: u64) -> Vec<u64> {
        let far = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) ^ (i << 40);
        let of = |i: u64| match i % 10 {
            0 => far(i / 20) ^ 1 << (i % 64) ^ 1 << (i % 7),
            1 => far(i / 30),
            _ => far(i),
        };
        (0..count).map(of).collect()
    }

    /// For each table, its ranges pass on exactly the rows of all pairs that the table emits.
    #[test]
    fn ranges_hand_on_the_rows_of_all_pairs_and_no_others() {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        let all = fingerprints(3000);
        for (distance, split) in [(3, None), (3, Some(1500)), (2, None), (0, Some(100))] {
            let plan = Plan::balanced(layout, distance, distance + 1);
            for table in 0..=distance {
                assert!(has_ranges(&plan, table));
                let mut rows: Vec<(u64, u64)> =
                    all.iter().zip(0..).map(|(f, i)| (layout.rotate(*f, table), i)).collect();
                rows.sort_unstable();
                let samples = rows.iter().step_by(97).map(|row| row.0);
                let starts = starts_of_ranges(&plan, table, samples);
                assert!(starts.len() > 20);
                let mut handed_on = Vec::new();
                for (i, &low) in starts.iter().enumerate() {
                    let high = starts.get(i + 1);
                    let is_in = |row: &&(u64, u64)| **row >= low && high.is_none_or(|h| *row < h);
                    let range: Vec<_> = rows.iter().filter(is_in).copied().collect();
                    let mut chunk = Chunk::default();
                    chunk.restart(range.len(), split).unwrap();
                    chunk.push(&mut range.clone(), ..).unwrap();
                    chunk.finish(&mut || ());
                    let near = mark_neighbours(&plan, table, &chunk, &mut || ());
                    handed_on.extend(range.iter().zip(near).filter(|r| r.1).map(|r| r.0.1));
                }
                handed_on.sort_unstable();
                let mut expected: Vec<u64> = Vec::new();
                for (i, a) in all.iter().enumerate() {
                    for (j, b) in all.iter().enumerate().skip(i + 1) {
                        let across = split.is_none_or(|s| ((i as u64) < s) != ((j as u64) < s));
                        // The first table in whose block two rows agree emits their pair.
                        let agree = |t: u32| layout.block_distance(a ^ b, t) == 0;
                        let emits = agree(table) && !(0..table).any(agree);
                        if across && emits && a.hamming(*b) <= distance {
                            // All rows with either fingerprint are passed on.
                            let is_of_pair = |(f, _): &(&u64, u64)| [a, b].contains(f);
                            expected.extend(all.iter().zip(0..).filter(is_of_pair).map(|r| r.1));
                        }
                    }
                }
                expected.sort_unstable();
                expected.dedup();
                assert!(table > 0 || !expected.is_empty());
                assert_eq!(handed_on, expected, "distance {distance}, table {table}");
            }
        }
    }
}
