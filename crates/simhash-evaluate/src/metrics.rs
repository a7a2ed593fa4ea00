//! Precision, recall and F1 of the rule "a pair within the distance is a duplicate", and their
//! uncertainty.

use rayon::prelude::*;

use crate::random::Random;
use crate::truth::{Truth, band};

/// How many pairs a decision gets right and wrong.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Confusion {
    /// Duplicates that are found.
    pub tp: f64,
    /// Other pairs that are taken for duplicates.
    pub fp: f64,
    /// Duplicates that are missed.
    pub fn_: f64,
}

impl Confusion {
    /// tp / (tp + fp), or 1 when nothing is found.
    pub fn precision(self) -> f64 {
        if self.tp + self.fp > 0.0 { self.tp / (self.tp + self.fp) } else { 1.0 }
    }

    /// tp / (tp + fn), or 0 when there is nothing to find.
    pub fn recall(self) -> f64 {
        if self.tp + self.fn_ > 0.0 { self.tp / (self.tp + self.fn_) } else { 0.0 }
    }

    /// The harmonic mean of both, 2 tp / (2 tp + fp + fn).
    pub fn f1(self) -> f64 {
        if self.tp > 0.0 { 2.0 * self.tp / (2.0 * self.tp + self.fp + self.fn_) } else { 0.0 }
    }
}

/// The distances of all pairs, by kind.
#[derive(Debug, Default, Clone)]
pub struct Distances {
    /// Of the truth's pairs, in the same order.
    pub duplicates: Vec<u32>,
    /// The number of other pairs at each distance, and of pairs that count neither way.
    pub others: Vec<u64>,
    pub unlabelled: Vec<u64>,
    /// The nearest others, as documents and distance: all of them up to `near_to`.
    near: Vec<(u32, u32, u32)>,
    near_to: Option<u32>,
}

/// The most other pairs that are kept singly. A distance that takes more is of no interest.
const MOST_NEAR: usize = 20_000;

impl Distances {
    /// Measures all pairs. `distance` is at most `width`.
    pub fn measure(
        truth: &Truth,
        width: u32,
        distance: impl Fn(usize, usize) -> u32 + Sync,
    ) -> Self {
        let documents = truth.groups.len();
        let near_limit = width * 3 / 8;
        let (others, mut near) = (0..documents)
            .into_par_iter()
            .fold(
                || (vec![0u64; width as usize + 1], Vec::new()),
                |(mut others, mut near), a| {
                    let unlabelled = &truth.unlabelled[a];
                    for b in a + 1..documents {
                        if truth.groups[a] == truth.groups[b]
                            || !unlabelled.is_empty()
                                && unlabelled.binary_search(&(b as u32)).is_ok()
                        {
                            continue;
                        }
                        let apart = distance(a, b);
                        others[apart as usize] += 1;
                        if apart <= near_limit {
                            near.push((a as u32, b as u32, apart));
                        }
                    }
                    (others, near)
                },
            )
            .reduce(
                || (vec![0; width as usize + 1], Vec::new()),
                |(mut others, mut near), (more_others, more_near)| {
                    others.iter_mut().zip(more_others).for_each(|(sum, more)| *sum += more);
                    near.extend(more_near);
                    (others, near)
                },
            );
        let mut sum = 0;
        let near_to = (0..=near_limit).take_while(|&d| {
            sum += others[d as usize] as usize;
            sum <= MOST_NEAR
        });
        let near_to = near_to.last();
        near.retain(|&(_, _, d)| near_to.is_some_and(|to| d <= to));
        let duplicates = truth.pairs.iter().map(|pair| distance(pair.a, pair.b)).collect();
        let mut unlabelled = vec![0; others.len()];
        for (a, later) in truth.unlabelled.iter().enumerate() {
            later.iter().for_each(|&b| unlabelled[distance(a, b as usize) as usize] += 1);
        }
        Distances { duplicates, others, unlabelled, near, near_to }
    }

    /// The number of duplicates of each band at each distance.
    pub fn by_band(&self, truth: &Truth) -> [Vec<u64>; 4] {
        let mut counts: [Vec<u64>; 4] = std::array::from_fn(|_| vec![0; self.others.len()]);
        for (pair, &distance) in truth.pairs.iter().zip(&self.duplicates) {
            counts[band(pair.similarity)][distance as usize] += 1;
        }
        counts
    }
}

/// Whether a pair of the truth with this similarity should be found.
pub type Wanted = fn(f64) -> bool;

/// Pairs of one group with a similarity of at least 0.5: a reader would call them near-duplicates.
pub fn similar(similarity: f64) -> bool {
    band(similarity) < 3
}

/// Pairs of one group.
pub fn all(_: f64) -> bool {
    true
}

/// The decision at each distance from 0 to the width.
pub fn confusions(truth: &Truth, distances: &Distances, wanted: Wanted) -> Vec<Confusion> {
    let mut found = vec![0.0; distances.others.len()];
    let mut duplicates = 0.0;
    for (pair, &distance) in truth.pairs.iter().zip(&distances.duplicates) {
        if wanted(pair.similarity) {
            found[distance as usize] += 1.0;
            duplicates += 1.0;
        }
    }
    let (mut tp, mut fp) = (0.0, 0.0);
    let others = distances.others.iter();
    found
        .iter()
        .zip(others)
        .map(|(&found, &others)| {
            tp += found;
            fp += others as f64;
            Confusion { tp, fp, fn_: duplicates - tp }
        })
        .collect()
}

/// The distance with the greatest F1, the smallest of equals.
pub fn best(confusions: &[Confusion]) -> usize {
    (0..confusions.len())
        .rev()
        .max_by(|&a, &b| confusions[a].f1().total_cmp(&confusions[b].f1()))
        .unwrap_or(0)
}

/// The greatest distance at which at most `rate` of all other pairs are taken. `None` if distance 0
/// takes more, or if there are fewer than 1 / `rate` other pairs, too few for an answer.
pub fn at_rate(confusions: &[Confusion], rate: f64) -> Option<usize> {
    let others = confusions.last()?.fp;
    if others * rate < 1.0 {
        return None;
    }
    (0..confusions.len()).rev().find(|&distance| confusions[distance].fp <= rate * others)
}

/// How often each group is in each of the samples that are drawn from the groups with replacement
/// (the bootstrap).
#[derive(Debug)]
pub struct Resamples(Vec<Vec<f64>>);

const RESAMPLES: usize = 40;

impl Resamples {
    pub fn new(truth: &Truth, seed: u64) -> Self {
        let groups = truth.groups.iter().map(|&group| group as usize + 1).max().unwrap_or(0);
        let mut random = Random::new(seed, "resample");
        let sample = || {
            let mut times = vec![0.0; groups];
            (0..groups).for_each(|_| times[random.below(groups)] += 1.0);
            times
        };
        Resamples(std::iter::repeat_with(sample).take(RESAMPLES).collect())
    }

    /// The resamples with these counts.
    #[cfg(test)]
    pub fn of(times: Vec<Vec<f64>>) -> Self {
        Resamples(times)
    }

    /// How often each group is in each of the samples.
    pub fn times(&self) -> &[Vec<f64>] {
        &self.0
    }

    /// The decision at `distance` in each resample. Other pairs that are not kept singly count once
    /// each.
    pub fn confusions(
        &self,
        truth: &Truth,
        distances: &Distances,
        distance: usize,
        wanted: Wanted,
    ) -> Vec<Confusion> {
        let known = distances.near_to.is_some_and(|to| distance as u32 <= to);
        let plain: u64 = distances.others[..=distance].iter().sum();
        let one = |times: &Vec<f64>| {
            let mut confusion = Confusion::default();
            for (pair, &apart) in truth.pairs.iter().zip(&distances.duplicates) {
                if wanted(pair.similarity) {
                    let times = times[truth.groups[pair.a] as usize];
                    *(if apart as usize <= distance {
                        &mut confusion.tp
                    } else {
                        &mut confusion.fn_
                    }) += times;
                }
            }
            confusion.fp = if known { 0.0 } else { plain as f64 };
            for &(a, b, apart) in distances.near.iter().filter(|_| known) {
                if apart as usize <= distance {
                    confusion.fp += times[truth.groups[a as usize] as usize]
                        * times[truth.groups[b as usize] as usize];
                }
            }
            confusion
        };
        self.0.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Pair;

    /// Five documents on a line. 0, 1 and 2 are one group, 3 and 4 are others. 3 is an unlabelled
    /// twin of 1.
    fn example() -> (Truth, Distances) {
        let place = [0u32, 1, 4, 2, 9];
        let pair = |a, b, similarity| Pair { a, b, similarity };
        let truth = Truth {
            groups: vec![0, 0, 0, 1, 2],
            pairs: vec![pair(0, 1, 0.95), pair(0, 2, 0.6), pair(1, 2, 0.2)],
            unlabelled: vec![vec![], vec![3], vec![], vec![], vec![]],
        };
        let distances = Distances::measure(&truth, 10, |a, b| place[a].abs_diff(place[b]));
        (truth, distances)
    }

    #[test]
    fn counts_by_hand() {
        let confusion = Confusion { tp: 6.0, fp: 2.0, fn_: 4.0 };
        assert_eq!((confusion.precision(), confusion.recall()), (0.75, 0.6));
        assert!((confusion.f1() - 2.0 * 0.75 * 0.6 / 1.35).abs() < 1e-12);
        let nothing = Confusion { fn_: 3.0, ..Confusion::default() };
        assert_eq!((nothing.precision(), nothing.recall(), nothing.f1()), (1.0, 0.0, 0.0));
    }

    #[test]
    fn all_pairs_by_hand() {
        let (truth, distances) = example();
        assert_eq!(distances.duplicates, [1, 4, 3]);
        // Others: 0-3: 2, 0-4: 9, 1-4: 8, 2-3: 2, 2-4: 5, 3-4: 7; 1-3 does not count.
        assert_eq!(distances.others, [0, 0, 2, 0, 0, 1, 0, 1, 1, 1, 0]);
        assert_eq!(distances.unlabelled, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(truth.others(), distances.others.iter().sum::<u64>());
        let all = confusions(&truth, &distances, all);
        assert_eq!(all[0], Confusion { tp: 0.0, fp: 0.0, fn_: 3.0 });
        assert_eq!(all[4], Confusion { tp: 3.0, fp: 2.0, fn_: 0.0 });
        // F1 at 1: 2 / (2 + 2) = 0.5, at 3: 4 / (4 + 2 + 1), at 4: 6 / (6 + 2).
        assert_eq!(best(&all), 4);
        let similar = confusions(&truth, &distances, similar);
        assert_eq!(similar[4], Confusion { tp: 2.0, fp: 2.0, fn_: 0.0 });
        // At 1: 2 / 3; at 4: 4 / 6: the smaller of equals.
        assert_eq!(best(&similar), 1);
        assert_eq!(distances.by_band(&truth)[2], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_distance_of_a_rate() {
        let (truth, distances) = example();
        let all = confusions(&truth, &distances, all);
        assert_eq!(at_rate(&all, 0.3), Some(1));
        assert_eq!(at_rate(&all, 0.4), Some(4));
        assert_eq!(at_rate(&all, 0.1), None, "six others cannot tell one in ten");
    }

    #[test]
    fn resamples_weigh_groups() {
        let (truth, distances) = example();
        let resamples =
            Resamples(vec![vec![1.0, 1.0, 1.0], vec![2.0, 3.0, 0.0], vec![0.0, 3.0, 0.0]]);
        let found = resamples.confusions(&truth, &distances, 2, all);
        assert_eq!(found[0], confusions(&truth, &distances, all)[2]);
        assert_eq!(found[1], Confusion { tp: 2.0, fp: 12.0, fn_: 4.0 });
        assert_eq!(found[2], Confusion::default());
    }
}
