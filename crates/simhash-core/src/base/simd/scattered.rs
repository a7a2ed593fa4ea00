//! The least value in every lane over many hashes. A lane takes the values of its own hash
//! function, independent of those of other lanes.
//!
//! Lane i gets from a hash h the value `mix((l ^ k) u)`, all modulo 2^32. Here l is the low half of
//! h, u is its high half made odd, k is the lane's key, and `mix(x)` is `(x ^ x >> 16) M`. For each
//! lane and each u it is a permutation of the low halves.
//!
//! With a scale, a hash puts `scale E` into a lane instead, as the bits of an `f32`: E is the value
//! mapped to an exponentially distributed number of mean 1. Of several hashes, each has the least
//! number with a probability proportional to one over its scale.

use crate::base::random;

/// The number of lanes.
pub const LANES: usize = 112;

/// The odd multiplier M: the first of MurmurHash3's finalizer (Appleby).
const MULTIPLIER: u32 = 0x85eb_ca6b;

/// The lanes' keys: the high halves of [`random::mix`] of 1, 2, 3, ...
const KEYS: [u32; LANES] = {
    let mut keys = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        keys[lane] = (random::mix(lane as u64 + 1) >> 32) as u32;
        lane += 1;
    }
    keys
};

/// Lowers every lane of `least` to the least value that a hash puts into it.
pub fn add(hashes: &[u64], least: &mut [u32; LANES]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { add_avx512(hashes, least) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { add_avx2(hashes, least) };
        }
    }
    add_any(hashes, least);
}

/// The compiler vectorises this with the instructions of the function that it is inlined into.
#[inline(always)]
fn add_any(hashes: &[u64], least: &mut [u32; LANES]) {
    // A copy, which stays in registers.
    let mut lanes = *least;
    for &hash in hashes {
        let (low, high) = (hash as u32, (hash >> 32) as u32 | 1);
        for (lane, key) in lanes.iter_mut().zip(KEYS) {
            let x = (low ^ key).wrapping_mul(high);
            *lane = (*lane).min((x ^ x >> 16).wrapping_mul(MULTIPLIER));
        }
    }
    *least = lanes;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn add_avx512(hashes: &[u64], least: &mut [u32; LANES]) {
    add_any(hashes, least);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(hashes: &[u64], least: &mut [u32; LANES]) {
    add_any(hashes, least);
}

/// Lowers every lane of `least` to the bits of the least number that a hash puts into it with its
/// scale. Scales are greater than 0. The bits of positive numbers have the order of the numbers.
pub fn add_scaled(hashes: &[u64], scales: &[f32], least: &mut [u32; LANES]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { add_scaled_avx512(hashes, scales, least) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { add_scaled_avx2(hashes, scales, least) };
        }
    }
    add_scaled_any(hashes, scales, least);
}

#[inline(always)]
fn add_scaled_any(hashes: &[u64], scales: &[f32], least: &mut [u32; LANES]) {
    let mut lanes = *least;
    for (&hash, &scale) in hashes.iter().zip(scales) {
        let (low, high) = (hash as u32, (hash >> 32) as u32 | 1);
        for (lane, key) in lanes.iter_mut().zip(KEYS) {
            let x = (low ^ key).wrapping_mul(high);
            let value = exponential((x ^ x >> 16).wrapping_mul(MULTIPLIER));
            *lane = (*lane).min((value * scale).to_bits());
        }
    }
    *least = lanes;
}

/// Maps a uniform value to an exponentially distributed number of mean 1: -ln(1 - y), where y is
/// the value's half, made odd, over 2^31. The error is a few parts in a million at most. The result
/// is the same to the last bit on every machine: single operations of IEEE 754, none fused.
///
/// ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...). For y below a half, (1 + s) / (1 - s)
/// is 1 / (1 - y), so that small numbers are as exact as great ones. For other y, 1 - y is m 2^e,
/// with 1 <= m < 2, and (1 + s) / (1 - s) is 1 / m.
#[inline(always)]
fn exponential(value: u32) -> f32 {
    const LN_2: f32 = std::f32::consts::LN_2;
    const UNIT: f32 = 1.0 / (1u32 << 31) as f32;
    let y = (value >> 1 | 1) as i32;
    let rest = (i32::MAX - y + 1) as f32 * UNIT;
    let exponent = (rest.to_bits() >> 23) as i32 - 127;
    let mantissa = f32::from_bits(rest.to_bits() & 0x007f_ffff | 0x3f80_0000);
    let y = y as f32 * UNIT;
    let is_small = y < 0.5;
    let above = if is_small { y } else { 1.0 - mantissa };
    let below = if is_small { 2.0 - y } else { 1.0 + mantissa };
    let powers = if is_small { 0.0 } else { -exponent as f32 * LN_2 };
    let s = above / below;
    let square = s * s;
    let series =
        square * (1.0 / 3.0 + square * (0.2 + square * (1.0 / 7.0 + square * (1.0 / 9.0))));
    powers + 2.0 * (s + s * series)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn add_scaled_avx512(hashes: &[u64], scales: &[f32], least: &mut [u32; LANES]) {
    add_scaled_any(hashes, scales, least);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_scaled_avx2(hashes: &[u64], scales: &[f32], least: &mut [u32; LANES]) {
    add_scaled_any(hashes, scales, least);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, in numbers that do not wrap.
    fn value(hash: u64, lane: usize) -> u32 {
        let modulus = 1u128 << 32;
        let key = u128::from(random::mix(lane as u64 + 1) >> 32);
        let [low, high] = [hash % (1 << 32), hash >> 32 | 1].map(u128::from);
        let x = (low ^ key) * high % modulus;
        ((x ^ x >> 16) * u128::from(MULTIPLIER) % modulus) as u32
    }

    /// Compares with the standard library's logarithm in double precision.
    #[test]
    fn exponentials_are_those_of_the_logarithm() {
        let mut random = random::SplitMix64::new(11);
        let some = (0..2_000_000).map(|_| random.next_u64() as u32);
        let edges = [0, 1, 2, 3, u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) - 1, (1 << 31) + 1];
        let powers = (0..32).flat_map(|bit| [1u32 << bit, (1u32 << bit).wrapping_sub(1)]);
        for value in some.chain(edges).chain(powers) {
            let y = f64::from(value >> 1 | 1) / (1u64 << 31) as f64;
            let (expected, found) = (-(-y).ln_1p(), f64::from(exponential(value)));
            assert!((found / expected - 1.0).abs() < 4e-6, "{value}: {found}, not {expected}");
        }
    }

    proptest! {
        #[test]
        fn every_scaled_kernel_is_the_same(
            hashes in prop::collection::vec((any::<u64>(), 1u32..1 << 24), 0..40),
        ) {
            let (hashes, scales): (Vec<u64>, Vec<f32>) =
                hashes.into_iter().map(|(hash, units)| (hash, 1.0 / units as f32)).unzip();
            let number = |hash, scale, lane| exponential(value(hash, lane)) * scale;
            let of = |lane| {
                hashes.iter().zip(&scales).map(move |(&hash, &scale)| number(hash, scale, lane))
            };
            let expected = std::array::from_fn(|lane| {
                of(lane).reduce(f32::min).map_or(u32::MAX, f32::to_bits)
            });
            let mut least = [u32::MAX; LANES];
            for (hashes, scales) in hashes.chunks(7).zip(scales.chunks(7)) {
                add_scaled(hashes, scales, &mut least);
            }
            prop_assert_eq!(least, expected);
            let mut least = [u32::MAX; LANES];
            add_scaled_any(&hashes, &scales, &mut least);
            prop_assert_eq!(least, expected);
        }

        #[test]
        fn every_kernel_equals_the_definition(
            hashes in prop::collection::vec(any::<u64>(), 0..40),
        ) {
            let least_of = |lane| hashes.iter().map(|&hash| value(hash, lane)).min();
            let expected = std::array::from_fn(|lane| least_of(lane).unwrap_or(u32::MAX));
            for kernel in [add, add_any] {
                let mut least = [u32::MAX; LANES];
                hashes.chunks(7).for_each(|part| kernel(part, &mut least));
                prop_assert_eq!(least, expected);
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                let mut least = [u32::MAX; LANES];
                // SAFETY: the processor has AVX2.
                unsafe { add_avx2(&hashes, &mut least) };
                prop_assert_eq!(least, expected);
            }
        }
    }
}
