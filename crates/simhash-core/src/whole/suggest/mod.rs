//! Suggests a distance for rows without labels, from the neighbours expected by chance, those
//! found, and the distance where copies end.
//!
//! Chance: the distances of pairs of random rows are counted. To their tail a distribution is
//! fitted whose bits agree with each other more than independent ones do: ln p(d) = ln C(bits, d) +
//! a + b d + c d^2, the multiplicative binomial (Altham 1978). The fit starts at the least distance
//! from which the counts follow it. Texts share words, so c > 0. A plain binomial is wrong by
//! orders of magnitude in the tail.
//!
//! Found: the neighbours of a sample of rows are counted by distance. Those beyond chance count as
//! true. F1 is computed by rows: a row's nearest neighbour is compared with all that chance brings,
//! so that rows with many related ones do not outweigh the others. F1 is greatest where chance
//! begins to dominate.
//!
//! Related: texts of one kind, such as laws, are nearer to each other than by chance, and are no
//! copies. The number of copies at a distance falls or stays the same as the distance grows. The
//! number of merely related texts grows, as that of chance neighbours does. So the distance is
//! lowered from that maximum as long as the neighbours at a distance grow by more than a factor e
//! in bits / 16.

mod chance;
mod sample;
pub mod similarity;
#[cfg(test)]
mod tests;

pub use chance::{Chance, pair_distances};
pub use sample::Sample;

use chance::{DEVIATIONS, SLACK};

/// Up to this many false neighbours of a row, on average, are negligible.
pub const NEGLIGIBLE: f64 = 0.001;

/// The counts from which a distance is suggested.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The width of the fingerprints.
    pub bits: u32,
    /// The number of visible rows.
    pub rows: u64,
    /// Pairs of random rows by distance, from 0 to the width.
    pub pairs: Vec<u64>,
    /// The number of rows whose neighbours were searched for.
    pub sampled: u64,
    /// The neighbours of those rows by distance, as far as they were searched for. A neighbour of
    /// several rows counts for each.
    pub near: Vec<u64>,
    /// The number of these distances, from 0 on, at which all neighbours were counted.
    pub complete: usize,
    /// The nearest neighbours of those rows by distance. As many distances as in `near`.
    pub nearest: Vec<u64>,
    /// The rows that have a crowd of neighbours within each distance, and the neighbours within it
    /// of those whose crowd is a family. As many distances as in `near`.
    pub crowds: Vec<Crowds>,
}

/// The number of neighbours from which on a row is crowded.
pub const CROWD: f64 = 24.0;

/// A table is one of families if at least this share of neighbours is of families.
pub const FAMILIES: f64 = 2.0 / 3.0;

/// Rows with many neighbours. An edited text has few versions; a template is filled in dozens of
/// times.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Crowds {
    /// The rows that have at least [`CROWD`] neighbours.
    pub rows: u64,
    /// The neighbours of those of these rows whose neighbours are mostly not near copies.
    pub of_families: f64,
}

impl Crowds {
    /// Counts a row with `found` neighbours, of which `copies` are near copies. Returns whether
    /// they are a family.
    pub fn count(&mut self, found: f64, copies: f64) -> bool {
        let is_crowd = found >= CROWD;
        let is_family = is_crowd && copies < found / 2.0;
        self.rows += u64::from(is_crowd);
        self.of_families += if is_family { found } else { 0.0 };
        is_family
    }
}

/// The distance up to which fingerprints are those of near copies.
pub fn copies(bits: u32) -> u32 {
    bits / 16
}

/// One distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub distance: u32,
    /// How many neighbours of a row are within the distance by chance.
    pub expected_false: f64,
    /// How many neighbours of a row were found within the distance.
    pub found: f64,
    /// About how many pairs of rows are at the distance.
    pub pairs: f64,
    /// About how many rows have a neighbour within the distance, and a crowd of them.
    pub near: f64,
    pub crowded: f64,
    /// The share of the neighbours within the distance that are of families.
    pub related: f64,
    pub suggested: bool,
}

impl Row {
    /// The share of the neighbours found that chance does not explain. That says nothing about
    /// copies: related texts are beyond chance too. `None` if none was found.
    pub fn beyond_chance(&self) -> Option<f64> {
        (self.found > 0.0).then(|| (1.0 - self.expected_false / self.found).max(0.0))
    }
}

/// The distance up to which neighbours are to be searched for: where every other row has one by
/// chance, and a little further, so that growth shows there, but not where many are there by
/// chance.
pub fn reach(chance: &Chance, bits: u32, rows: u64) -> u32 {
    const SOME: f64 = 0.5;
    const MANY: f64 = 200.0;
    let first = |least| {
        (0..bits / 2)
            .find(|&distance| chance.neighbours(distance, rows) >= least)
            .unwrap_or(bits / 2)
    };
    (first(SOME) + bits / 32 + 2).min(first(MANY)).max(first(SOME)).min(bits / 2)
}

/// A row for each distance at which neighbours were searched for. One of them is suggested, unless
/// fewer than two rows are visible.
pub fn suggest(counts: &Counts) -> Vec<Row> {
    let among = counts.sampled as f64 * counts.rows.saturating_sub(1) as f64;
    let complete = &counts.near[..counts.complete.min(counts.near.len())];
    let chance = Chance::of_neighbours(counts.bits, &counts.pairs, complete, among);
    let (mut found, mut near) = (0, 0);
    let sampled = counts.sampled.max(1) as f64;
    let of_table = counts.rows as f64 / sampled;
    let mut rows: Vec<Row> = (0..counts.near.len())
        .map(|d| {
            found += counts.near[d];
            near += counts.nearest[d];
            let crowds = counts.crowds.get(d).copied().unwrap_or_default();
            Row {
                distance: d as u32,
                expected_false: chance.neighbours(d as u32, counts.rows),
                found: found as f64 / sampled,
                pairs: counts.near[d] as f64 * of_table / 2.0,
                near: near as f64 * of_table,
                crowded: crowds.rows as f64 * of_table,
                related: crowds.of_families / (found as f64).max(1.0),
                suggested: false,
            }
        })
        .collect();
    if counts.rows < 2 {
        return rows;
    }
    let best =
        best_f1(&chance, counts, among).map(|best| before_growth(counts.bits, &counts.near, best));
    let suggested = best.unwrap_or_else(|| {
        rows.iter().rposition(|row| row.expected_false <= NEGLIGIBLE).unwrap_or(0)
    });
    if let Some(row) = rows.get_mut(suggested) {
        row.suggested = true;
    }
    rows
}

/// The distance of the best F1 by rows, where a nearest neighbour is true if chance does not
/// explain it. `None` unless more neighbours were found than chance brings.
fn best_f1(chance: &Chance, counts: &Counts, among: f64) -> Option<usize> {
    let Counts { near, nearest, .. } = counts;
    let by_chance = |d: usize| chance.at(d) * among;
    let below = 0..chance.from.min(near.len()).min(nearest.len());
    let expected: f64 = below.clone().map(by_chance).sum();
    let neighbours: f64 = near[below.clone()].iter().map(|&count| count as f64).sum();
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
    // The least of several such distances: where nothing more is found, a larger one only adds
    // chance.
    (0..sums.len()).reduce(|best, d| if f1(&sums[d]) > f1(&sums[best]) { d } else { best })
}

/// The greatest distance up to `best` around which neighbours do not grow by more than a factor e
/// in bits / 16. If they grow that much everywhere, the distance of the least growth. Growth within
/// the noise of small counts does not count.
fn before_growth(bits: u32, near: &[u64], best: usize) -> usize {
    let half = (bits / 32).max(1) as usize;
    // The count at a distance and those next to it.
    let around = |d: usize| near[d - 1..=d + 1].iter().map(|&count| count as f64).sum::<f64>();
    let e = std::f64::consts::E;
    let grows = |low: f64, high: f64| high > e * low + DEVIATIONS * (high + e * e * low).sqrt();
    let (first, last) = (half + 1, near.len().saturating_sub(half + 2));
    let mut least: Option<(f64, usize)> = None;
    for d in (first..=best.min(last)).rev() {
        let (low, high) = (around(d - half), around(d + half));
        if !grows(low, high) {
            // Beyond the last distance growth is unknown, so the best distance remains.
            return if d == last { best } else { d };
        }
        let growth = high / (low + 1.0);
        if least.is_none_or(|(known, _)| growth < known) {
            least = Some((growth, d));
        }
    }
    least.map_or(best, |(_, d)| d)
}
