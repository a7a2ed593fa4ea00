//! Which distance for a table without labels: what chance brings near, what is found near, and where copies end.
//!
//! Chance. The distances of pairs of random rows are counted. Their tail is fitted by a binomial distribution whose bits
//! agree with each other more than independent ones do: ln p(d) = ln C(bits, d) + a + b d + c d^2, the multiplicative
//! binomial (Altham 1978), from the least distance at which the counts still follow it, upwards. Texts share words, so
//! c > 0; a plain binomial is wrong by orders of magnitude in the tail.
//!
//! Found. The neighbours of a sample of rows, by distance. What exceeds chance is meant to be true. F1 is reckoned by rows: a
//! row's nearest neighbour stands against all that chance brings; so rows with many related ones do not outweigh the others.
//! It has its maximum where chance takes over.
//!
//! Related. Texts of one kind, such as laws, are nearer to each other than chance has it and are no copies. Copies thin out
//! with the distance or stay as many; what is merely related, like chance, grows with it. So from that maximum on the
//! distance is lowered while the neighbours at a distance grow by more than e in bits / 16.

use crate::search::Key;

/// Up to this many false neighbours a row, on average, are negligible.
pub const NEGLIGIBLE: f64 = 0.001;

/// What was counted in a table.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The width of the fingerprints.
    pub bits: u32,
    /// The table's rows.
    pub rows: u64,
    /// Pairs of random rows by distance: 0 to the width.
    pub pairs: Vec<u64>,
    /// The rows whose neighbours were looked for, and these by distance, up to where they were looked for. A neighbour counts
    /// for each of those rows.
    pub sampled: u64,
    pub near: Vec<u64>,
    /// As many distances: of those rows' nearest neighbours alone.
    pub nearest: Vec<u64>,
}

/// One distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub distance: u32,
    /// Neighbours of a row within the distance by chance.
    pub expected_false: f64,
    /// Neighbours of a row within the distance, as found.
    pub found: f64,
    pub suggested: bool,
}

impl Row {
    /// The share of those found that chance does not explain; none without any.
    pub fn true_share(&self) -> Option<f64> {
        (self.found > 0.0).then(|| (1.0 - self.expected_false / self.found).max(0.0))
    }
}

/// How far neighbours are to be looked for: to where every other row has one by chance, and a little further, so that growth
/// can be seen there.
pub fn reach(chance: &Chance, bits: u32, rows: u64) -> u32 {
    const SOME: f64 = 0.5;
    let some = (0..bits / 2).find(|&distance| chance.neighbours(distance, rows) >= SOME);
    (some.unwrap_or(bits / 2) + bits / 32 + 2).min(bits / 2)
}

/// Some of many items, each as likely as any other (Vitter 1985, algorithm R), the same at every run.
#[derive(Debug)]
pub struct Sample<T> {
    kept: Vec<T>,
    most: usize,
    seen: u64,
    random: u64,
}

impl<T> Sample<T> {
    /// An empty sample that keeps at most so many.
    pub fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, seen: 0, random: 0 }
    }

    #[inline]
    pub fn offer(&mut self, item: T) {
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(item);
        } else if let Some(place) =
            usize::try_from(self.below(self.seen)).ok().and_then(|i| self.kept.get_mut(i))
        {
            *place = item;
        }
    }

    /// How many items were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sample, in random order: any first part of it is a sample too.
    pub fn into_items(mut self) -> Vec<T> {
        for end in (1..self.kept.len()).rev() {
            let other = self.below(end as u64 + 1) as usize;
            self.kept.swap(end, other);
        }
        self.kept
    }

    /// A number below `end`, by SplitMix64 (Steele, Lea and Flood 2014).
    #[inline]
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ z >> 31) * u128::from(end)) >> 64) as u64
    }
}

/// The distances of all pairs of a sample, counted. `check` is called about every 10 microseconds.
pub fn pair_distances<F: Key>(sample: &[F], check: &mut dyn FnMut()) -> Vec<u64> {
    // Two counters for each distance: neighbours in the loop often have the same, and need not wait for each other.
    let mut counts = vec![[0u64; 2]; F::BITS as usize + 1];
    for (i, a) in sample.iter().enumerate() {
        let mut pairs = sample[..i].chunks_exact(2);
        for two in &mut pairs {
            counts[a.hamming(two[0]) as usize][0] += 1;
            counts[a.hamming(two[1]) as usize][1] += 1;
        }
        for b in pairs.remainder() {
            counts[a.hamming(*b) as usize][0] += 1;
        }
        check();
    }
    counts.iter().map(|[a, b]| a + b).collect()
}

/// The probability of every distance between two rows that have nothing to do with each other.
#[derive(Debug, Clone)]
pub struct Chance {
    at: Vec<f64>,
    /// The least distance at which the pairs counted are those of chance: below, there are more, or none were counted.
    pub from: usize,
}

/// Pairs counted at a distance, and how many there were to count among.
#[derive(Debug, Clone, Copy)]
struct Seen {
    count: f64,
    among: f64,
}

/// Fewer than this at a distance say too little of its probability for a fit.
const FEW: f64 = 8.0;
/// A fit may be so far off, as a share.
const TOLERANCE: f64 = 0.1;
/// And counts by so many roots of what is expected, and so much more: 2.5 standard deviations and one pair, where both rows of
/// a pair may have counted it.
const DEVIATIONS: f64 = 3.5;
const SLACK: f64 = 3.0;
/// The relative error of the model itself, so that millions of pairs in the middle do not outweigh thousands in the tail.
const MODEL_ERROR: f64 = 0.05;

impl Chance {
    /// By the distances of random pairs alone.
    pub fn of_pairs(bits: u32, pairs: &[u64]) -> Self {
        Self::fit(bits, &seen(bits, pairs, &[], 0.0))
    }

    /// The neighbours by chance that a row of a table of so many rows has within a distance.
    pub fn neighbours(&self, distance: u32, rows: u64) -> f64 {
        let within: f64 = self.at.iter().take(distance as usize + 1).sum();
        within.min(1.0) * rows.saturating_sub(1) as f64
    }

    fn fit(bits: u32, seen: &[Seen]) -> Self {
        let width = bits as usize;
        let ln_choose = ln_binomials(bits);
        let rate = |d: usize| seen[d].count / seen[d].among.max(1.0);
        let all: f64 = (0..=width).map(rate).sum();
        let quantile = |share: f64| {
            let mut sum = 0.0;
            let reached = |d: &usize| {
                sum += rate(*d);
                sum >= share * all
            };
            (0..=width).find(reached).unwrap_or(width)
        };
        let median = quantile(0.5);
        if all <= 0.0 || median < width / 8 {
            // Nothing to go by, or half the rows are copies of each other.
            return Self::binomial(&ln_choose, 0.5);
        }
        let mut fitted = None;
        let mut from = quantile(0.05).min(median.saturating_sub(3));
        loop {
            if seen[from].count >= FEW {
                let points =
                    (from..=median.min(from + width / 8)).filter(|&d| seen[d].count >= FEW).map(|d| {
                        let error = 1.0 / seen[d].count + MODEL_ERROR * MODEL_ERROR;
                        (d as f64 / width as f64, rate(d).ln() - ln_choose[d], 1.0 / error)
                    });
                let at = parabola(&points.collect::<Vec<_>>()).map(|[a, b, c]| -> Vec<f64> {
                    let x = |d: usize| d as f64 / width as f64;
                    (0..=width)
                        .map(|d| (ln_choose[d] + a + b * x(d) + c * x(d) * x(d)).exp().min(1.0))
                        .collect()
                });
                fitted = at.or(fitted);
            }
            let Some(at) = &fitted else {
                return Self::binomial(&ln_choose, median as f64 / width as f64);
            };
            let follows = |steps: usize| {
                let below = from.saturating_sub(steps)..from;
                let expected: f64 = below.clone().map(|d| at[d] * seen[d].among).sum();
                let found: f64 = below.map(|d| seen[d].count).sum();
                found <= expected * (1.0 + TOLERANCE) + DEVIATIONS * expected.sqrt() + SLACK
            };
            if from == 0 || !follows(1) || !follows(3) {
                break;
            }
            from -= 1;
        }
        Self { at: fitted.unwrap_or_default(), from }
    }

    /// Of bits that differ independently, each with this probability. Nothing follows it by measurement.
    fn binomial(ln_choose: &[f64], p: f64) -> Self {
        let width = ln_choose.len() - 1;
        let p = p.clamp(0.125, 0.875);
        let ln_at = |d: usize| ln_choose[d] + d as f64 * p.ln() + (width - d) as f64 * (1.0 - p).ln();
        Self { at: (0..=width).map(|d| ln_at(d).exp()).collect(), from: width / 4 }
    }
}

/// Neighbours where they were looked for, random pairs beyond.
fn seen(bits: u32, pairs: &[u64], near: &[u64], near_among: f64) -> Vec<Seen> {
    let pairs_among: f64 = pairs.iter().map(|&count| count as f64).sum();
    let at = |d: usize| match near.get(d) {
        Some(&count) => Seen { count: count as f64, among: near_among },
        None => Seen { count: pairs.get(d).map_or(0.0, |&count| count as f64), among: pairs_among },
    };
    (0..=bits as usize).map(at).collect()
}

/// ln C(bits, d) for every d.
fn ln_binomials(bits: u32) -> Vec<f64> {
    let mut sum = 0.0;
    let step = |d: u32| {
        if d > 0 {
            sum += (f64::from(bits - d + 1) / f64::from(d)).ln();
        }
        sum
    };
    (0..=bits).map(step).collect()
}

/// The parabola a + b x + c x^2 of the least squares through points (x, y, weight); `None` if they do not tell it.
fn parabola(points: &[(f64, f64, f64)]) -> Option<[f64; 3]> {
    if points.len() < 4 {
        return None;
    }
    // Around the mean x, so that the normal equations are well conditioned.
    let weights: f64 = points.iter().map(|p| p.2).sum();
    let middle = points.iter().map(|p| p.0 * p.2).sum::<f64>() / weights;
    let mut m = [[0.0f64; 4]; 3];
    for &(x, y, weight) in points {
        let powers = [1.0, x - middle, (x - middle) * (x - middle)];
        for (row, power) in m.iter_mut().zip(powers) {
            for (cell, value) in row.iter_mut().zip([powers[0], powers[1], powers[2], y]) {
                *cell += weight * power * value;
            }
        }
    }
    // Gauss and Jordan; the matrix is positive definite, so no pivoting.
    for i in 0..3 {
        let pivot = m[i][i];
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        let row = m[i].map(|value| value / pivot);
        m[i] = row;
        for (j, other) in m.iter_mut().enumerate() {
            if j != i {
                let factor = other[i];
                other.iter_mut().zip(row).for_each(|(cell, value)| *cell -= factor * value);
            }
        }
    }
    let [a, b, c] = [m[0][3], m[1][3], m[2][3]];
    let all = [a - b * middle + c * middle * middle, b - 2.0 * c * middle, c];
    all.iter().all(|value| value.is_finite()).then_some(all)
}

/// A row for each distance up to which neighbours were looked for, one of them suggested.
pub fn suggest(counts: &Counts) -> Vec<Row> {
    let among = counts.sampled as f64 * counts.rows.saturating_sub(1) as f64;
    let seen = seen(counts.bits, &counts.pairs, &counts.near, among);
    let chance = Chance::fit(counts.bits, &seen);
    let mut found = 0;
    let mut rows: Vec<Row> = (0..counts.near.len())
        .map(|d| {
            found += counts.near[d];
            Row {
                distance: d as u32,
                expected_false: chance.neighbours(d as u32, counts.rows),
                found: if counts.sampled > 0 { found as f64 / counts.sampled as f64 } else { 0.0 },
                suggested: false,
            }
        })
        .collect();
    let best = best_f1(&chance, &seen[..rows.len()], &counts.nearest)
        .map(|best| before_growth(counts.bits, &seen[..rows.len()], best));
    let suggested =
        best.unwrap_or_else(|| rows.iter().rposition(|row| row.expected_false <= NEGLIGIBLE).unwrap_or(0));
    if let Some(row) = rows.get_mut(suggested) {
        row.suggested = true;
    }
    rows
}

/// The distance of the best F1 by rows, every nearest neighbour being true that chance does not explain; `None` unless more
/// neighbours were found than by chance.
fn best_f1(chance: &Chance, seen: &[Seen], nearest: &[u64]) -> Option<usize> {
    let by_chance = |d: usize| chance.at[d] * seen[d].among;
    let below = 0..chance.from.min(seen.len()).min(nearest.len());
    let expected: f64 = below.clone().map(by_chance).sum();
    let neighbours: f64 = seen[below.clone()].iter().map(|s| s.count).sum();
    if neighbours < expected + DEVIATIONS * expected.sqrt() + SLACK {
        return None;
    }
    let (mut truly, mut found) = (0.0, 0.0);
    let sums: Vec<(f64, f64)> = below
        .map(|d| {
            truly += (nearest[d] as f64 - by_chance(d)).max(0.0);
            found += nearest[d] as f64;
            (truly, found)
        })
        .collect();
    let f1 = |&(true_within, within): &(f64, f64)| 2.0 * true_within / (within + truly);
    // The least distance of several: where nothing more is found, a larger one only takes in chance.
    (0..sums.len()).reduce(|best, d| if f1(&sums[d]) > f1(&sums[best]) { d } else { best })
}

/// The greatest distance up to `best` around which neighbours do not grow by more than e in bits / 16; where they grow all
/// the way, that of the least growth. Counts too small to tell do not grow.
fn before_growth(bits: u32, seen: &[Seen], best: usize) -> usize {
    let half = (bits / 32).max(1) as usize;
    // What is counted around distances half of bits / 16 below and above.
    let around = |d: usize| seen[d - 1..=d + 1].iter().map(|s| s.count).sum::<f64>();
    let e = std::f64::consts::E;
    let grows = |low: f64, high: f64| high > e * low + DEVIATIONS * (high + e * e * low).sqrt();
    let (first, last) = (half + 1, seen.len().saturating_sub(half + 2));
    let mut least: Option<(f64, usize)> = None;
    for d in (first..=best.min(last)).rev() {
        let (low, high) = (around(d - half), around(d + half));
        if !grows(low, high) {
            // Beyond the last distance that can be told nothing speaks against the best.
            return if d == last { best } else { d };
        }
        let growth = high / (low + 1.0);
        if least.is_none_or(|(known, _)| growth < known) {
            least = Some((growth, d));
        }
    }
    least.map_or(best, |(_, d)| d)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// SplitMix64 (Steele, Lea and Flood 2014).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        fn wide(&mut self) -> u128 {
            u128::from(self.next()) << 64 | u128::from(self.next())
        }

        fn below(&mut self, end: u64) -> u64 {
            self.next() % end
        }
    }

    /// Rows of a table, and the origin of each.
    struct Table<F> {
        fingerprints: Vec<F>,
        origins: Vec<usize>,
    }

    impl<F: Key> Table<F> {
        /// So many rows, of which every `each`-th is a copy of another with up to `edits` bits changed.
        fn with_copies(rows: usize, each: usize, edits: u64, random: &mut Random) -> Self {
            let mut table = Table { fingerprints: Vec::<F>::new(), origins: Vec::new() };
            for i in 0..rows {
                if i % each == 1 {
                    let changed = (0..random.below(edits + 1)).fold(table.fingerprints[i - 1], |f, _| {
                        f ^ F::bit(random.below(u64::from(F::BITS)) as u32)
                    });
                    table.fingerprints.push(changed);
                    table.origins.push(i - 1);
                } else {
                    table.fingerprints.push(F::from_u128(random.wide()));
                    table.origins.push(i);
                }
            }
            table
        }

        /// All there is to count, with every row's neighbours up to a distance.
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
                pairs,
                sampled: self.fingerprints.len() as u64,
            }
        }

        /// F1 of every distance by the origins.
        fn f1(&self) -> Vec<f64> {
            let mut copies = vec![0u32; F::BITS as usize + 1];
            let mut others = copies.clone();
            for (i, a) in self.fingerprints.iter().enumerate() {
                for (j, b) in self.fingerprints[..i].iter().enumerate() {
                    let kind = if self.origins[i] == self.origins[j] { &mut copies } else { &mut others };
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
    fn every_item_is_as_likely_to_be_in_a_sample_and_in_its_first_part() {
        let (mut kept, mut first) = ([0u32; 40], [0u32; 40]);
        let mut random = 0;
        for _ in 0..20_000 {
            let mut sample = Sample { random, ..Sample::new(10) };
            (0..40).for_each(|i| sample.offer(i));
            assert_eq!(sample.seen(), 40);
            random = sample.below(u64::MAX);
            let items = sample.into_items();
            items.iter().for_each(|&i| kept[i] += 1);
            items[..4].iter().for_each(|&i| first[i] += 1);
        }
        assert!(kept.iter().all(|count| (4_700..5_300).contains(count)), "{kept:?}");
        assert!(first.iter().all(|count| (1_800..2_200).contains(count)), "{first:?}");
        let mut few = Sample::new(10);
        (0..3).for_each(|i| few.offer(i));
        assert_eq!(few.into_items().len(), 3);
    }

    #[test]
    fn pairs_are_counted_one_by_one() {
        let mut random = Random(1);
        for rows in [0, 1, 2, 3, 8, 57] {
            let sample: Vec<u64> = (0..rows).map(|_| random.next() & random.next()).collect();
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
        let mut random = Random(2);
        let sample: Vec<u64> = (0..3000).map(|_| random.next()).collect();
        let chance = Chance::of_pairs(64, &pair_distances(&sample, &mut || ()));
        // 4.5 million pairs hold two within 13; sums of C(64, i) / 2^64, by exact integers.
        let choose = |n: u128, k: u128| (0..k).fold(1u128, |c, i| c * (n - i) / (i + 1));
        for distance in [3u32, 6, 10, 13, 20] {
            let exact = (0..=distance).map(|i| choose(64, u128::from(i)) as f64).sum::<f64>() / 64f64.exp2();
            let fitted = chance.neighbours(distance, 2);
            assert!((fitted / exact).ln().abs() < 0.8, "{distance}: {fitted:e}, {exact:e}");
        }
    }

    #[test]
    fn bits_that_agree_with_each_other_make_a_heavier_tail_which_is_followed() {
        // Every row draws how probable its bits are: distances vary more than by a binomial distribution.
        let mut random = Random(3);
        let draw = |random: &mut Random| {
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
        let mut random = Random(4);
        for (each, edits) in [(2, 3), (3, 6), (10, 4), (50, 8)] {
            let table = Table::<u64>::with_copies(3000, each, edits, &mut random);
            let f1 = table.f1();
            let best = f1.iter().copied().fold(0.0, f64::max);
            let at = suggested(&suggest(&table.counts(24)));
            assert!(f1[at] > best - 0.02, "every {each}-th, {edits} edits: {} at {at} of {best}", f1[at]);
            let table = Table::<u128>::with_copies(2000, each, 3 * edits, &mut random);
            let f1 = table.f1();
            let best = f1.iter().copied().fold(0.0, f64::max);
            let at = suggested(&suggest(&table.counts(50)));
            assert!(f1[at] > best - 0.02, "128 bits, every {each}-th: {} at {at} of {best}", f1[at]);
        }
    }

    #[test]
    fn without_copies_the_greatest_distance_that_takes_in_next_to_nothing_is_suggested() {
        let mut random = Random(5);
        let table = Table::<u64>::with_copies(3000, usize::MAX, 0, &mut random);
        let rows = suggest(&table.counts(24));
        let at = suggested(&rows);
        assert!(rows[at].expected_false <= NEGLIGIBLE && rows[at + 1].expected_false > NEGLIGIBLE);
        assert!((9..=12).contains(&at), "{at}");
    }

    #[test]
    fn what_grows_with_the_distance_is_related_and_no_copy() {
        // Copies: 40 at each distance up to 16; related pairs: 2 at 12, half as many more with each bit. Chance is far away.
        let pairs = (0..=128).map(|d: i32| {
            let copies = if d <= 16 { 40.0 } else { 0.0 };
            let related = if (12..48).contains(&d) { 2.0 * 1.5f64.powi(d - 12) } else { 0.0 };
            let chance = 1e9 * (-f64::from((d - 64) * (d - 64)) / 64.0).exp();
            (copies + related + chance) as u64
        });
        let pairs: Vec<u64> = pairs.collect();
        let near = pairs[..=40].to_vec();
        let rows =
            suggest(&Counts { bits: 128, rows: 100_000, sampled: 1000, nearest: near.clone(), near, pairs });
        assert!((12..=20).contains(&suggested(&rows)), "{rows:?}");
    }

    #[test]
    fn a_table_of_equal_rows_gets_distance_0() {
        for rows in [4, 5, 100] {
            let table = Table { fingerprints: vec![7u64; rows], origins: vec![0; rows] };
            let rows = suggest(&table.counts(16));
            assert_eq!(suggested(&rows), 0);
            assert!(rows[0].true_share() > Some(0.99));
        }
    }

    #[test]
    fn an_empty_table_has_an_answer() {
        let rows = suggest(&Counts {
            bits: 64,
            rows: 0,
            pairs: vec![0; 65],
            sampled: 0,
            near: vec![0; 17],
            nearest: vec![0; 17],
        });
        assert_eq!(suggested(&rows), 16);
        assert!(
            rows.iter()
                .all(|row| row.found == 0.0 && row.expected_false == 0.0 && row.true_share().is_none())
        );
    }

    proptest! {
        #[test]
        fn whatever_was_counted_there_is_one_suggestion_and_no_nonsense(
            bits in prop_oneof![Just(64u32), Just(128)],
            rows in prop_oneof![0u64..50, 0..u64::MAX],
            sampled in prop_oneof![0u64..50, 0u64..1 << 40],
            reach in 0usize..65,
            counts in proptest::collection::vec(prop_oneof![Just(0u64), 0u64..20, 0u64..1 << 40], 194),
        ) {
            let pairs = counts[..=bits as usize].to_vec();
            let near = counts[129..=129 + reach.min(64)].to_vec();
            let nearest = counts[64..64 + near.len()].to_vec();
            let answer = suggest(&Counts { bits, rows, pairs, sampled, near: near.clone(), nearest });
            prop_assert_eq!(answer.len(), near.len());
            suggested(&answer);
            for (i, row) in answer.iter().enumerate() {
                prop_assert!(row.expected_false.is_finite() && row.expected_false >= 0.0 && row.found.is_finite());
                prop_assert!(row.true_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
                if let Some(before) = i.checked_sub(1).map(|j| answer[j]) {
                    prop_assert!(row.expected_false >= before.expected_false && row.found >= before.found);
                }
            }
        }
    }
}
