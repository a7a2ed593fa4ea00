//! Tests with synthetic rows, of which the copies are known.

use proptest::prelude::*;

use super::*;
use crate::base::bits::B256;
use crate::base::key::Key;
use crate::base::random::SplitMix64;

fn key<F: Key>(random: &mut SplitMix64) -> F {
    F::from_words(|_| random.next_u64())
}

/// Synthetic rows, and the origin of each.
struct Rows<F> {
    fingerprints: Vec<F>,
    origins: Vec<usize>,
}

impl<F: Key> Rows<F> {
    /// Every `each`-th row is a copy of the one before, with up to `edits` bits changed.
    fn with_copies(count: usize, each: usize, edits: u64, random: &mut SplitMix64) -> Self {
        let mut rows = Rows { fingerprints: Vec::<F>::new(), origins: Vec::new() };
        for i in 0..count {
            if i % each == 1 {
                let changed = (0..random.below(edits + 1))
                    .fold(rows.fingerprints[i - 1], |f, _| {
                        f ^ F::bit(random.below(u64::from(F::BITS)) as u32)
                    });
                rows.fingerprints.push(changed);
                rows.origins.push(i - 1);
            } else {
                rows.fingerprints.push(key(random));
                rows.origins.push(i);
            }
        }
        rows
    }

    /// All counts, with every row as a sample and its neighbours up to a distance.
    fn counts(&self, reach: u32) -> Counts {
        let pairs = pair_distances(&self.fingerprints, &mut || ());
        let mut nearest = vec![0; reach as usize + 1];
        for (i, a) in self.fingerprints.iter().enumerate() {
            let others = self.fingerprints.iter().enumerate().filter(|(j, _)| *j != i);
            let least = others.map(|(_, b)| a.hamming(*b)).min().unwrap_or(F::BITS);
            nearest.get_mut(least as usize).into_iter().for_each(|count| *count += 1);
        }
        Counts {
            nearest,
            bits: F::BITS,
            rows: self.fingerprints.len() as u64,
            near: pairs[..=reach as usize].iter().map(|count| 2 * count).collect(),
            complete: reach as usize + 1,
            pairs,
            sampled: self.fingerprints.len() as u64,
            crowds: Vec::new(),
        }
    }

    /// The F1 of every distance by the origins.
    fn f1(&self) -> Vec<f64> {
        let mut copies = vec![0u32; F::BITS as usize + 1];
        let mut others = copies.clone();
        for (i, a) in self.fingerprints.iter().enumerate() {
            for (j, b) in self.fingerprints[..i].iter().enumerate() {
                let kind =
                    if self.origins[i] == self.origins[j] { &mut copies } else { &mut others };
                kind[a.hamming(*b) as usize] += 1;
            }
        }
        let all: u32 = copies.iter().sum();
        let (mut tp, mut fp) = (0, 0);
        let f1 = copies.iter().zip(&others).map(|(copies, others)| {
            tp += copies;
            fp += others;
            f64::from(2 * tp) / f64::from(tp + fp + all)
        });
        f1.collect()
    }
}

fn suggested(rows: &[Row]) -> usize {
    let all: Vec<usize> = (0..rows.len()).filter(|&d| rows[d].suggested).collect();
    assert_eq!(all.len(), 1, "{rows:?}");
    all[0]
}

#[test]
fn pairs_are_counted_one_by_one() {
    let mut random = SplitMix64::new(1);
    for rows in [0, 1, 2, 3, 8, 57] {
        let sample: Vec<u64> = (0..rows).map(|_| random.next_u64() & random.next_u64()).collect();
        let mut expected = vec![0u64; 65];
        for i in 0..sample.len() {
            for j in 0..i {
                expected[(sample[i] ^ sample[j]).count_ones() as usize] += 1;
            }
        }
        assert_eq!(pair_distances(&sample, &mut || ()), expected);
    }
}

#[test]
fn the_tail_of_independent_bits_is_that_of_the_binomial_distribution() {
    let mut random = SplitMix64::new(2);
    let sample: Vec<u64> = (0..3000).map(|_| random.next_u64()).collect();
    let chance = Chance::of_pairs(64, &pair_distances(&sample, &mut || ()));
    // 4.5 million pairs hold two within 13. The sums of C(64, i) / 2^64 are exact.
    let choose = |n: u128, k: u128| (0..k).fold(1u128, |c, i| c * (n - i) / (i + 1));
    for distance in [3u32, 6, 10, 13, 20] {
        let exact =
            (0..=distance).map(|i| choose(64, u128::from(i)) as f64).sum::<f64>() / 64f64.exp2();
        let fitted = chance.neighbours(distance, 2);
        assert!((fitted / exact).ln().abs() < 0.8, "{distance}: {fitted:e}, {exact:e}");
    }
}

#[test]
fn bits_that_agree_with_each_other_make_a_heavier_tail_which_is_followed() {
    // Each row has its own probability of set bits, so distances vary more than by a binomial
    // distribution.
    let mut random = SplitMix64::new(3);
    let draw = |random: &mut SplitMix64| {
        let of_256 = 128 + random.below(80);
        (0..64).fold(0u64, |bits, i| bits | u64::from(random.below(256) < of_256) << i)
    };
    let all: Vec<u64> = (0..12_000).map(|_| draw(&mut random)).collect();
    let every = pair_distances(&all, &mut || ());
    let chance = Chance::of_pairs(64, &pair_distances(&all[..2000], &mut || ()));
    let pairs = every.iter().sum::<u64>() as f64;
    for distance in 10..25 {
        let truth = every[..=distance].iter().sum::<u64>() as f64 / pairs;
        let fitted = chance.neighbours(distance as u32, 2);
        assert!((fitted / truth).ln().abs() < 0.5, "{distance}: {fitted:e}, {truth:e}");
    }
}

#[test]
fn copies_are_told_from_chance() {
    let mut random = SplitMix64::new(4);
    for (each, edits) in [(2, 3), (3, 6), (10, 4), (50, 8)] {
        let made = Rows::<u64>::with_copies(3000, each, edits, &mut random);
        let f1 = made.f1();
        let best = f1.iter().copied().fold(0.0, f64::max);
        let at = suggested(&suggest(&made.counts(24)));
        assert!(
            f1[at] > best - 0.02,
            "every {each}-th, {edits} edits: {} at {at} of {best}",
            f1[at]
        );
        let made = Rows::<u128>::with_copies(2000, each, 3 * edits, &mut random);
        let f1 = made.f1();
        let best = f1.iter().copied().fold(0.0, f64::max);
        let at = suggested(&suggest(&made.counts(50)));
        assert!(f1[at] > best - 0.02, "128 bits, every {each}-th: {} at {at} of {best}", f1[at]);
    }
}

#[test]
fn without_copies_the_greatest_distance_that_takes_in_next_to_nothing_is_suggested() {
    let mut random = SplitMix64::new(5);
    let made = Rows::<u64>::with_copies(3000, usize::MAX, 0, &mut random);
    let rows = suggest(&made.counts(24));
    let at = suggested(&rows);
    assert!(rows[at].expected_false <= NEGLIGIBLE && rows[at + 1].expected_false > NEGLIGIBLE);
    assert!((9..=12).contains(&at), "{at}");
}

#[test]
fn what_grows_with_the_distance_is_related_and_no_copy() {
    // Copies: 40 at each distance up to 16. Related pairs: 2 at 12, and 1.5 times as many with each
    // bit. Chance is far away.
    let pairs = (0..=128).map(|d: i32| {
        let copies = if d <= 16 { 40.0 } else { 0.0 };
        let related = if (12..48).contains(&d) { 2.0 * 1.5f64.powi(d - 12) } else { 0.0 };
        let chance = 1e9 * (-f64::from((d - 64) * (d - 64)) / 64.0).exp();
        (copies + related + chance) as u64
    });
    let pairs: Vec<u64> = pairs.collect();
    let near = pairs[..=40].to_vec();
    let rows = suggest(&Counts {
        bits: 128,
        rows: 100_000,
        sampled: 1000,
        nearest: near.clone(),
        complete: near.len(),
        near,
        pairs,
        crowds: Vec::new(),
    });
    assert!((12..=20).contains(&suggested(&rows)), "{rows:?}");
}

#[test]
fn equal_rows_get_distance_0() {
    for rows in [4, 5, 100] {
        let made = Rows { fingerprints: vec![7u64; rows], origins: vec![0; rows] };
        let rows = suggest(&made.counts(16));
        assert_eq!(suggested(&rows), 0);
        assert!(rows[0].beyond_chance() > Some(0.99));
    }
}

#[test]
fn one_row_gets_no_suggestion() {
    for rows in [0, 1] {
        let made = Rows { fingerprints: vec![7u64; rows], origins: vec![0; rows] };
        let answer = suggest(&made.counts(16));
        assert_eq!(answer.len(), 17);
        assert!(answer.iter().all(|row| {
            row.found == 0.0
                && row.expected_false == 0.0
                && row.beyond_chance().is_none()
                && !row.suggested
        }));
    }
}

/// Many rows share a page, each with a few changes of its own. Beside them are pairs of copies that
/// are as far apart.
#[test]
fn a_large_cluster_is_not_what_chance_does() {
    fn check<F: Key>(edits: u64, random: &mut SplitMix64) {
        for percent in [0, 10, 25, 30, 60, 80] {
            let mut made = Rows::<F>::with_copies(2000, 2, edits, random);
            let page = key(random);
            for _ in 0..2000 * percent / (100 - percent) {
                let row = (0..random.below(edits / 2 + 1))
                    .fold(page, |row, _| row ^ F::bit(random.below(u64::from(F::BITS)) as u32));
                made.fingerprints.push(row);
                made.origins.push(usize::MAX);
            }
            let sample: Vec<F> = made.fingerprints.iter().copied().step_by(2).collect();
            let chance = Chance::of_pairs(F::BITS, &pair_distances(&sample, &mut || ()));
            let reach = reach(&chance, F::BITS, made.fingerprints.len() as u64);
            let (f1, at) = (made.f1(), suggested(&suggest(&made.counts(reach))));
            let best = f1.iter().copied().fold(0.0, f64::max);
            assert!(
                f1[at] > best - 0.05,
                "{} bits, {percent} %: {} at {at} of {best}",
                F::BITS,
                f1[at]
            );
        }
    }
    let mut random = SplitMix64::new(6);
    check::<u64>(8, &mut random);
    check::<u128>(16, &mut random);
    check::<B256>(32, &mut random);
}

/// Without copies, and with too few rows to fit a parabola.
#[test]
fn few_rows_do_not_bend_the_curve() {
    let mut random = SplitMix64::new(7);
    for rows in [15, 20, 30, 50, 90] {
        for _ in 0..25 {
            let made = Rows::<u64>::with_copies(rows, usize::MAX, 0, &mut random);
            let at = suggested(&suggest(&made.counts(24)));
            assert!((10..=20).contains(&at), "{rows} rows: {at}");
        }
    }
}

/// Rows near the middle of a skewed table have more neighbours than are counted.
#[test]
fn neighbours_that_were_not_all_counted_do_not_bend_the_curve() {
    let mut random = SplitMix64::new(8);
    let rows: Vec<u64> = (0..4000)
        .map(|_| (0..64).fold(0, |row, i| row | u64::from(random.below(8) == 0) << i))
        .collect();
    let mut counts = Rows { fingerprints: rows, origins: vec![0; 4000] }.counts(12);
    let exact: Vec<f64> = counts
        .near
        .iter()
        .scan(0, |sum, &near| {
            *sum += near;
            Some(*sum as f64 / 4000.0)
        })
        .collect();
    counts.near.iter_mut().skip(6).for_each(|near| *near /= 4);
    counts.complete = 6;
    for row in &suggest(&counts)[4..] {
        let ratio = row.expected_false / exact[row.distance as usize];
        assert!((0.7..1.4).contains(&ratio), "{row:?}: {ratio}");
    }
}

proptest! {
    #[test]
    fn whatever_was_counted_there_is_one_suggestion_and_no_nonsense(
        bits in prop_oneof![Just(64u32), Just(128)],
        rows in prop_oneof![0u64..50, 0..u64::MAX],
        sampled in prop_oneof![0u64..50, 0u64..1 << 40],
        reach in 0usize..65,
        complete in 0usize..70,
        counts in proptest::collection::vec(prop_oneof![Just(0u64), 0u64..20, 0u64..1 << 40], 194),
    ) {
        let pairs = counts[..=bits as usize].to_vec();
        let near = counts[129..=129 + reach.min(64)].to_vec();
        let nearest = counts[64..64 + near.len()].to_vec();
        let distances = near.len();
        let crowds = Vec::new();
        let counts = Counts { bits, rows, pairs, sampled, near, complete, nearest, crowds };
        let answer = suggest(&counts);
        prop_assert_eq!(answer.len(), distances);
        if rows > 1 {
            suggested(&answer);
        }
        for (i, row) in answer.iter().enumerate() {
            prop_assert!(row.expected_false.is_finite() && row.expected_false >= 0.0);
            prop_assert!(row.found.is_finite());
            prop_assert!(row.beyond_chance().is_none_or(|share| (0.0..=1.0).contains(&share)));
            if let Some(before) = i.checked_sub(1).map(|j| answer[j]) {
                prop_assert!(row.expected_false >= before.expected_false);
                prop_assert!(row.found >= before.found);
            }
        }
    }
}
