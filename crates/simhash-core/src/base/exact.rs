//! Exact sums of floating-point weights, bit by bit. Nothing is rounded, so the order does not
//! matter.
//!
//! An `f32` is a whole number of at most 24 bits times a power of two. The whole numbers are summed
//! separately for every power. Only the sign of the total is needed, and it is computed from the
//! greatest power down.

use crate::Fingerprint;
use crate::base::simd::accumulate::BitSums;
use crate::base::sorted::SortedMap;

/// How many weighted hashes of one power of two are buffered before they are summed.
const PENDING: usize = 256;

struct Power<F: Fingerprint> {
    sums: BitSums<F>,
    hashes: Vec<F>,
    weights: Vec<u32>,
}

impl<F: Fingerprint> Power<F> {
    fn flush(&mut self) {
        self.sums.add(&self.hashes, &self.weights);
        self.hashes.clear();
        self.weights.clear();
    }
}

/// For every bit, the weights of the hashes that have it set, minus the weights of the others.
pub(crate) struct ExactSums<F: Fingerprint> {
    /// By exponent of two.
    powers: SortedMap<i32, Power<F>>,
}

impl<F: Fingerprint> Default for ExactSums<F> {
    fn default() -> Self {
        ExactSums { powers: SortedMap::default() }
    }
}

impl<F: Fingerprint> ExactSums<F> {
    /// `weight` must be finite and not negative.
    pub(crate) fn add(&mut self, hash: F, weight: f32) {
        let (mantissa, exponent) = decompose(weight);
        if mantissa == 0 {
            return;
        }
        let power = self.powers.get_or_insert_with(exponent, || Power {
            sums: BitSums::default(),
            hashes: Vec::with_capacity(PENDING),
            weights: Vec::with_capacity(PENDING),
        });
        power.hashes.push(hash);
        power.weights.push(mantissa);
        if power.hashes.len() == PENDING {
            power.flush();
        }
    }

    /// The fingerprint: bit i is 1 when sum i is greater than 0. `None` when no weight is greater
    /// than 0.
    pub(crate) fn sign(mut self) -> Option<F> {
        if self.powers.is_empty() {
            return None;
        }
        self.powers.values_mut().for_each(Power::flush);
        let positive = |bit: u32| {
            let digits = self
                .powers
                .iter()
                .rev()
                .map(|(exponent, power)| (exponent, power.sums.component(bit)));
            sum_is_positive(digits)
        };
        Some(F::from_words(|word| {
            (0..64).fold(0, |bits, bit| bits | u64::from(positive(64 * word as u32 + bit)) << bit)
        }))
    }
}

/// Splits a finite `weight` into a whole number and an exponent: `weight` is the number times two
/// to the exponent. The sign is dropped.
fn decompose(weight: f32) -> (u32, i32) {
    let bits = weight.to_bits();
    let (exponent, fraction) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
    match exponent {
        0 => (fraction, -149),
        _ => (fraction | 1 << 23, exponent as i32 - 150),
    }
}

/// Whether the sum of digit · 2^exponent is greater than 0. Exponents must descend. Digits must be
/// less than 2^62 in magnitude.
fn sum_is_positive(digits: impl Iterator<Item = (i32, i64)>) -> bool {
    // In units of the current 2^exponent, the remaining terms together are less than 2^63. So they
    // cannot change the sign of a sum of at least that magnitude.
    const DECIDED: i128 = 1 << 63;
    let mut sum = 0i128;
    let mut unit = None;
    for (exponent, digit) in digits {
        let step = unit.map_or(0, |unit: i32| (unit - exponent).min(64));
        sum = (sum << step) + i128::from(digit);
        if sum.abs() >= DECIDED {
            break;
        }
        unit = Some(exponent);
    }
    sum > 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sign(features: &[(u64, f32)]) -> Option<u64> {
        let mut sums = ExactSums::default();
        for &(hash, weight) in features {
            sums.add(hash, weight);
        }
        sums.sign()
    }

    #[test]
    fn small_weights_decide_between_large_ones() {
        // Bit 0: 1e20 - 1e20 + 1; bit 1: -1e20 + 1e20 - 1.
        let features = [(0b01, 1e20), (0b10, 1e20), (0b01, 1.0)];
        assert_eq!(sign(&features), Some(0b01));
        let mut reversed = features;
        reversed.reverse();
        assert_eq!(sign(&reversed), Some(0b01));
        let extremes = [(0b01, f32::MAX), (0b10, f32::MAX), (0b10, f32::from_bits(1))];
        assert_eq!(sign(&extremes), Some(0b10));
        assert_eq!(sign(&[(0b01, 3e38), (0b10, 3e38)]), Some(0));
    }

    #[test]
    fn only_weight_makes_a_fingerprint() {
        assert_eq!(sign(&[]), None);
        assert_eq!(sign(&[(1, 0.0), (2, -0.0)]), None);
        assert_eq!(sign(&[(1, f32::from_bits(1))]), Some(1));
    }

    /// The reference: every f32 times 2^149 is a whole number of at most 277 bits, so 384 bits hold
    /// the sums.
    fn reference(features: &[(u64, f32)]) -> u64 {
        let add = |sum: &mut [u64; 6], weight: f32| {
            let (mantissa, exponent) = decompose(weight);
            let shift = (exponent + 149) as usize;
            let wide = u128::from(mantissa) << (shift % 64);
            let mut carry = 0u128;
            for (limb, part) in
                (shift / 64..6).zip([wide as u64, (wide >> 64) as u64].into_iter().chain([0; 6]))
            {
                let total = u128::from(sum[limb]) + u128::from(part) + carry;
                sum[limb] = total as u64;
                carry = total >> 64;
            }
        };
        (0..64).fold(0, |bits, bit| {
            let (mut ones, mut zeros) = ([0; 6], [0; 6]);
            for &(hash, weight) in features {
                add(if hash >> bit & 1 == 1 { &mut ones } else { &mut zeros }, weight);
            }
            bits | u64::from(ones.iter().rev().gt(zeros.iter().rev())) << bit
        })
    }

    fn weight() -> impl Strategy<Value = f32> {
        prop_oneof![
            (0u32..0x7f80_0000).prop_map(f32::from_bits),
            prop::sample::select(vec![
                0.5f32,
                1.0,
                1.5,
                2.0,
                1e20,
                1e38,
                f32::MAX,
                f32::MIN_POSITIVE
            ]),
        ]
    }

    proptest! {
        #[test]
        fn equals_wide_integers_in_any_order(
            features in prop::collection::vec((0u64..16, weight()), 1..40).prop_shuffle()
        ) {
            prop_assume!(features.iter().any(|&(_, weight)| weight > 0.0));
            prop_assert_eq!(sign(&features), Some(reference(&features)));
            let mut sorted = features.clone();
            sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
            prop_assert_eq!(sign(&sorted), sign(&features));
        }
    }
}
