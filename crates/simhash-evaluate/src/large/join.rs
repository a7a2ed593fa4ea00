//! Finds all pairs of sets that are similar enough, exactly and without any sketch, by prefix
//! filtering (Chaudhuri, Ganti and Kaushik, ICDE 2006; Xiao, Wang, Lin and Yu, "Efficient
//! Similarity Joins for Near Duplicate Detection", WWW 2008).
//!
//! Let all sets be sorted in one order, rare elements first. Two sets of similarity t and more have
//! an element in common among the first |x| - ceil(t |x|) + 1 of the larger one, x, and the first
//! |y| - ceil(2t / (1 + t) |y|) + 1 of the smaller one, y. So the smaller sets are listed under
//! these elements, and the elements of each larger one are looked up.

use std::collections::HashMap;

use rayon::prelude::*;

use super::sets::{Sets, common};

/// Two sets, the size of their intersection, and that of their union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near {
    pub a: u32,
    pub b: u32,
    common: u32,
    union: u32,
}

impl Near {
    pub fn similarity(self) -> f64 {
        f64::from(self.common) / f64::from(self.union)
    }
}

/// All pairs with a similarity of at least `least`, `a` less than `b`.
pub fn join(sets: &Sets, least: f64) -> Vec<Near> {
    let ranked = Ranked::of(sets);
    let listed = Listed::of(&ranked, least);
    let new = || (vec![u32::MAX; ranked.len()], Vec::new());
    let near = (0..ranked.len() as u32).into_par_iter().map_init(new, |(seen, candidates), x| {
        listed.candidates(&ranked, least, x, seen, candidates);
        candidates.iter().filter_map(|&y| ranked.near(x, y, least)).collect::<Vec<Near>>()
    });
    let mut near: Vec<Near> = near.flatten_iter().collect();
    near.par_sort_unstable();
    near
}

/// The sets by size, each as the ranks of its elements. Elements of only one set have no rank: they
/// are the rarest, and no pair is found by them.
struct Ranked {
    /// The number of the set at each place in the order, and its size.
    sets: Vec<(u32, u32)>,
    ranks: Vec<u32>,
    ends: Vec<usize>,
    /// How many ranks there are.
    most: usize,
}

impl Ranked {
    fn of(sets: &Sets) -> Self {
        let rank_of = ranks(sets);
        let mut order: Vec<(u32, u32)> =
            (0..sets.len()).map(|number| (number as u32, sets.get(number).len() as u32)).collect();
        order.retain(|&(_, size)| size > 0);
        order.sort_by_key(|&(_, size)| size);
        let (mut ranks, mut ends) = (Vec::new(), Vec::new());
        for &(number, _) in &order {
            let start = ranks.len();
            let elements = sets.get(number as usize).iter();
            ranks.extend(elements.filter_map(|hash| rank_of.get(hash)));
            ranks[start..].sort_unstable();
            ends.push(ranks.len());
        }
        Ranked { sets: order, ranks, ends, most: rank_of.len() }
    }

    fn len(&self) -> usize {
        self.sets.len()
    }

    fn get(&self, place: u32) -> &[u32] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.ranks[start..self.ends[place as usize]]
    }

    /// The ranks among a set's first |x| - ceil(`wanted` |x|) + 1 elements. Elements without a rank
    /// are the first of all.
    fn prefix(&self, place: u32, wanted: f64) -> &[u32] {
        let (ranks, size) = (self.get(place), self.sets[place as usize].1 as usize);
        // The product of a size and a similarity may be too great in its last bit.
        let first = size + 1 - ((size as f64 * wanted - 1e-9).ceil() as usize).clamp(1, size);
        &ranks[..first.saturating_sub(size - ranks.len())]
    }

    fn near(&self, x: u32, y: u32, least: f64) -> Option<Near> {
        let ((a, a_size), (b, b_size)) = (self.sets[x as usize], self.sets[y as usize]);
        let common = common(self.get(x), self.get(y)) as u32;
        let near = Near { a: a.min(b), b: a.max(b), common, union: a_size + b_size - common };
        Some(near).filter(|near| near.similarity() >= least)
    }
}

/// The rank of each hash that is in several sets, rare ones first.
fn ranks(sets: &Sets) -> HashMap<u64, u32> {
    let mut hashes = sets.raw().0.to_vec();
    hashes.par_sort_unstable();
    let mut several: Vec<(u32, u64)> = hashes
        .chunk_by(|a, b| a == b)
        .filter(|equal| equal.len() > 1)
        .map(|equal| (equal.len() as u32, equal[0]))
        .collect();
    drop(hashes);
    several.par_sort_unstable();
    several.iter().enumerate().map(|(rank, &(_, hash))| (hash, rank as u32)).collect()
}

/// For each rank, the places of the sets that have it among their first elements, ascending by
/// size.
struct Listed {
    ends: Vec<usize>,
    places: Vec<u32>,
}

impl Listed {
    fn of(ranked: &Ranked, least: f64) -> Self {
        let prefix = |place| ranked.prefix(place, 2.0 * least / (1.0 + least));
        let mut ends = vec![0; ranked.most + 1];
        for place in 0..ranked.len() as u32 {
            prefix(place).iter().for_each(|&rank| ends[rank as usize + 1] += 1);
        }
        for rank in 1..ends.len() {
            ends[rank] += ends[rank - 1];
        }
        let mut places = vec![0; *ends.last().unwrap_or(&0)];
        for place in 0..ranked.len() as u32 {
            for &rank in prefix(place) {
                // Each start moves to its end, which is the start of the next one.
                places[ends[rank as usize]] = place;
                ends[rank as usize] += 1;
            }
        }
        Listed { ends, places }
    }

    /// The places before `x` whose sets share a first element with it and are not too small.
    fn candidates(
        &self,
        ranked: &Ranked,
        least: f64,
        x: u32,
        seen: &mut [u32],
        candidates: &mut Vec<u32>,
    ) {
        candidates.clear();
        let smallest = (f64::from(ranked.sets[x as usize].1) * least - 1e-9).ceil() as u32;
        for &rank in ranked.prefix(x, least) {
            let start = rank.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
            let places = &self.places[start..self.ends[rank as usize]];
            let from = places.partition_point(|&y| ranked.sets[y as usize].1 < smallest);
            for &y in places[from..].iter().take_while(|&&y| y < x) {
                if seen[y as usize] != x {
                    seen[y as usize] = x;
                    candidates.push(y);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn finds_what_comparing_all_pairs_finds() {
        let mut random = Random::new(5, "join");
        let mut sets = Sets::new();
        for _ in 0..600 {
            let (size, from) = (random.below(12), random.below(3) as u64 * 5);
            sets.push(&mut (0..size).map(|_| from + random.below(9) as u64).collect());
        }
        sets.push(&mut (0..40).collect());
        sets.push(&mut (20..40).collect());
        for least in [0.3, 0.5, 0.7, 0.9, 1.0] {
            let found: Vec<(u32, u32, f64)> =
                join(&sets, least).iter().map(|pair| (pair.a, pair.b, pair.similarity())).collect();
            let count = sets.len() as u32;
            let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
            let expected: Vec<(u32, u32, f64)> = all
                .map(|(a, b)| (a, b, sets.jaccard(a, b)))
                .filter(|&(a, _, similarity)| {
                    similarity >= least && !sets.get(a as usize).is_empty()
                })
                .collect();
            assert!(!found.is_empty());
            assert_eq!(found, expected, "{least}");
        }
    }
}
