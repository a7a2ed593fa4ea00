//! The distances of random pairs, and the distribution that extends their tail to all rows.

use crate::base::key::Key;

/// Counts the distances of all pairs of a sample. `check` is called about every 10 microseconds.
pub fn pair_distances<F: Key>(sample: &[F], check: &mut dyn FnMut()) -> Vec<u64> {
    // Two counters for each distance: consecutive pairs often have the same distance, and would
    // wait for each other.
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

/// The probability of every distance between two unrelated rows.
#[derive(Debug, Clone)]
pub struct Chance {
    at: Vec<f64>,
    /// The least distance from which on the counts follow the distribution. Below it, more pairs
    /// were counted, or none.
    pub from: usize,
}

/// The pairs at a distance, and among how many pairs they were counted.
#[derive(Debug, Clone, Copy)]
struct Seen {
    count: f64,
    among: f64,
}

impl Seen {
    fn rate(&self) -> f64 {
        self.count / self.among.max(1.0)
    }
}

/// With fewer pairs than this, about those of a hundred rows, no parabola is fitted.
const MANY: f64 = 5000.0;
/// Fewer pairs than this at a distance say too little about its probability for a fit.
const FEW: f64 = 8.0;
/// The share by which counts may exceed a fit.
const TOLERANCE: f64 = 0.1;
/// In addition, counts may exceed the fit by this many square roots of the expected count, and by
/// the slack. Both rows of a pair may have counted it, so that is 2.5 standard deviations and one
/// pair.
pub(super) const DEVIATIONS: f64 = 3.5;
pub(super) const SLACK: f64 = 3.0;
/// The relative error of the model itself, so that millions of pairs in the middle do not outweigh
/// thousands in the tail.
const MODEL_ERROR: f64 = 0.05;

impl Chance {
    /// The distribution from the distances of random pairs alone.
    pub fn of_pairs(bits: u32, pairs: &[u64]) -> Self {
        Self::of_neighbours(bits, pairs, &[], 0.0)
    }

    /// The distribution from the distances of neighbours, counted among `among` pairs, as far as
    /// neighbours were searched for, and from those of random pairs beyond.
    pub(super) fn of_neighbours(bits: u32, pairs: &[u64], near: &[u64], among: f64) -> Self {
        Self::fit(bits, &seen(bits, pairs, near, among))
    }

    /// The number of `rows` rows that are within a distance of one of them by chance.
    pub fn neighbours(&self, distance: u32, rows: u64) -> f64 {
        let within: f64 = self.at.iter().take(distance as usize + 1).sum();
        within.min(1.0) * rows.saturating_sub(1) as f64
    }

    /// The probability of a distance.
    pub(super) fn at(&self, distance: usize) -> f64 {
        self.at[distance]
    }

    fn fit(bits: u32, seen: &[Seen]) -> Self {
        let width = bits as usize;
        let ln_choose = ln_binomials(bits);
        let rate = |d: usize| seen[d].rate();
        let first = end_of_clusters(seen);
        let all: f64 = (first..=width).map(rate).sum();
        let quantile = |share: f64| {
            let mut sum = 0.0;
            let reached = |d: &usize| {
                sum += rate(*d);
                sum >= share * all
            };
            (first..=width).find(reached).unwrap_or(width)
        };
        let median = quantile(0.5);
        if all <= 0.0 || median < width / 8 {
            // Nothing was counted, or all pairs may be copies.
            return Self::binomial(&ln_choose, 0.5);
        }
        if seen[width].among < MANY {
            return Self::binomial(&ln_choose, median as f64 / width as f64);
        }
        let mut fitted = None;
        let mut from = quantile(0.05).min(median.saturating_sub(3));
        loop {
            if seen[from].count >= FEW {
                let points = (from..=median.min(from + width / 8))
                    .filter(|&d| seen[d].count >= FEW)
                    .map(|d| {
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

    /// The distribution of bits that differ independently, each with this probability. No counts
    /// were compared with it.
    fn binomial(ln_choose: &[f64], p: f64) -> Self {
        let width = ln_choose.len() - 1;
        let p = p.clamp(0.125, 0.875);
        let ln_at =
            |d: usize| ln_choose[d] + d as f64 * p.ln() + (width - d) as f64 * (1.0 - p).ln();
        Self { at: (0..=width).map(|d| ln_at(d).exp()).collect(), from: width / 4 }
    }
}

/// The distance at which pairs within clusters end and those of other rows begin. The pairs of
/// large clusters make a hill of their own, with its top within 3/16 of the width. Then this is the
/// lowest place between that hill and a later one, otherwise 0.
fn end_of_clusters(seen: &[Seen]) -> usize {
    /// The lower hill is more than this many times as high as the place between.
    const DEPTH: f64 = 2.0;
    /// The pairs of other rows are more than this share of all.
    const LEAST: f64 = 0.01;
    let width = seen.len() - 1;
    let rates: Vec<f64> = seen.iter().map(Seen::rate).collect();
    let all: f64 = rates.iter().sum();
    let mut lowest = (DEPTH, 0);
    let (mut hill, mut before) = (0.0f64, 0.0);
    for d in 0..width {
        let later = rates[d + 1..].iter().copied().fold(0.0, f64::max);
        // Where nothing was counted, half a pair is assumed.
        let depth = hill.min(later) / rates[d].max(0.5 / seen[d].among.max(1.0));
        if depth > lowest.0 && all - before > LEAST * all {
            lowest = (depth, d);
        }
        before += rates[d];
        if d <= width * 3 / 16 && seen[d].count >= FEW {
            hill = hill.max(rates[d]);
        }
    }
    lowest.1
}

/// The counts at every distance: of neighbours as far as they were searched for, of random pairs
/// beyond.
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

/// The parabola a + b x + c x^2 of the least squares through points (x, y, weight). `None` if the
/// points do not determine it.
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
    // Gauss-Jordan elimination. The matrix is positive definite, so it needs no pivoting.
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
