//! Estimates how many leaves a plan touches where keys are crowded, which the model of uniform keys
//! in [`cost`] ignores.
//!
//! Where keys are crowded, a leaf is a longer prefix, and more leaves share the beginning of it. A
//! sample shows both: for each of its rows and each table, the longest prefix that `NEIGHBOURS`
//! rows share, and how many leaves have that prefix. Some rows of the sample stand for queries, the
//! centres. A prefix is within a probe's limits around a centre, or not. The rest of a leaf's
//! prefix is taken for uniform bits.

use super::cost::{self, Limits, SECOND_LEAF, prefixes};
use super::layout::BlockLayout;
use super::plan::Plan;
use crate::base::key::Key;

/// The number of rows of the sample that must share a prefix.
const NEIGHBOURS: usize = 4;
/// The number of centres.
const CENTERS: usize = 32;
/// Without so many rows in the sample, keys are taken for uniform.
const LEAST_SAMPLE: usize = 64;

/// How crowded the keys of a sample are in each table.
#[derive(Clone, Debug)]
pub struct Crowding {
    /// The rows of the sample, or 0 if it is too small.
    rows: usize,
    /// For each table all pairs of a centre and a row, with equal ones counted, in the order of
    /// [`Seen::packed`].
    tables: Vec<Vec<Pairs>>,
}

/// A pair of a centre and a row, as keys of one table.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The number of bits of the block, within the row's prefix, in which the two differ.
    in_block: u32,
    /// The number of bits of the whole prefix in which they differ.
    in_all: u32,
    /// The length of the prefix.
    length: u32,
    /// How many rows of the sample share it.
    sharing: u32,
}

impl Seen {
    /// As one number, which sorts fast. The difference in the block is most significant.
    fn packed(self) -> u64 {
        let high = u64::from(self.in_block << 16 | self.in_all);
        high << 32 | u64::from(self.length << 16 | self.sharing)
    }

    fn unpacked(packed: u64) -> Self {
        let part = |number: u32| (packed >> (48 - 16 * number)) as u32 & 0xffff;
        Self { in_block: part(0), in_all: part(1), length: part(2), sharing: part(3) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Pairs {
    seen: Seen,
    count: f64,
}

impl Crowding {
    /// Measures a random sample of rows.
    pub fn of<F: Key>(layout: BlockLayout, sample: &[F]) -> Self {
        if sample.len() < LEAST_SAMPLE {
            return Self { rows: 0, tables: Vec::new() };
        }
        let tables = (0..layout.blocks()).map(|table| pairs_of(layout, sample, table)).collect();
        Self { rows: sample.len(), tables }
    }

    /// The expected number of leaves that `plan` touches when every table has `leaves` leaves, for
    /// a query near a row like those of the sample. It is never less than the estimate for uniform
    /// keys.
    pub fn expected_leaves<F: Key>(&self, plan: &Plan, leaves: f64) -> f64 {
        let uniform = cost::expected_leaves::<F>(plan, leaves);
        if self.rows == 0 {
            return uniform;
        }
        let tables = self.tables.iter().zip(0..);
        let of_table = |(pairs, table): (&Vec<Pairs>, u32)| -> Option<f64> {
            let limits = Limits::of(&plan.probe(F::ZERO, table)?);
            let share = self.share(pairs, &limits, leaves, plan.layout().bits());
            Some((share * leaves + SECOND_LEAF).min(leaves))
        };
        tables.filter_map(of_table).sum::<f64>().max(uniform)
    }

    /// The share of a table's leaves that a probe with these limits reaches.
    fn share(&self, pairs: &[Pairs], limits: &Limits, leaves: f64, bits: u32) -> f64 {
        // Pairs are sorted by the difference in the block.
        let near = pairs.iter().take_while(|pair| pair.seen.in_block <= limits.radius);
        let reached = near.map(|Pairs { seen, count }| {
            let Some(tail) = limits.tail.checked_sub(seen.in_all) else { return 0.0 };
            let own = leaves * f64::from(seen.sharing) / self.rows as f64;
            let more = own.max(1.0).log2().min(f64::from(bits - seen.length));
            let in_block = more.min(f64::from(limits.block.saturating_sub(seen.length)));
            let radius = limits.radius - seen.in_block;
            count * prefixes(in_block, more - in_block, radius, tail) / more.exp2()
        });
        let all = (CENTERS * (self.rows - 1)) as f64;
        reached.sum::<f64>() / all
    }
}

fn pairs_of<F: Key>(layout: BlockLayout, sample: &[F], table: u32) -> Vec<Pairs> {
    let mut keys: Vec<F> = sample.iter().map(|&key| layout.rotate(key, table)).collect();
    keys.sort_unstable();
    let centers = (0..CENTERS).map(|i| i * keys.len() / CENTERS);
    let block = F::leading_mask(layout.width(table));
    let mut pairs = Vec::with_capacity(CENTERS * keys.len());
    for (i, &key) in keys.iter().enumerate() {
        let length = shared_prefix(&keys, i).min(layout.bits());
        let prefix = F::leading_mask(length);
        let start = keys.partition_point(|other| *other & prefix < key & prefix);
        let sharing = keys[start..].partition_point(|other| *other & prefix == key & prefix);
        for center in centers.clone().filter(|&center| center != i) {
            let difference = (key ^ keys[center]) & prefix;
            let (in_block, in_all) = ((difference & block).count_ones(), difference.count_ones());
            pairs.push(
                Seen { in_block, in_all, length, sharing: sharing.min(0xffff) as u32 }.packed(),
            );
        }
    }
    pairs.sort_unstable();
    let alike = pairs.chunk_by(|a, b| a == b);
    let counted =
        |alike: &[u64]| Pairs { seen: Seen::unpacked(alike[0]), count: alike.len() as f64 };
    alike.map(counted).collect()
}

/// The length of the longest prefix that [`NEIGHBOURS`] keys share, key `i` among them.
fn shared_prefix<F: Key>(sorted: &[F], i: usize) -> u32 {
    let last = sorted.len() - NEIGHBOURS;
    let windows = i.saturating_sub(NEIGHBOURS - 1)..=i.min(last);
    let shared = |start: usize| (sorted[start] ^ sorted[start + NEIGHBOURS - 1]).leading_zeros();
    windows.map(shared).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    const ROWS: usize = 200_000;
    const LEAF: usize = 100;
    const LEAVES: f64 = (ROWS / LEAF) as f64;

    /// The tables of an index: the first key of every leaf.
    fn leaves(layout: BlockLayout, rows: &[u64]) -> Vec<Vec<u64>> {
        let table = |table| {
            let mut keys: Vec<u64> = rows.iter().map(|&row| layout.rotate(row, table)).collect();
            keys.sort_unstable();
            keys.into_iter().step_by(LEAF).collect()
        };
        (0..layout.blocks()).map(table).collect()
    }

    /// The number of leaves that a scan with this plan reads.
    fn read(plan: &Plan, tables: &[Vec<u64>], query: u64) -> usize {
        let in_table = |(leaves, table): (&Vec<u64>, u32)| {
            let Some(probe) = plan.probe(query, table) else { return 0 };
            let (mut from, mut count) = (0, 0);
            while let Some(next) = probe.successor(from) {
                count += 1;
                let after = leaves.partition_point(|&first| first <= next);
                let Some(&bound) = leaves.get(after) else { break };
                from = bound;
            }
            count
        };
        tables.iter().zip(0..).map(in_table).sum()
    }

    struct Case {
        name: &'static str,
        rows: Vec<u64>,
        /// The tables that the plan may probe.
        probed: &'static [u32],
        /// Whether the model of uniform keys is wrong here.
        crowded: bool,
    }

    fn cases() -> Vec<Case> {
        let mut random = SplitMix64::new(31);
        let mut rows = |row: &mut dyn FnMut(&mut SplitMix64) -> u64| -> Vec<u64> {
            (0..ROWS).map(|_| row(&mut random)).collect()
        };
        const ALL: &[u32] = &[0, 1, 2, 3];
        let case = |name, rows, probed, crowded| Case { name, rows, probed, crowded };
        vec![
            case("uniform", rows(&mut |r| r.next_u64()), ALL, false),
            case("first block constant", rows(&mut |r| r.next_u64() >> 16), &[1, 2, 3], false),
            case("first block constant, all probed", rows(&mut |r| r.next_u64() >> 16), ALL, true),
            case(
                "one bit in eight set",
                rows(&mut |r| r.next_u64() & r.next_u64() & r.next_u64()),
                ALL,
                true,
            ),
            case(
                "a third of the rows in ten clusters",
                rows(&mut |r| match r.below(3) {
                    0 => {
                        let center = SplitMix64::new(r.below(10)).next_u64();
                        center ^ 1 << r.below(64) ^ 1 << r.below(64)
                    }
                    _ => r.next_u64(),
                }),
                ALL,
                true,
            ),
            case(
                "64 values of each block",
                rows(&mut |r| r.next_u64() & 0x003f_003f_003f_003f),
                ALL,
                true,
            ),
        ]
    }

    #[test]
    fn expected_leaves_are_within_a_factor_of_two_of_those_read() {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        for Case { name, rows, probed, crowded } in cases() {
            let tables = leaves(layout, &rows);
            let step = tables[0].len() as f64 / 256.0;
            let sample: Vec<u64> =
                (0..256).map(|i| tables[0][(f64::from(i) * step) as usize]).collect();
            let crowding = Crowding::of(layout, &sample);
            let mut mistaken = false;
            for distance in [3, 6, 10] {
                let plan = Plan::balanced_over(layout, distance, probed);
                let queries = rows.iter().step_by(ROWS / 200);
                let sum: usize = queries.clone().map(|&row| read(&plan, &tables, row)).sum();
                let mean = sum as f64 / queries.count() as f64;
                let expected = crowding.expected_leaves::<u64>(&plan, LEAVES);
                let uniform = cost::expected_leaves::<u64>(&plan, LEAVES);
                println!("{name} {distance}: {mean} read, {expected} expected, {uniform} uniform");
                let factor = expected / mean;
                assert!((0.5..2.0).contains(&factor), "{name} {distance}: {factor}");
                assert!(crowded || expected < 1.25 * uniform, "{name} {distance} is uniform");
                mistaken |= mean > 2.0 * uniform;
            }
            assert_eq!(mistaken, crowded, "{name}");
        }
    }

    #[test]
    fn a_small_sample_says_nothing() {
        let layout = BlockLayout::new::<u64>(4).unwrap();
        let plan = Plan::balanced(layout, 3, 4);
        let uniform = cost::expected_leaves::<u64>(&plan, LEAVES);
        for sample in [&[0u64; LEAST_SAMPLE - 1][..], &[]] {
            let crowding = Crowding::of(layout, sample);
            assert_eq!(crowding.expected_leaves::<u64>(&plan, LEAVES), uniform);
        }
        // Every leaf holds the same value.
        let crowding = Crowding::of(layout, &[0u64; LEAST_SAMPLE]);
        assert_eq!(crowding.expected_leaves::<u64>(&plan, LEAVES), 4.0 * LEAVES);
    }
}
