//! Compares every fingerprint of one short array with every one of another: the inner loop of a
//! join.
//!
//! One call compares a few tens with a few tens, so that the choice of the kernel and the tails of
//! the arrays cost little beside the comparisons. Nearly always nothing is found.

use std::any::TypeId;
use std::sync::OnceLock;

use crate::bits::B256;
use crate::search::Key;

/// Appends the index pairs (i, j) of all `left[i]` and `right[j]` within `distance` of each other,
/// in any order. `triangular` says that both are the same array, of which only pairs with i < j are
/// wanted.
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
    use crate::search::Key;
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

    /// As many keys as a vector has lanes.
    const LANES: usize = 8;

    /// The most groups of [`LANES`] keys of `right` that are compared with a key of `left` at once.
    const GROUPS: usize = 4;

    /// The bits of a row of a tile: one for each key of `right`.
    const ROW: usize = LANES * GROUPS;

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn narrow_avx512_inner(
        left: &[u64],
        right: &[u64],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        tiles::<u64, 1>(left, right, triangular, distance, pairs);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn wide_avx512_inner(
        left: &[u128],
        right: &[u128],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        tiles::<u128, 2>(left, right, triangular, distance, pairs);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn quad_avx512_inner(
        left: &[B256],
        right: &[B256],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        tiles::<B256, 4>(left, right, triangular, distance, pairs);
    }

    /// For keys of `W` words. Cuts both arrays into tiles of [`ROW`] keys by as many.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn tiles<F: Key, const W: usize>(
        left: &[F],
        right: &[F],
        triangular: bool,
        distance: u32,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        for (below, keys) in (0..).step_by(ROW).zip(right.chunks(ROW)) {
            for (above, rows) in (0..).step_by(ROW).zip(left.chunks(ROW)) {
                let mut masks = [0; ROW];
                let any = match keys.len().div_ceil(LANES) {
                    1 => tile::<F, W, 1>(rows, keys, distance, &mut masks),
                    2 => tile::<F, W, 2>(rows, keys, distance, &mut masks),
                    3 => tile::<F, W, 3>(rows, keys, distance, &mut masks),
                    _ => tile::<F, W, 4>(rows, keys, distance, &mut masks),
                };
                if any {
                    for (i, &mask) in (above..).zip(&masks[..rows.len()]) {
                        push_row(pairs, i, below, mask, triangular);
                    }
                }
            }
        }
    }

    /// Sets bit j of `masks[i]` for each `rows[i]` and `keys[j]` within `distance`, and says if
    /// there is any. `G` is the number of groups in `keys`.
    ///
    /// The keys stay in registers, word by word. That needs a loop without a call: around one the
    /// compiler keeps vectors on the stack, which is aligned to 16 bytes, and then by chance each
    /// load of one takes two lines of the cache. So what is found is written down as masks.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn tile<F: Key, const W: usize, const G: usize>(
        rows: &[F],
        keys: &[F],
        distance: u32,
        masks: &mut [u32; ROW],
    ) -> bool {
        let mut words = [[[0; LANES]; W]; G];
        for (group, keys) in words.iter_mut().zip(keys.chunks(LANES)) {
            for (lane, key) in keys.iter().enumerate() {
                for (index, word) in group.iter_mut().enumerate() {
                    word[lane] = key.word(index);
                }
            }
        }
        // SAFETY: 64 bytes; the instruction needs no alignment.
        let load = |word: [u64; LANES]| unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
        let words = words.map(|group| group.map(load));
        let lanes: [u8; G] =
            std::array::from_fn(|group| lanes(keys.len().saturating_sub(group * LANES)));
        let limit = _mm512_set1_epi64(i64::from(distance));
        let mut any = 0;
        for (row, mask) in rows.iter().zip(masks) {
            let row: [__m512i; W] =
                std::array::from_fn(|index| _mm512_set1_epi64(row.word(index) as i64));
            let mut found = 0;
            for group in 0..G {
                let differing = |index: usize| {
                    _mm512_popcnt_epi64(_mm512_xor_si512(words[group][index], row[index]))
                };
                let sum =
                    (1..W).fold(differing(0), |sum, index| _mm512_add_epi64(sum, differing(index)));
                let close = _mm512_mask_cmple_epu64_mask(lanes[group], sum, limit);
                found |= u32::from(close) << (group * LANES);
            }
            *mask = found;
            any |= found;
        }
        any != 0
    }

    /// A mask of the lanes of a vector that `count` values fill.
    #[inline(always)]
    fn lanes(count: usize) -> u8 {
        if count >= LANES { 0xff } else { (1 << count) - 1 }
    }

    /// Appends (i, `below` + the index of each set bit).
    fn push_row(
        pairs: &mut Vec<(u32, u32)>,
        i: usize,
        below: usize,
        mut mask: u32,
        triangular: bool,
    ) {
        if triangular {
            let unwanted = (i + 1).saturating_sub(below).min(ROW);
            mask &= ((u64::MAX << unwanted) & u64::from(u32::MAX)) as u32;
        }
        while mask != 0 {
            pairs.push((i as u32, below as u32 + mask.trailing_zeros()));
            mask &= mask - 1;
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
                    for_each_set(
                        key.close(F::MAX, right[at..].as_ptr().cast(), distance),
                        |lane| {
                            if lane >= new {
                                pairs.push((i as u32, at as u32 + lane));
                            }
                        },
                    );
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
        found.sort_unstable();
        expected.sort_unstable();
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
