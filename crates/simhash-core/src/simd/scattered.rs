//! The least value in every lane over many hashes. A lane takes the values of its own hash
//! function, independent of those of other lanes.
//!
//! Lane i gets from a hash h the value `mix((l ^ k) u)`, all modulo 2^32. Here l is the low half of
//! h, u is its high half made odd, k is the lane's key, and `mix(x)` is `(x ^ x >> 16) M`. For each
//! lane and each u it is a permutation of the low halves.

use crate::random;

/// The lanes.
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

/// The compiler makes vectors of this, of the width of whoever it is inlined into.
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

    proptest! {
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
