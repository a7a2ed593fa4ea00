//! MinHash signatures by SuperMinHash (Ertl 2017, "SuperMinHash: a new minwise hashing algorithm for
//! Jaccard similarity estimation").
//!
//! P(components equal) = Jaccard similarity J, as with Broder's n independent permutations, but the components
//! of one signature are negatively correlated: the variance of the estimate is J (1 - J) / n times a factor below
//! 1, about one half for sets smaller than n, and never above, where one-permutation hashing with
//! densification (Shrivastava 2017) is worse than n permutations for such sets. The cost is
//! O(|set| + n log^2 n) random numbers in place of O(n |set|).
//!
//! A component holds 32 bits, mixed from the least (step, random number) pair: unequal pairs have equal
//! components with probability 2^-32.

use crate::Simhasher;
use crate::hash::feature_hash;

/// The most components of a signature: 32 kB.
pub const MAX_COMPONENTS: usize = 8192;

/// Makes signatures of one length, reusing its buffers from set to set.
///
/// ```
/// use simhash_core::sets::minhash::{MinHasher, jaccard};
/// let mut minhasher = MinHasher::new(128);
/// let a = minhasher.signature([1, 2, 3, 4]).unwrap();
/// let b = minhasher.signature([4, 3, 2, 1, 1]).unwrap();
/// assert_eq!(jaccard(&a, &b), 1.0);
/// assert!(minhasher.signature([]).is_none());
/// ```
pub struct MinHasher {
    /// The least value of every component: the step above [`STEP_SHIFT`], a random number below.
    least: Vec<u64>,
    /// How many components have their least value in each step; the last step with any bounds the work.
    in_step: Vec<u32>,
    last_step: usize,
    /// A permutation of the components, made anew for every element, where `mark` says it was touched.
    permutation: Vec<u32>,
    mark: Vec<u64>,
    elements: u64,
}

const STEP_SHIFT: u32 = 48;
const NONE: u64 = u64::MAX;

impl MinHasher {
    /// Signatures of `components` components, 1 to [`MAX_COMPONENTS`].
    ///
    /// # Panics
    /// When it is not.
    pub fn new(components: usize) -> Self {
        assert!((1..=MAX_COMPONENTS).contains(&components), "{components} components");
        let mut minhasher = MinHasher {
            least: vec![NONE; components],
            in_step: vec![0; components],
            last_step: 0,
            permutation: vec![0; components],
            mark: vec![0; components],
            elements: 0,
        };
        minhasher.restart();
        minhasher
    }

    /// The signature of a text's shingles; `None` when it has none.
    pub fn text_signature(
        &mut self,
        simhasher: &mut Simhasher,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> Option<Vec<u32>> {
        self.restart();
        simhasher.for_each_feature(text, interrupt, |shingle| self.add(feature_hash(shingle.as_bytes())));
        self.finish()
    }

    /// The signature of a set given by its elements' hashes, in any order and any number of times.
    pub fn signature(&mut self, hashes: impl IntoIterator<Item = u64>) -> Option<Vec<u32>> {
        self.restart();
        hashes.into_iter().for_each(|hash| self.add(hash));
        self.finish()
    }

    fn restart(&mut self) {
        self.least.fill(NONE);
        self.in_step.fill(0);
        self.last_step = self.least.len() - 1;
        self.in_step[self.last_step] = self.least.len() as u32;
        self.mark.fill(0);
        self.elements = 0;
    }

    fn add(&mut self, hash: u64) {
        self.elements += 1;
        let components = self.least.len();
        let mut state = hash;
        let mut step = 0;
        while step <= self.last_step {
            let random = split_mix(&mut state);
            // The low half picks the component, the high bits are its random number.
            let pick = step + (((random & 0xffff_ffff) * (components - step) as u64) >> 32) as usize;
            let component = self.exchange(step, pick);
            let value = (step as u64) << STEP_SHIFT | random >> (64 - STEP_SHIFT);
            let least = self.least[component];
            if value < least {
                self.least[component] = value;
                let before = (least >> STEP_SHIFT).min(components as u64 - 1) as usize;
                if step < before {
                    self.in_step[before] -= 1;
                    self.in_step[step] += 1;
                    while self.in_step[self.last_step] == 0 {
                        self.last_step -= 1;
                    }
                }
            }
            step += 1;
        }
    }

    /// One step of a Fisher-Yates shuffle; the component that ends up at place `step`.
    #[inline]
    fn exchange(&mut self, step: usize, pick: usize) -> usize {
        let at_step = self.entry(step);
        let at_pick = self.entry(pick);
        self.permutation[pick] = at_step;
        self.permutation[step] = at_pick;
        at_pick as usize
    }

    /// What the permutation of the present element has at `place`: at first the place itself.
    #[inline]
    fn entry(&mut self, place: usize) -> u32 {
        if self.mark[place] != self.elements {
            self.mark[place] = self.elements;
            self.permutation[place] = place as u32;
        }
        self.permutation[place]
    }

    fn finish(&self) -> Option<Vec<u32>> {
        (self.elements > 0).then(|| self.least.iter().map(|&value| mix(value) as u32).collect())
    }
}

/// The next number of the SplitMix64 generator (Steele, Lea and Flood 2014).
#[inline]
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// SplitMix64's output function, a bijection.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two sets of `size` elements of which `common` are shared, different for every `seed`.
    fn sets(size: u64, common: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
        let element = |i: u64| mix(mix(seed).wrapping_add(i));
        let a = (0..size).map(element).collect();
        let b = (0..common).chain(size..2 * size - common).map(element).collect();
        (a, b)
    }

    /// The mean error and the root of the mean squared error over `rounds` pairs.
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

    /// The error that n independent permutations have is sqrt(J (1 - J) / n): this one must not be above it.
    #[test]
    fn unbiased_and_no_worse_than_independent_permutations() {
        for (size, common) in [(10, 5), (50, 10), (100, 90), (1000, 500), (1000, 150), (5000, 4000)] {
            let (components, rounds) = (128, if size > 500 { 400 } else { 3000 });
            let (exact, bias, error) = errors(size, common, components, rounds);
            let independent = (exact * (1.0 - exact) / components as f64).sqrt();
            println!(
                "{size} elements, J = {exact:.3}: bias {bias:.4}, error {error:.4}, independent {independent:.4}"
            );
            assert!(bias.abs() < 4.0 * independent / (rounds as f64).sqrt(), "bias {bias} at J = {exact}");
            assert!(error < 1.1 * independent, "error {error} against {independent} at J = {exact}");
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

    /// The definition, without early stops or buffers: component c of a set is the least over its elements of the
    /// pair (place of c in the element's permutation, random number drawn for that place).
    #[test]
    fn equals_the_definition() {
        let definition = |elements: &[u64], components: usize| -> Vec<u32> {
            let mut least = vec![NONE; components];
            for &element in elements {
                let mut state = element;
                let mut permutation: Vec<usize> = (0..components).collect();
                for step in 0..components {
                    let random = split_mix(&mut state);
                    let pick = step + (((random & 0xffff_ffff) * (components - step) as u64) >> 32) as usize;
                    permutation.swap(step, pick);
                    let value = (step as u64) << STEP_SHIFT | random >> (64 - STEP_SHIFT);
                    let component = permutation[step];
                    least[component] = least[component].min(value);
                }
            }
            least.into_iter().map(|value| mix(value) as u32).collect()
        };
        for (size, components) in [(1, 1), (3, 64), (40, 128), (500, 100), (2000, 16)] {
            let (elements, _) = sets(size, 0, size);
            let got = MinHasher::new(components).signature(elements.iter().copied());
            assert_eq!(got, Some(definition(&elements, components)));
        }
    }
}
