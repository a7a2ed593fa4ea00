//! A text as its set of shingles with the weights of a configuration: rare shingles can count more
//! than common ones.

use xxhash_rust::xxh3::Xxh3;

use crate::Simhasher;
use crate::base::sort::sort_checked;
use crate::sets::numbers;

/// A set of weighted shingles, represented by their 128-bit hashes. With uniform weights its
/// similarities are those of a [`ShingleSet`](super::shingles::ShingleSet).
///
/// The weights are whole units, so sums of them are exact and the same on every machine.
///
/// ```
/// use simhash_core::{Config, Simhasher, sets::weighted::WeightedSet};
/// let config: Config = r#"{"tokenizer": "word", "weight": "tf"}"#.parse().unwrap();
/// let mut simhasher = Simhasher::new(config).unwrap();
/// let mut set = |text| WeightedSet::new(&mut simhasher, text, &mut || ());
/// // a: 2 and 1; b: 1 and 1; c: 0 and 1.
/// let (one, other) = (set("a a b"), set("a b c"));
/// assert_eq!(one.jaccard(&other), Some(2.0 / 4.0));
/// assert_eq!(one.containment(&other), Some(2.0 / 3.0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedSet {
    /// Ascending.
    hashes: Vec<u128>,
    /// The weight of each.
    units: Vec<u32>,
    total: u64,
    /// As [`ShingleSet::numbers`](super::shingles::ShingleSet::numbers).
    numbers: u64,
}

impl WeightedSet {
    /// The set of the text's shingles, with the weights that its fingerprint would sum.
    pub fn new(simhasher: &mut Simhasher, text: &str, interrupt: &mut dyn FnMut()) -> Self {
        let mut shingles: Vec<(u128, u32)> = Vec::new();
        simhasher.for_each_weight(text, interrupt, |hash, units| shingles.push((hash, units)));
        sort_checked(&mut shingles, interrupt);
        let total = shingles.iter().map(|&(_, units)| u64::from(units)).sum();
        let (hashes, units) = shingles.into_iter().unzip();
        let numbers = numbers::digest(text, simhasher.config(), interrupt);
        WeightedSet { hashes, units, total, numbers }
    }

    /// The digest of the text's numbers.
    pub fn numbers(&self) -> u64 {
        self.numbers
    }

    /// The number of distinct shingles.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether the text had no shingle.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The bytes of memory.
    pub fn memory(&self) -> usize {
        self.hashes.capacity() * size_of::<u128>() + self.units.capacity() * size_of::<u32>()
    }

    /// A hash of the shingles, weights and numbers, by which equal sets are found.
    pub fn digest(&self) -> u128 {
        let mut hasher = Xxh3::new();
        for (hash, units) in self.hashes.iter().zip(&self.units) {
            hasher.update(&hash.to_le_bytes());
            hasher.update(&units.to_le_bytes());
        }
        hasher.update(&self.numbers.to_le_bytes());
        hasher.digest128()
    }

    /// Whether every shingle in the set has weight 0.
    pub fn weighs_nothing(&self) -> bool {
        self.total == 0
    }

    /// Weighted Jaccard similarity, 0 to 1: the sum of each shingle's smaller weight, over the sum
    /// of its greater one (Ioffe, "Improved Consistent Sampling, Weighted Minhash and L1
    /// Sketching", ICDM 2010). `None` when the total weight of both sets is 0.
    pub fn jaccard(&self, other: &Self) -> Option<f64> {
        let common = self.common(other);
        let union = self.total + other.total - common;
        (union > 0).then(|| common as f64 / union as f64)
    }

    /// The share of this set's weight that the other has as well, 0 to 1. `None` when the total
    /// weight of this set is 0.
    pub fn containment(&self, other: &Self) -> Option<f64> {
        (self.total > 0).then(|| self.common(other) as f64 / self.total as f64)
    }

    /// The sum of each common shingle's smaller weight. Both sets are sorted, so one walk finds
    /// them.
    fn common(&self, other: &Self) -> u64 {
        let (mut a, mut b) = (0, 0);
        let mut common = 0;
        while let (Some(x), Some(y)) = (self.hashes.get(a), other.hashes.get(b)) {
            if x == y {
                common += u64::from(self.units[a].min(other.units[b]));
            }
            (a, b) = (a + usize::from(x <= y), b + usize::from(y <= x));
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::Config;
    use crate::config::recipes::set_config;
    use crate::models::train::Trainer;
    use crate::sets::shingles::ShingleSet;

    fn simhasher(config: &str) -> Simhasher {
        Simhasher::new(config.parse().unwrap()).unwrap()
    }

    fn letter(number: u8) -> char {
        char::from(b'a' + number)
    }

    fn text(words: &[u8]) -> String {
        let words: Vec<String> = words.iter().map(|&w| format!("w{}", letter(w))).collect();
        words.join(" ")
    }

    fn counts(words: &[u8]) -> HashMap<u8, u32> {
        words.iter().fold(HashMap::new(), |mut counts, &word| {
            *counts.entry(word).or_default() += 1;
            counts
        })
    }

    proptest! {
        #[test]
        fn uniform_weights_give_the_similarities_of_plain_sets(
            a in prop::collection::vec(0u8..6, 0..30),
            b in prop::collection::vec(0u8..6, 0..30),
            k in 1usize..4,
        ) {
            let mut simhasher = simhasher(&format!(r#"{{"tokenizer": "word", "shingle": {k}}}"#));
            let (a, b) = (text(&a), text(&b));
            let plain = [&a, &b].map(|text| ShingleSet::new(&mut simhasher, text, &mut || ()));
            let sets = [&a, &b].map(|text| WeightedSet::new(&mut simhasher, text, &mut || ()));
            prop_assert_eq!(sets[0].len(), plain[0].len());
            prop_assert_eq!(sets[0].jaccard(&sets[1]), plain[0].jaccard(&plain[1]));
            prop_assert_eq!(sets[0].containment(&sets[1]), plain[0].containment(&plain[1]));
        }

        #[test]
        fn sums_of_the_smaller_and_the_greater_weights(
            a in prop::collection::vec(0u8..6, 0..30),
            b in prop::collection::vec(0u8..6, 0..30),
        ) {
            let mut simhasher = simhasher(r#"{"tokenizer": "word", "weight": "tf"}"#);
            let set = |words: &[u8]| WeightedSet::new(&mut simhasher, &text(words), &mut || ());
            let [left, right] = [&a, &b].map({ let mut set = set; move |words| set(words) });
            let (a, b) = (counts(&a), counts(&b));
            let of = |counts: &HashMap<u8, u32>, word| counts.get(&word).copied().unwrap_or(0);
            let least: u32 = (0..6).map(|word| of(&a, word).min(of(&b, word))).sum();
            let most: u32 = (0..6).map(|word| of(&a, word).max(of(&b, word))).sum();
            let share = |of: u32| (of > 0).then(|| f64::from(least) / f64::from(of));
            prop_assert_eq!(left.jaccard(&right), share(most));
            prop_assert_eq!(right.jaccard(&left), share(most));
            prop_assert_eq!(left.containment(&right), share(a.values().sum()));
        }
    }

    #[test]
    fn rare_shingles_count_more_by_idf() {
        let plain: Config = r#"{"tokenizer": "word"}"#.parse().unwrap();
        let mut trainer = Trainer::new(&plain).unwrap();
        // idf = ln(|D| / (df + 1)): for "the", which is in all ten, it is below 0 and counts as 0.
        // For the others, which are in one each, it is ln(10 / 2).
        for i in 0..10 {
            trainer.add(&format!("the w{}", letter(i)), &mut || ()).unwrap();
        }
        let model = Arc::new(trainer.finish(None, &mut || ()));
        let weighed: Config =
            r#"{"tokenizer": "word", "weight": "idf", "model": "m"}"#.parse().unwrap();
        assert_eq!(set_config(&weighed, weighed.shingles()), plain);
        let mut simhasher = Simhasher::with_model(weighed, model).unwrap();
        let mut set = |text| WeightedSet::new(&mut simhasher, text, &mut || ());
        let (one, other, only) = (set("the wa wb"), set("the wa wc"), set("the"));
        assert_eq!(one.jaccard(&other), Some(1.0 / 3.0), "plain sets share 2 of 4");
        assert_eq!(one.containment(&other), Some(1.0 / 2.0));
        assert_eq!((only.len(), only.jaccard(&only), only.containment(&one)), (1, None, None));
        assert_eq!(one.jaccard(&one), Some(1.0));
    }
}
