//! Pairs counted by the similarity of their word pairs, and by whether they have one label.

use std::ops::AddAssign;

use rayon::prelude::*;
use serde::Serialize;

use super::join::Near;
use super::sets::Sets;

/// Two texts, the earlier one first.
pub type Found = Vec<(u32, u32)>;

/// The least similarities of the bins that are distinguished.
const BINS: [f64; 7] = [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9];

/// How many pairs are in each of [`BINS`]: of one label, and of two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    same: [u64; BINS.len()],
    other: [u64; BINS.len()],
}

impl Tally {
    fn one(similarity: f64, same: bool) -> Self {
        let mut tally = Tally::default();
        let bin = BINS.iter().rposition(|&least| similarity >= least).unwrap_or(0);
        (if same { &mut tally.same } else { &mut tally.other })[bin] = 1;
        tally
    }
}

impl Tally {
    /// All pairs of one label.
    pub fn all_same(&self) -> u64 {
        self.same.iter().sum()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.same.iter_mut().zip(more.same).for_each(|(sum, more)| *sum += more);
        self.other.iter_mut().zip(more.other).for_each(|(sum, more)| *sum += more);
    }
}

/// The number of pairs in each hundredth of similarity, from the least known one on: of one label,
/// and of two.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Curve {
    same: Vec<u64>,
    other: Vec<u64>,
}

impl Curve {
    pub fn same(&self) -> &[u64] {
        &self.same
    }

    pub fn other(&self) -> &[u64] {
        &self.other
    }
}

/// Counts pairs of one set of texts.
pub struct Tallies<'a> {
    pub labels: &'a [u32],
    pub pairs: &'a Sets,
}

impl Tallies<'_> {
    fn sum(&self, tallies: impl ParallelIterator<Item = Tally>) -> Tally {
        tallies.reduce(Tally::default, |mut sum, more| {
            sum += more;
            sum
        })
    }

    fn same(&self, a: u32, b: u32) -> bool {
        self.labels[a as usize] == self.labels[b as usize]
    }

    /// Counts all pairs from a similarity on.
    pub fn curve(&self, near: &[Near], least: f64) -> Curve {
        // A quotient such as 57 / 100 may be too small in its last bit.
        let hundredth = |similarity: f64| (similarity * 100.0 + 1e-9) as usize;
        let none = vec![0; 101 - hundredth(least)];
        let mut curve = Curve { same: none.clone(), other: none };
        for pair in near {
            let same = self.same(pair.a, pair.b);
            let counts = if same { &mut curve.same } else { &mut curve.other };
            counts[hundredth(pair.similarity()) - hundredth(least)] += 1;
        }
        curve
    }

    pub fn of(&self, found: &Found) -> Tally {
        self.sum(
            found.par_iter().map(|&(a, b)| Tally::one(self.pairs.jaccard(a, b), self.same(a, b))),
        )
    }

    /// All pairs of different labels among the near ones, and all pairs of one label.
    pub fn truth(&self, near: &[Near]) -> Tally {
        let other = near.par_iter().filter(|pair| !self.same(pair.a, pair.b));
        let mut truth = self.sum(other.map(|pair| Tally::one(pair.similarity(), false)));
        let mut members: Vec<u32> = (0..self.labels.len() as u32).collect();
        members.sort_by_key(|&text| self.labels[text as usize]);
        truth += self.sum((0..members.len()).into_par_iter().map(|at| {
            let a = members[at];
            let mut sum = Tally::default();
            for &b in members[at + 1..].iter().take_while(|&&b| self.same(a, b)) {
                sum += Tally::one(self.pairs.jaccard(a, b), true);
            }
            sum
        }));
        truth
    }
}

#[cfg(test)]
mod tests {
    use super::super::join::join;
    use super::*;

    #[test]
    fn pairs_are_counted_by_similarity_and_label() {
        let mut pairs = Sets::new();
        for elements in [&[1, 2, 3, 4][..], &[1, 2, 3, 4], &[1, 2, 3], &[1, 9], &[]] {
            pairs.push(&mut elements.to_vec());
        }
        let tallies = Tallies { labels: &[0, 1, 0, 0, 1], pairs: &pairs };
        // 0-1: 1, 0-2 and 1-2: 3/4, 0-3 and 1-3: 1/5, 2-3: 1/4, the empty one: 0.
        let truth = tallies.truth(&join(&pairs, 0.5));
        assert_eq!(truth.same, [3, 0, 0, 0, 1, 0, 0]);
        assert_eq!(truth.other, [0, 0, 0, 0, 1, 0, 1]);
        let curve = tallies.curve(&join(&pairs, 0.5), 0.5);
        assert_eq!((curve.same[25], curve.same.iter().sum::<u64>()), (1, 1));
        assert_eq!((curve.other[25], curve.other[50], curve.other.len()), (1, 1, 51));
        assert_eq!(curve.other.iter().sum::<u64>(), 2);
        let found = tallies.of(&vec![(0, 1), (1, 3), (0, 2)]);
        assert_eq!((found.same, found.other), ([0, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0, 1]));
    }
}
