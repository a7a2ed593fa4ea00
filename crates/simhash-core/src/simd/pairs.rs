//! Compares every fingerprint of one short array with every one of another: the inner loop of a
//! join.
//!
//! One call compares a few tens with a few tens, so that the choice of the kernel and the tails of
//! the arrays cost little beside the comparisons. Nearly always nothing is found.

use std::any::TypeId;
use std::sync::OnceLock;

use crate::bits::B256;
use crate::search::Key;

/// Appends the index pairs (i, j) of all `left[i]` and `right[j]` within `distance` of each other.
/// `triangular` says that both are the same array, of which only pairs with i < j are wanted.
///
/// ```
/// use simhash_core::simd::pairs::close_pairs;
/// let keys = [0u64, 1, 3, 7];
/// let mut pairs = Vec::new();
/// close_pairs(&keys, &keys, true, 1, &mut pairs);
/// assert_eq!(pairs, [(0, 1), (1, 2), (2, 3)]);
/// ```
#[inline]
pub fn close_pairs<F: Key>(
    left: &[F],
    right: &[F],
    triangular: bool,
    distance: u32,
    pairs: &mut Vec<(u32, u32)>,
) {
    if let (Some(left), Some(right)) = (cast::<F, u64>(left), cast::<F, u64>(right)) {
        (kernels().narrow)(left, right, triangular, distance, pairs);
    } else if let (Some(left), Some(right)) = (cast::<F, u128>(left), cast::<F, u128>(right)) {
        (kernels().wide)(left, right, triangular, distance, pairs);
    } else if let (Some(left), Some(right)) = (cast::<F, B256>(left), cast::<F, B256>(right)) {
        (kernels().quad)(left, right, triangular, distance, pairs);
    } else {
        all_pairs(left, right, triangular, distance, pairs);
    }
}

/// The same slice, if its type is `T`.
#[inline(always)]
fn cast<F: Key, T: Key>(keys: &[F]) -> Option<&[T]> {
    (TypeId::of::<F>() == TypeId::of::<T>()).then(|| {
        // SAFETY: the types are the same.
        unsafe { std::slice::from_raw_parts(keys.as_ptr().cast::<T>(), keys.len()) }
    })
}

type Kernel<F> = fn(&[F], &[F], bool, u32, &mut Vec<(u32, u32)>);

/// One kernel for each width.
struct Kernels {
    narrow: Kernel<u64>,
    wide: Kernel<u128>,
    quad: Kernel<B256>,
}

fn kernels() -> &'static Kernels {
    static CHOSEN: OnceLock<Kernels> = OnceLock::new();
    CHOSEN.get_or_init(|| available().next().unwrap_or(PORTABLE))
}

const PORTABLE: Kernels =
    Kernels { narrow: all_pairs::<u64>, wide: all_pairs::<u128>, quad: all_pairs::<B256> };

/// The kernels that this processor can run, fastest first.
fn available() -> impl Iterator<Item = Kernels> {
    #[cfg(target_arch = "x86_64")]
    let native = {
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("popcnt");
        let popcnt = is_x86_feature_detected!("popcnt");
        [avx512.then_some(x86::AVX512), popcnt.then_some(x86::POPCNT)]
    };
    #[cfg(target_arch = "aarch64")]
    let native = [Some(arm::NEON)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let native: [Option<Kernels>; 0] = [];
    native.into_iter().flatten().chain([PORTABLE])
}

#[inline(always)]
fn all_pairs<F: Key>(
    left: &[F],
    right: &[F],
    triangular: bool,
    distance: u32,
    pairs: &mut Vec<(u32, u32)>,
) {
    for (i, x) in left.iter().enumerate() {
        let from = if triangular { i + 1 } else { 0 };
        for (j, y) in right.iter().enumerate().skip(from) {
            if x.hamming(*y) <= distance {
                pairs.push((i as u32, j as u32));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernels, all_pairs};
    use crate::bits::B256;
    use std::arch::x86_64::*;

    pub(super) const AVX512: Kernels =
        Kernels { narrow: narrow_avx512, wide: wide_avx512, quad: quad_avx512 };
    pub(super) const POPCNT: Kernels =
        Kernels { narrow: narrow_popcnt, wide: wide_popcnt, quad: quad_popcnt };

    /// Defines a safe entry point for a kernel that needs processor features.
    macro_rules! kernel {
        ($entry:ident, $inner:ident, $t:ty) => {
            fn $entry(
                left: &[$t],
                right: &[$t],
                triangular: bool,
                distance: u32,
                pairs: &mut Vec<(u32, u32)>,
            ) {
                // SAFETY: `available` hands this function out only after it has detected the
                // features that `$inner` enables.
                unsafe { $inner(left, right, triangular, distance, pairs) }
            }
        };
    }
    kernel!(narrow_avx512, narrow_avx512_inner, u64);
    kernel!(wide_avx512, wide_avx512_inner, u128);
    kernel!(quad_avx512, quad_avx512_inner, B256);
    kernel!(narrow_popcnt, narrow_popcnt_inner, u64);
    kernel!(wide_popcnt, wide_popcnt_inner, u128);
    kernel!(quad_popcnt, quad_popcnt_inner, B256);

    #[target_feature(enable = "popcnt")]
    fn narrow_popcnt_inner(
        left: &[u64],
        right: &[u64],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        all_pairs(left, right, triangular, distance, pairs);
    }

    #[target_feature(enable = "popcnt")]
    fn wide_popcnt_inner(
        left: &[u128],
        right: &[u128],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        all_pairs(left, right, triangular, distance, pairs);
    }

    #[target_feature(enable = "popcnt")]
    fn quad_popcnt_inner(
        left: &[B256],
        right: &[B256],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        all_pairs(left, right, triangular, distance, pairs);
    }

    /// Appends (i, `base` + the index of each set bit), where `1 << shift` bits stand for one
    /// index.
    #[inline(always)]
    fn push_mask(pairs: &mut Vec<(u32, u32)>, i: usize, base: usize, mut mask: u32, shift: u32) {
        while mask != 0 {
            pairs.push((i as u32, base as u32 + (mask.trailing_zeros() >> shift)));
            mask &= mask - 1;
        }
    }

    /// A mask of the lanes of a vector that `count` values fill.
    #[inline(always)]
    fn lanes(count: usize) -> u8 {
        if count >= 8 { 0xff } else { (1u8 << count) - 1 }
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn narrow_avx512_inner(
        left: &[u64],
        right: &[u64],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = right.len();
        for (i, &key) in left.iter().enumerate() {
            let center = _mm512_set1_epi64(key as i64);
            let close = |j: usize| {
                let lanes = lanes(count - j);
                // SAFETY: only lanes within `right` are read.
                let keys = unsafe { _mm512_maskz_loadu_epi64(lanes, right.as_ptr().add(j).cast()) };
                let differing = _mm512_popcnt_epi64(_mm512_xor_si512(keys, center));
                u32::from(_mm512_mask_cmple_epu64_mask(lanes, differing, limit))
            };
            let mut j = if triangular { i + 1 } else { 0 };
            while j + 8 < count {
                let mask = close(j) | close(j + 8) << 8;
                if mask != 0 {
                    push_mask(pairs, i, j, mask, 0);
                }
                j += 16;
            }
            if j < count {
                push_mask(pairs, i, j, close(j), 0);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn wide_avx512_inner(
        left: &[u128],
        right: &[u128],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = right.len();
        for (i, &key) in left.iter().enumerate() {
            let (low, high) = (key as i64, (key >> 64) as i64);
            let center = _mm512_set_epi64(high, low, high, low, high, low, high, low);
            let close = |j: usize| {
                let lanes = lanes(2 * (count - j));
                // SAFETY: only lanes within `right` are read: two for each of its values.
                let keys = unsafe { _mm512_maskz_loadu_epi64(lanes, right.as_ptr().add(j).cast()) };
                let by_half = _mm512_popcnt_epi64(_mm512_xor_si512(keys, center));
                let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(by_half);
                let differing = _mm512_add_epi64(by_half, swapped);
                u32::from(_mm512_mask_cmple_epu64_mask(lanes, differing, limit)) & 0b0101_0101
            };
            let mut j = if triangular { i + 1 } else { 0 };
            while j + 4 < count {
                let mask = close(j) | close(j + 4) << 8;
                if mask != 0 {
                    push_mask(pairs, i, j, mask, 1);
                }
                j += 8;
            }
            if j < count {
                push_mask(pairs, i, j, close(j), 1);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn quad_avx512_inner(
        left: &[B256],
        right: &[B256],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = right.len();
        for (i, key) in left.iter().enumerate() {
            // SAFETY: 32 bytes; the instruction needs no alignment.
            let center = unsafe { _mm256_loadu_si256(key.words().as_ptr().cast()) };
            let center = _mm512_broadcast_i64x4(center);
            let close = |j: usize| {
                let lanes = lanes(4 * (count - j));
                // SAFETY: only lanes within `right` are read: four for each of its values.
                let keys = unsafe { _mm512_maskz_loadu_epi64(lanes, right.as_ptr().add(j).cast()) };
                let by_word = _mm512_popcnt_epi64(_mm512_xor_si512(keys, center));
                let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(by_word);
                let by_half = _mm512_add_epi64(by_word, swapped);
                let swapped = _mm512_permutex_epi64::<0b01_00_11_10>(by_half);
                let differing = _mm512_add_epi64(by_half, swapped);
                u32::from(_mm512_mask_cmple_epu64_mask(lanes, differing, limit)) & 0b0001_0001
            };
            let mut j = if triangular { i + 1 } else { 0 };
            while j + 2 < count {
                let mask = close(j) | close(j + 2) << 8;
                if mask != 0 {
                    push_mask(pairs, i, j, mask, 2);
                }
                j += 4;
            }
            if j < count {
                push_mask(pairs, i, j, close(j), 2);
            }
        }
    }
}

/// Every arm64 processor has these instructions.
#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{Kernels, all_pairs};
    use crate::bits::B256;
    use crate::search::Key;
    use crate::simd::neon::{KEYS, Vectors, for_each_set};

    pub(super) const NEON: Kernels =
        Kernels { narrow: pairs_neon::<u64>, wide: pairs_neon::<u128>, quad: pairs_neon::<B256> };

    /// The last vectors reach back to keys that were compared before, of which no pair is wanted
    /// again.
    fn pairs_neon<F: Key + Vectors>(
        left: &[F],
        right: &[F],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        let Some(last) = right.len().checked_sub(KEYS) else {
            return all_pairs(left, right, triangular, distance, pairs);
        };
        for (i, key) in left.iter().enumerate() {
            let mut next = if triangular { i + 1 } else { 0 };
            while next < right.len() {
                let at = next.min(last);
                let new = (next - at) as u32;
                // SAFETY: `KEYS` keys lie there; every such processor has NEON.
                unsafe {
                    for_each_set(key.close(right[at..].as_ptr().cast(), distance), |lane| {
                        if lane >= new {
                            pairs.push((i as u32, at as u32 + lane));
                        }
                    });
                }
                next = at + KEYS;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    /// That a kernel finds the pairs of `length` keys and some others, and those of the keys alone.
    fn check<F: Key>(kernel: Kernel<F>, keys: &[F], start: usize, length: usize, distance: u32) {
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let (left, right) = (&keys[start..start + length], &keys[9..9 + length / 2 + 3]);
        all_pairs(left, right, false, distance, &mut expected);
        all_pairs(left, left, true, distance, &mut expected);
        kernel(left, right, false, distance, &mut found);
        kernel(left, left, true, distance, &mut found);
        assert_eq!(found, expected);
    }

    #[test]
    fn every_kernel_equals_the_portable_one_at_every_length_and_distance() {
        let narrow: Vec<u64> = (0..120).map(mix).collect();
        let wide: Vec<u128> =
            (0..120).map(|i| u128::from(mix(i)) << 64 | u128::from(mix(i + 999))).collect();
        let quad: Vec<B256> =
            (0..120).map(|i| B256::new([0, 999, 1999, 2999].map(|j| mix(i + j)))).collect();
        for kernels in available() {
            for length in [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24, 31, 32, 33, 60] {
                for (start, distance) in [(0, 0), (1, 5), (3, 25), (7, 30), (20, 32), (60, 64)] {
                    check(kernels.narrow, &narrow, start, length, distance);
                    check(kernels.wide, &wide, start, length, 2 * distance);
                    check(kernels.quad, &quad, start, length, 4 * distance);
                }
            }
        }
    }
}
