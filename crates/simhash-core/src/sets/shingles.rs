//! A text as its set of shingles: resemblance and containment (Broder 1997).

use xxhash_rust::xxh3::Xxh3;

use crate::Simhasher;
use crate::base::hash::feature_hash;
use crate::base::sort::sort_checked;
use crate::config::Weight;
use crate::sets::numbers;

/// The text's distinct shingles, in the order in which they first occur. `None` when together they
/// are longer than `limit` bytes.
///
/// ```
/// use simhash_core::{Config, Simhasher, sets::shingles::distinct};
/// let config: Config = r#"{"shingle": 2, "tokenizer": "word"}"#.parse().unwrap();
/// let mut simhasher = Simhasher::new(config).unwrap();
/// let mut shingles = |text, limit| distinct(&mut simhasher, text, limit, &mut || ());
/// assert_eq!(shingles("a b a b c", 9).unwrap(), ["a b", "b a", "b c"]);
/// assert_eq!(shingles("a b a b c", 8), None);
/// assert_eq!(shingles("a", 9).unwrap(), ["a"]);
/// assert!(shingles("", 9).unwrap().is_empty());
/// ```
pub fn distinct(
    simhasher: &mut Simhasher,
    text: &str,
    limit: usize,
    interrupt: &mut dyn FnMut(),
) -> Option<Vec<String>> {
    let mut shingles = Vec::new();
    let mut bytes = 0;
    simhasher.for_each_distinct_feature(text, interrupt, |shingle| {
        if bytes <= limit {
            bytes += shingle.len();
            shingles.push(shingle.to_owned());
        }
    });
    (bytes <= limit).then_some(shingles)
}

/// The value that represents a shingle in sets and in sketches: the low half of its hash.
#[inline]
pub(super) fn set_hash(shingle: &str) -> u64 {
    feature_hash::<u128>(shingle.as_bytes()) as u64
}

/// Hands every distinct shingle of a weight above 0 to `sink`: its [`set_hash`] and its weight. If
/// there is none, hands over all shingles with weight 1.
pub(super) fn each_weight(
    simhasher: &mut Simhasher,
    text: &str,
    interrupt: &mut dyn FnMut(),
    mut sink: impl FnMut(u64, u32),
) {
    let mut some = false;
    simhasher.for_each_weight(text, interrupt, |hash: u128, weight| {
        if weight > 0 {
            some = true;
            sink(hash as u64, weight);
        }
    });
    if !some {
        simhasher.for_each_weight(text, interrupt, |hash: u128, _| sink(hash as u64, 1));
    }
}

/// A set of shingles, represented by 64 bits of their hashes. In two sets of n shingles together,
/// two shingles have the same hash with a probability of n^2 / 2^65, which is 2^-25 for a million.
/// The similarity is then wrong by one shingle.
///
/// If a configuration weighs shingles by their inverse document frequency, the set has these
/// weights and omits shingles of weight 0. (If all shingles of a text have weight 0, the set has
/// all of them with equal weights.) A shingle has the same weight in every text. So the weighted
/// Jaccard coefficient, the sum of the smaller weights over the sum of the greater ones, is the
/// weight of the intersection over that of the union.
///
/// The set also has a digest of the text's numbers ([`crate::sets::numbers`]), if the configuration
/// compares them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShingleSet {
    /// Ascending.
    hashes: Box<[u64]>,
    /// The weight of each, in units of 1 / [`MODEL_UNIT`](crate::features::weight::MODEL_UNIT).
    /// Empty if all weigh 1.
    weights: Box<[u32]>,
    numbers: u64,
}

impl ShingleSet {
    /// The set of the text's shingles.
    pub fn new(simhasher: &mut Simhasher, text: &str, interrupt: &mut dyn FnMut()) -> Self {
        if simhasher.config().weight == Weight::Idf {
            return Self::weighed(simhasher, text, interrupt);
        }
        let mut hashes = Vec::new();
        simhasher.for_each_feature(text, interrupt, |shingle| {
            hashes.push(set_hash(shingle));
        });
        sort_checked(&mut hashes, interrupt);
        hashes.dedup();
        let numbers = numbers::digest(text, simhasher.config(), interrupt);
        ShingleSet { hashes: hashes.into(), weights: Box::default(), numbers }
    }

    fn weighed(simhasher: &mut Simhasher, text: &str, interrupt: &mut dyn FnMut()) -> Self {
        let mut shingles: Vec<(u64, u32)> = Vec::new();
        each_weight(simhasher, text, interrupt, |hash, weight| shingles.push((hash, weight)));
        sort_checked(&mut shingles, interrupt);
        shingles.dedup_by_key(|&mut (hash, _)| hash);
        let (hashes, weights): (Vec<_>, Vec<_>) = shingles.into_iter().unzip();
        let numbers = numbers::digest(text, simhasher.config(), interrupt);
        ShingleSet { hashes: hashes.into(), weights: weights.into(), numbers }
    }

    /// The set with these [`ShingleSet::hashes`], [`ShingleSet::weights`] and
    /// [`ShingleSet::numbers`]. `None` if the hashes do not ascend, or a weight is missing or 0.
    pub fn from_parts(
        hashes: impl IntoIterator<Item = u64>,
        weights: impl IntoIterator<Item = u32>,
        numbers: u64,
    ) -> Option<Self> {
        let hashes: Box<[u64]> = hashes.into_iter().collect();
        let weights: Box<[u32]> = weights.into_iter().collect();
        let are_whole = weights.is_empty() || weights.len() == hashes.len();
        (are_whole && !weights.contains(&0) && hashes.is_sorted_by(|a, b| a < b))
            .then_some(ShingleSet { hashes, weights, numbers })
    }

    /// A digest of the text's numbers: equal for texts whose numbers agree, and 0 if the
    /// configuration does not compare them.
    pub fn numbers(&self) -> u64 {
        self.numbers
    }

    /// The shingles' hashes, ascending.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The weight of each, or an empty slice if all weigh the same.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// The number of distinct shingles.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether the text had no shingle, or none that weighs anything.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The bytes of memory.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.hashes) + size_of_val(&*self.weights)
    }

    /// A hash of the shingles, weights and numbers, by which equal sets are found.
    pub fn digest(&self) -> u128 {
        let mut hasher = Xxh3::new();
        self.hashes.iter().for_each(|hash| hasher.update(&hash.to_le_bytes()));
        self.weights.iter().for_each(|weight| hasher.update(&weight.to_le_bytes()));
        hasher.update(&self.numbers.to_le_bytes());
        hasher.digest128()
    }

    /// The weight of all shingles, or their number if all weigh the same.
    fn total(&self) -> u64 {
        if self.weights.is_empty() {
            return self.len() as u64;
        }
        self.weights.iter().map(|&weight| u64::from(weight)).sum()
    }

    /// Jaccard similarity |A n B| / |A u B|, 0 to 1, weighted if the sets have weights. `None` when
    /// both sets are empty.
    pub fn jaccard(&self, other: &Self) -> Option<f64> {
        let common = self.common(other);
        let union = self.total() + other.total() - common;
        (union > 0).then(|| common as f64 / union as f64)
    }

    /// Jaccard similarity, if it is at least `least`. Numerator and denominator are exact as `f64`,
    /// so 7 of 10 equals a user's 0.7.
    pub fn jaccard_from(&self, other: &Self, least: f64) -> Option<f64> {
        if !self.weights.is_empty() || !other.weights.is_empty() {
            return self.jaccard(other).filter(|&jaccard| jaccard >= least);
        }
        // The intersection is at most the smaller set.
        let (less, more) = (self.len().min(other.len()), self.len().max(other.len()));
        let most = (more > 0).then(|| less as f64 / more as f64);
        most.filter(|&most| most >= least)?;
        // Of `all` shingles, counted over both sets, 2 `all` J / (1 + J) are common ones. The limit
        // on the others leaves room for the rounding of the quotient.
        let all = (less + more) as f64;
        let differing = (all - 2.0 * all * least / (1.0 + least)).max(0.0) as usize + 2;
        let common = self.common_of_few(other, differing)?;
        let union = less + more - common;
        let jaccard = common as f64 / union as f64;
        (jaccard >= least).then_some(jaccard)
    }

    /// Jaccard similarity, if it is at least `least` and the texts' numbers agree.
    pub fn near(&self, other: &Self, least: f64) -> Option<f64> {
        if self.numbers != other.numbers {
            return None;
        }
        self.jaccard_from(other, least)
    }

    /// How many shingles both have. `None` if more than `most` are in only one of them.
    fn common_of_few(&self, other: &Self, most: usize) -> Option<usize> {
        let (a, b) = (&*self.hashes, &*other.hashes);
        let (mut i, mut j, mut common) = (0, 0, 0);
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            common += usize::from(x == y);
            (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
            if i + j - 2 * common > most {
                return None;
            }
        }
        (a.len() + b.len() - 2 * common <= most).then_some(common)
    }

    /// How much of this set the other contains, |A n B| / |A|, 0 to 1. `None` when this set is
    /// empty.
    pub fn containment(&self, other: &Self) -> Option<f64> {
        (!self.is_empty()).then(|| self.common(other) as f64 / self.total() as f64)
    }

    /// The number of common shingles, or their weight. Both sets are sorted, so one walk finds
    /// them.
    pub(crate) fn common(&self, other: &Self) -> u64 {
        let (mut a, mut b) = (0, 0);
        let mut common = 0;
        while let (Some(x), Some(y)) = (self.hashes.get(a), other.hashes.get(b)) {
            if x == y {
                common += self.weights.get(a).map_or(1, |&weight| u64::from(weight));
            }
            (a, b) = (a + usize::from(x <= y), b + usize::from(y <= x));
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Config;
    use crate::config::{Shingles, Tokenizer};

    fn simhasher(shingle: usize) -> Simhasher {
        let shingle = Shingles::new([shingle]);
        Simhasher::new(Config { shingle, tokenizer: Tokenizer::Word, ..Config::default() }).unwrap()
    }

    fn set(words: &[u8], shingle: usize) -> (ShingleSet, HashSet<Vec<u8>>) {
        let text: Vec<String> =
            words.iter().map(|w| format!("w{}", char::from(b'a' + w))).collect();
        let k = shingle.min(words.len()).max(1);
        let expected = words.windows(k).map(<[u8]>::to_vec).collect();
        (ShingleSet::new(&mut simhasher(shingle), &text.join(" "), &mut || ()), expected)
    }

    proptest! {
        #[test]
        fn equals_the_sets_of_the_standard_library(
            a in prop::collection::vec(0u8..6, 0..30),
            b in prop::collection::vec(0u8..6, 0..30),
            k in 1usize..5,
        ) {
            let ((a, sa), (b, sb)) = (set(&a, k), set(&b, k));
            let (common, union) = (sa.intersection(&sb).count(), sa.union(&sb).count());
            prop_assert_eq!(a.len(), sa.len());
            prop_assert_eq!(a.jaccard(&b), (union > 0).then(|| common as f64 / union as f64));
            prop_assert_eq!(a.jaccard(&b), b.jaccard(&a));
            let jaccard = a.jaccard(&b);
            for least in (0..=40).map(|i| f64::from(i) / 40.0).chain(jaccard) {
                let expected = jaccard.filter(|&jaccard| jaccard >= least);
                prop_assert_eq!(a.jaccard_from(&b, least), expected);
            }
            let containment = (!sa.is_empty()).then(|| common as f64 / sa.len() as f64);
            prop_assert_eq!(a.containment(&b), containment);
        }
    }

    #[test]
    fn equal_sets_have_equal_digests() {
        let digest = |words: &[u8]| set(words, 1).0.digest();
        assert_eq!(digest(&[1, 2, 3]), digest(&[3, 2, 1, 1]));
        assert_ne!(digest(&[1, 2, 3]), digest(&[1, 2]));
        assert_ne!(digest(&[1]), digest(&[]));
    }

    #[test]
    fn a_text_contains_its_parts() {
        let mut simhasher = simhasher(3);
        let whole = ShingleSet::new(
            &mut simhasher,
            "the quick brown fox jumps over the lazy dog",
            &mut || (),
        );
        let part = ShingleSet::new(&mut simhasher, "Brown fox jumps over", &mut || ());
        assert_eq!(part.containment(&whole), Some(1.0));
        assert_eq!(whole.containment(&part), Some(2.0 / 7.0));
        assert_eq!(part.jaccard(&whole), Some(2.0 / 7.0));
    }
}
