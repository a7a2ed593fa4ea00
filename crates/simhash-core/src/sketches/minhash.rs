//! MinHash: a set's signature, and a fingerprint made of one bit of each of its components.
//!
//! P(components equal) = Jaccard similarity J, as with Broder's n independent permutations (1997).
//! A fingerprint holds one bit of each component. This is b-bit minwise hashing with b = 1 (Li and
//! Koenig, "b-Bit Minwise Hashing", WWW 2010). Bits are equal for equal components, and for half of
//! the unequal ones. So the expected distance of f bits is f (1 - J) / 2.
//!
//! Each element ranks the components by a permutation of its own, and each component takes the
//! element that ranks it first. This is the scheme of SuperMinHash (Ertl 2017) and of fast
//! similarity sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017). Its components are negatively
//! correlated: the variance of the estimate is J (1 - J) / n times a factor below 1. The factor is
//! about one half for sets smaller than n, where one-permutation hashing with densification
//! (Shrivastava 2017) is worse than n permutations. For large sets the scheme is one-permutation
//! hashing. Both publications draw permutations at random. Here they are quadratic ([`least`]),
//! which a vector of lanes evaluates in two instructions. A set of ten elements takes a tenth of
//! the time of either.
//!
//! A component holds 32 bits. Unequal elements have equal components with a probability of about
//! 2^-32 times the size of the set.

use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::simd::least;
use crate::base::simd::least::{mix, unmix};
use crate::config::Method;
use crate::{Fingerprint, Simhasher};

/// The most components of a signature: 32 kB.
pub const MAX_COMPONENTS: usize = 8192;

/// Makes signatures of one length, reusing its buffers from set to set.
///
/// ```
/// use simhash_core::sketches::minhash::{MinHasher, jaccard};
/// let mut minhasher = MinHasher::new(128);
/// let a = minhasher.signature([1, 2, 3, 4]).unwrap();
/// let b = minhasher.signature([4, 3, 2, 1, 1]).unwrap();
/// assert_eq!(jaccard(&a, &b), 1.0);
/// assert!(minhasher.signature([]).is_none());
/// ```
pub struct MinHasher {
    components: usize,
    /// 32 less the number of bits of a lane's number.
    shift: u32,
    /// The least value of every component, and of the lanes that fill the last group.
    least: Vec<u32>,
    /// Elements that are not in `least` yet: the first `length` of these.
    waiting: [u64; BATCH],
    length: usize,
    /// The number of elements added, repeated ones included.
    elements: u64,
}

const BATCH: usize = 64;

impl MinHasher {
    /// For signatures of `components` components, 1 to [`MAX_COMPONENTS`].
    ///
    /// # Panics
    /// For any other number of components.
    pub fn new(components: usize) -> Self {
        assert!((1..=MAX_COMPONENTS).contains(&components), "{components} components");
        MinHasher {
            components,
            shift: 32 - components.next_power_of_two().ilog2().max(1),
            least: vec![u32::MAX; components.next_multiple_of(least::GROUP)],
            waiting: [0; BATCH],
            length: 0,
            elements: 0,
        }
    }

    /// How many components its signatures have.
    pub fn components(&self) -> usize {
        self.components
    }

    /// The signature of a text's shingles. `None` when it has none.
    pub fn text_signature(
        &mut self,
        simhasher: &mut Simhasher,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> Option<Vec<u32>> {
        self.add_text(simhasher, text, interrupt);
        self.finish().map(Iterator::collect)
    }

    /// The signature of a set given by its elements' hashes, in any order and any number of times.
    pub fn signature(&mut self, hashes: impl IntoIterator<Item = u64>) -> Option<Vec<u32>> {
        self.restart();
        hashes.into_iter().for_each(|hash| self.add(hash));
        self.finish().map(Iterator::collect)
    }

    /// The fingerprint of a text's shingles. `None` when it has none. There must be as many
    /// components as the fingerprint has bits.
    pub fn text_fingerprint<F: Fingerprint>(
        &mut self,
        simhasher: &mut Simhasher,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> Option<F> {
        self.add_text(simhasher, text, interrupt);
        self.first_bits()
    }

    /// The fingerprint of a set given by its elements' hashes.
    pub fn fingerprint<F: Fingerprint>(
        &mut self,
        hashes: impl IntoIterator<Item = u64>,
    ) -> Option<F> {
        self.restart();
        hashes.into_iter().for_each(|hash| self.add(hash));
        self.first_bits()
    }

    fn restart(&mut self) {
        self.least.fill(u32::MAX);
        self.length = 0;
        self.elements = 0;
    }

    fn add_text(&mut self, simhasher: &mut Simhasher, text: &str, interrupt: &mut dyn FnMut()) {
        self.restart();
        let interrupt = Interrupt::new(interrupt);
        simhasher.each_feature(text, &interrupt, |shingle| {
            self.add(feature_hash(shingle.text.as_bytes()));
            interrupt.spend(self.components / 64);
        });
    }

    #[inline]
    fn add(&mut self, hash: u64) {
        self.waiting[self.length] = hash;
        self.length += 1;
        self.elements += 1;
        if self.length == BATCH {
            self.take_waiting();
        }
    }

    fn take_waiting(&mut self) {
        least::add(&self.waiting[..self.length], self.shift, &mut self.least);
        self.length = 0;
    }

    /// The components. `None` if there are no elements.
    fn finish(&mut self) -> Option<impl Iterator<Item = u32>> {
        self.take_waiting();
        (self.elements > 0).then(|| self.least[..self.components].iter().map(|&least| mix(least)))
    }

    /// The fingerprint: bit i is the first bit of component i.
    fn first_bits<F: Fingerprint>(&mut self) -> Option<F> {
        assert_eq!(self.components, F::BITS as usize);
        self.take_waiting();
        let groups = self.least.as_chunks().0;
        let mut words = least::first_bits(groups);
        // There is a group of lanes for each word.
        (self.elements > 0).then(|| F::from_words(|_| words.next().unwrap_or(0)))
    }
}

/// Builds the signature of a union of sets and keeps nothing else. Each component comes from the
/// least of the sets' least values.
///
/// ```
/// use simhash_core::sketches::minhash::{MinHasher, Union};
/// let mut minhasher = MinHasher::new(128);
/// let [a, b, both] = [&[1, 2][..], &[2, 3], &[1, 2, 3]]
///     .map(|set| minhasher.signature(set.iter().copied()).unwrap());
/// let mut least = [0; 128];
/// let mut union = Union::of_nothing(&mut least);
/// union.add(&a);
/// union.add(&b);
/// assert_eq!(union.signature(), both);
/// ```
pub struct Union<'a> {
    /// The least value of every component, before it is mixed.
    least: &'a mut [u32],
}

impl<'a> Union<'a> {
    /// The empty union. `least`, one value a component, is overwritten.
    pub fn of_nothing(least: &'a mut [u32]) -> Self {
        least.fill(u32::MAX);
        Union { least }
    }

    /// Continues the union that `least` holds.
    pub fn held_in(least: &'a mut [u32]) -> Self {
        Union { least }
    }

    /// Adds the shingles of a text. False when it has none.
    ///
    /// # Panics
    /// When the minhasher is for another number of components.
    pub fn add_text(
        &mut self,
        minhasher: &mut MinHasher,
        simhasher: &mut Simhasher,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> bool {
        assert_eq!(self.least.len(), minhasher.components);
        minhasher.add_text(simhasher, text, interrupt);
        minhasher.take_waiting();
        self.lower(minhasher.least.iter().copied());
        minhasher.elements > 0
    }

    /// Adds the set of a signature.
    ///
    /// # Panics
    /// When the signature has another number of components.
    pub fn add(&mut self, components: &[u32]) {
        assert_eq!(self.least.len(), components.len());
        self.lower(components.iter().copied().map(unmix));
    }

    fn lower(&mut self, by: impl Iterator<Item = u32>) {
        self.least.iter_mut().zip(by).for_each(|(least, by)| *least = by.min(*least));
    }

    /// The signature of the union. Before any set is added, it is the signature of no set.
    pub fn signature(&self) -> Vec<u32> {
        self.least.iter().copied().map(mix).collect()
    }
}

/// Makes fingerprints of texts by one method.
pub struct Fingerprinter {
    simhasher: Simhasher,
    /// If the method is `minhash`.
    minhasher: Option<MinHasher>,
}

impl Fingerprinter {
    /// A fingerprinter for `bits` bits. The method `minhash` ignores the weights, positions and
    /// caps of the configuration.
    pub fn new(method: Method, simhasher: Simhasher, bits: u32) -> Self {
        let minhasher = (method == Method::Minhash).then(|| MinHasher::new(bits as usize));
        Fingerprinter { simhasher, minhasher }
    }

    /// The text's fingerprint, of the width that was asked for. `None` when it has no features.
    pub fn fingerprint<F: Fingerprint>(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> Option<F> {
        match &mut self.minhasher {
            None => self.simhasher.fingerprint(text, interrupt),
            Some(minhasher) => minhasher.text_fingerprint(&mut self.simhasher, text, interrupt),
        }
    }
}

/// The estimate of the Jaccard similarity: the share of equal components.
///
/// # Panics
/// When the signatures differ in length.
pub fn jaccard(a: &[u32], b: &[u32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let equal = a.iter().zip(b).filter(|(x, y)| x == y).count();
    equal as f64 / a.len() as f64
}

/// The least distance within which 99 % of the pairs of texts of a Jaccard similarity J lie. The
/// distance is taken as binomial: each of the `bits` bits differs with probability (1 - J) / 2.
///
/// Uses only basic arithmetic of `f64`, which is the same on every machine.
///
/// ```
/// use simhash_core::sketches::minhash::reach;
/// assert_eq!([0.9, 0.7, 0.5].map(|similarity| reach(similarity, 128)), [13, 29, 44]);
/// ```
///
/// # Panics
/// Unless the similarity is from 0 to 1, and there are at most 1024 bits.
pub fn reach(similarity: f64, bits: u32) -> u32 {
    assert!((0.0..=1.0).contains(&similarity) && bits <= 1024);
    let differs = (1.0 - similarity) / 2.0;
    let odds = differs / (1.0 - differs);
    // At least 2^-1024, a subnormal number. Its lost precision is negligible beside the sum.
    let mut at = (0..bits).fold(1.0, |product, _| product * (1.0 - differs));
    let mut within = at;
    let mut distance = 0;
    while within < 0.99 && distance < bits {
        at *= f64::from(bits - distance) / f64::from(distance + 1) * odds;
        within += at;
        distance += 1;
    }
    distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::bits::B256;
    use crate::base::random;

    /// Two sets of `size` elements of which `common` are shared, different for every `seed`.
    fn sets(size: u64, common: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
        let element = |i: u64| random::mix(random::mix(seed).wrapping_add(i));
        let a = (0..size).map(element).collect();
        let b = (0..common).chain(size..2 * size - common).map(element).collect();
        (a, b)
    }

    /// The exact similarity, and the mean error and the root mean squared error over `rounds`
    /// pairs.
    fn errors(size: u64, common: u64, components: usize, rounds: u64) -> (f64, f64, f64) {
        let exact = common as f64 / (2 * size - common) as f64;
        let mut minhasher = MinHasher::new(components);
        let (mut sum, mut squares) = (0.0, 0.0);
        for round in 0..rounds {
            let (a, b) = sets(size, common, round);
            let a = minhasher.signature(a).unwrap();
            let error = jaccard(&a, &minhasher.signature(b).unwrap()) - exact;
            sum += error;
            squares += error * error;
        }
        (exact, sum / rounds as f64, (squares / rounds as f64).sqrt())
    }

    /// The error of n independent permutations is sqrt(J (1 - J) / n). This one must not exceed it
    /// by more than a tenth.
    #[test]
    fn unbiased_and_no_worse_than_independent_permutations() {
        for (size, common) in [(10, 5), (50, 10), (100, 90), (1000, 500), (1000, 150), (5000, 4000)]
        {
            let (components, rounds) = (128, if size > 500 { 400 } else { 3000 });
            let (exact, bias, error) = errors(size, common, components, rounds);
            let independent = (exact * (1.0 - exact) / components as f64).sqrt();
            println!(
                "{size} elements, J = {exact:.3}: bias {bias:.4}, error {error:.4}, \
                 independent {independent:.4}"
            );
            assert!(
                bias.abs() < 4.0 * independent / (rounds as f64).sqrt(),
                "bias {bias} at J = {exact}"
            );
            assert!(
                error < 1.1 * independent,
                "error {error} against {independent} at J = {exact}"
            );
            if size <= 50 {
                assert!(
                    error < 0.85 * independent,
                    "sets smaller than a signature have a smaller error: {error}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_signature_is_of_the_set(
            elements in prop::collection::vec(any::<u64>(), 1..60).prop_shuffle(),
            components in 1usize..200,
        ) {
            let mut minhasher = MinHasher::new(components);
            let a = minhasher.signature(elements.iter().copied());
            let mut other = elements.clone();
            other.sort_unstable();
            other.extend_from_slice(&elements);
            prop_assert_eq!(&minhasher.signature(other), &a);
            prop_assert_eq!(a.unwrap().len(), components);
        }
    }

    fn united<'a>(
        signatures: impl IntoIterator<Item = &'a Vec<u32>>,
        components: usize,
    ) -> Vec<u32> {
        let mut least = vec![7; components];
        let mut union = Union::of_nothing(&mut least);
        signatures.into_iter().for_each(|signature| union.add(signature));
        union.signature()
    }

    proptest! {
        /// By definition, the signature of a union is that of all elements together. Adding sets
        /// again or in another order, or adding unions of some of them, changes nothing.
        #[test]
        fn a_union_has_the_signature_of_all_elements(
            sets in prop::collection::vec(prop::collection::vec(any::<u64>(), 1..20), 1..8)
                .prop_shuffle(),
            components in 1usize..200,
        ) {
            let mut minhasher = MinHasher::new(components);
            let expected = minhasher.signature(sets.concat()).unwrap();
            let signatures: Vec<_> =
                sets.iter().map(|set| minhasher.signature(set.clone()).unwrap()).collect();
            prop_assert_eq!(&united(&signatures, components), &expected);
            let twice = signatures.iter().rev().chain(&signatures);
            prop_assert_eq!(&united(twice, components), &expected);
            let (some, others) = signatures.split_at(signatures.len() / 2);
            let others = united(others, components);
            prop_assert_eq!(&united(some.iter().chain([&others]), components), &expected);
        }
    }

    /// No shingle crosses texts. `tests/golden.py` has the same rows and the same digest.
    #[test]
    fn a_union_of_texts_has_the_shingles_of_each() {
        let mut minhasher = MinHasher::new(64);
        let mut simhasher =
            Simhasher::new(crate::config::recipes::recipe(&"{}".parse().unwrap())).unwrap();
        let mut least = [0; 64];
        let mut union = Union::of_nothing(&mut least);
        let had = ["one two three", "three four", "five", "...", "three four"]
            .map(|text| union.add_text(&mut minhasher, &mut simhasher, text, &mut || ()));
        assert_eq!(had, [true, true, true, false, true]);
        let signature = union.signature();
        assert_eq!(Union::held_in(&mut least).signature(), signature);
        let elements = ["one two", "two three", "three four", "five"]
            .map(|shingle| feature_hash::<u64>(shingle.as_bytes()));
        assert_eq!(minhasher.signature(elements).as_ref(), Some(&signature));
        let digits: String = signature.iter().map(|c| format!("{c:08x}")).collect();
        assert_eq!(feature_hash::<u64>(digits.as_bytes()), 0x9705_e115_6f53_5a2e);
    }

    #[test]
    fn the_law_of_reach() {
        for (bits, expected) in
            [(64, [8, 12, 17, 21, 24]), (128, [13, 21, 29, 37, 44]), (256, [22, 37, 52, 66, 80])]
        {
            assert_eq!([0.9, 0.8, 0.7, 0.6, 0.5].map(|j| reach(j, bits)), expected);
        }
        assert_eq!([1.0, 0.0].map(|j| reach(j, 8)), [0, 7]);
        assert!((8..=1024).all(|bits| reach(1.0, bits) == 0 && reach(0.0, bits) > bits / 2));
        // The normal approximation, 2.326 deviations above the mean.
        for (j, bits) in [(0.3, 1024), (0.0, 1024), (0.95, 1000)] {
            let p = (1.0 - j) / 2.0;
            let mean = p * f64::from(bits);
            let normal = mean + 2.326 * (mean * (1.0 - p)).sqrt();
            assert!((f64::from(reach(j, bits)) - normal).abs() < 1.5, "{j}, {bits}");
        }
    }

    /// About 99 % of the pairs of sets of a similarity, or more, lie within its reach.
    #[test]
    fn pairs_lie_within_reach() {
        for (size, common) in [(3, 2), (10, 9), (22, 18), (100, 80)] {
            const ROUNDS: u64 = 2000;
            let j = common as f64 / (2 * size - common) as f64;
            let mut minhasher = MinHasher::new(128);
            let mut fingerprint = |set: Vec<u64>| minhasher.fingerprint::<u128>(set).unwrap();
            let within = (0..ROUNDS).filter(|&round| {
                let (a, b) = sets(size, common, round);
                (fingerprint(a) ^ fingerprint(b)).count_ones() <= reach(j, 128)
            });
            let share = within.count() as f64 / ROUNDS as f64;
            assert!(share > 0.982, "{share} of the pairs of J = {j}");
        }
    }

    /// The definition, in numbers that do not wrap: a component is the mixed least value of any
    /// element.
    #[test]
    fn equals_the_definition() {
        let definition = |elements: &[u64], components: usize| -> Vec<u32> {
            let bits = (1..).find(|&bits| 1 << bits >= components).unwrap();
            (0..components as u128)
                .map(|c| {
                    let values = elements.iter().map(|&element| {
                        let [b, a, q] = [
                            element & 0xffff_ffff,
                            element >> 32 & 0xffff | 1,
                            element >> 48 & 0xfffe,
                        ]
                        .map(u128::from);
                        ((b + ((a * c + q * c * c) << (32 - bits))) % (1 << 32)) as u32
                    });
                    mix(values.min().unwrap())
                })
                .collect()
        };
        for (size, components) in
            [(1, 1), (3, 64), (40, 128), (30, 256), (500, 100), (2000, 16), (70, 1000), (5, 8192)]
        {
            let (elements, _) = sets(size, 0, size);
            let expected = definition(&elements, components);
            let mut minhasher = MinHasher::new(components);
            assert_eq!(minhasher.signature(elements.iter().copied()).as_ref(), Some(&expected));
            if components == 64 {
                let bits: u64 = minhasher.fingerprint(elements.iter().copied()).unwrap();
                assert!((0..64).all(|i| bits >> i & 1 == u64::from(expected[i] >> 31)));
            }
            if components == 256 {
                let bits: B256 = minhasher.fingerprint(elements).unwrap();
                let bit = |i: usize| bits.word(i / 64) >> (i % 64) & 1;
                assert!((0..256).all(|i| bit(i) == u64::from(expected[i] >> 31)));
            }
        }
    }

    /// The mean distance of fingerprints is f (1 - J) / 2, and its variance at most the binomial
    /// one.
    #[test]
    fn the_distance_of_fingerprints_is_half_the_jaccard_distance() {
        for (size, common) in [(1, 0), (2, 1), (3, 2), (10, 9), (22, 11), (100, 80), (1000, 500)] {
            let far = 1.0 - common as f64 / (2 * size - common) as f64;
            let rounds = if size > 500 { 400 } else { 4000 };
            let mut minhasher = MinHasher::new(128);
            let (mut sum, mut squares) = (0.0, 0.0);
            for round in 0..rounds {
                let (a, b) = sets(size, common, round);
                let a: u128 = minhasher.fingerprint(a).unwrap();
                let error = f64::from(a.hamming(minhasher.fingerprint(b).unwrap())) - 64.0 * far;
                sum += error;
                squares += error * error;
            }
            let (bias, error) = (sum / rounds as f64, (squares / rounds as f64).sqrt());
            let binomial = (128.0 * far / 2.0 * (1.0 - far / 2.0)).sqrt();
            println!(
                "{size} elements, 1 - J = {far:.3}: bias {bias:.3}, error {error:.3}, \
                 binomial {binomial:.3}"
            );
            assert!(bias.abs() < 4.0 * binomial / (rounds as f64).sqrt(), "bias {bias}");
            assert!(error < 1.05 * binomial, "error {error} against {binomial}");
            if (3..=100).contains(&size) {
                assert!(
                    error < 0.97 * binomial,
                    "negative correlation: error {error} against {binomial}"
                );
            }
        }
    }
}
