//! Compares every fingerprint of a short array with every fingerprint in some runs of another
//! array: the inner loop of a join.
//!
//! One call compares a few tens of keys with tens to thousands of rows, so choosing and setting up
//! a kernel costs little beside the comparisons. Nearly always it finds nothing.

use std::any::TypeId;
use std::ops::Range;
use std::sync::OnceLock;

use crate::base::bits::B256;
use crate::base::key::Key;

/// A condition on a pair: at most `max` bits of the first `words` 64-bit words differ. Words are
/// counted from the most significant one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    pub words: usize,
    pub max: u32,
}

impl Close {
    /// At most `max` of all bits differ.
    pub fn whole<F: Key>(max: u32) -> Self {
        Self { words: (F::BITS / 64) as usize, max }
    }

    fn holds<F: Key>(self, a: F, b: F) -> bool {
        ((a ^ b) & F::leading_mask(64 * self.words as u32)).count_ones() <= self.max
    }
}

/// The result of a call of [`close_pairs`], with buffers that the next call reuses.
#[derive(Debug, Default)]
pub struct Candidates {
    pairs: Vec<(u32, u32)>,
    /// Rows that are near any key. Which keys is not known yet.
    #[cfg(target_arch = "x86_64")]
    rows: Vec<u32>,
}

impl Candidates {
    /// The pairs (i, j).
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }
}

/// Finds the index pairs (i, j) of all `rows[i]` and `keys[j]` that are `close`, in any order. i
/// lies in one of the runs. If the keys are themselves the rows from number `own` on, each pair of
/// rows is found once, with the greater number as i, and no row is paired with itself.
///
/// # Panics
/// When a run goes beyond the rows.
///
/// ```
/// use simhash_core::base::simd::pairs::{Candidates, Close, close_pairs};
/// let rows = [0u64, 1, 3, 7];
/// let mut found = Candidates::default();
/// close_pairs(&rows, &[0..1, 2..4], (&[7, 2], None), Close::whole::<u64>(1), &mut found);
/// assert_eq!(found.pairs(), [(0, 1), (2, 0), (2, 1), (3, 0)]);
/// close_pairs(&rows, &[1..4], (&rows[1..], Some(1)), Close::whole::<u64>(1), &mut found);
/// assert_eq!(found.pairs(), [(2, 0), (3, 1)]);
/// ```
#[inline]
pub fn close_pairs<F: Key>(
    rows: &[F],
    runs: &[Range<u32>],
    (keys, own): (&[F], Option<u32>),
    close: Close,
    found: &mut Candidates,
) {
    found.pairs.clear();
    if let (Some(rows), Some(keys)) = (cast::<F, u64>(rows), cast::<F, u64>(keys)) {
        (kernels().narrow)(rows, runs, (keys, own), close, found);
    } else if let (Some(rows), Some(keys)) = (cast::<F, u128>(rows), cast::<F, u128>(keys)) {
        (kernels().wide)(rows, runs, (keys, own), close, found);
    } else if let (Some(rows), Some(keys)) = (cast::<F, B256>(rows), cast::<F, B256>(keys)) {
        (kernels().quad)(rows, runs, (keys, own), close, found);
    } else {
        all_pairs(rows, runs, (keys, own), close, found);
    }
}

/// Whether to report the pair of a row and a key. If keys are rows, each pair is reported once.
#[inline(always)]
fn is_wanted(row: u32, key: u32, own: Option<u32>) -> bool {
    own.is_none_or(|own| row > own + key)
}

/// The rows of a run.
#[inline(always)]
fn rows_of<'a, F>(rows: &'a [F], run: &Range<u32>) -> &'a [F] {
    &rows[run.start as usize..run.end as usize]
}

/// The same slice, if its type is `T`.
#[inline(always)]
fn cast<F: Key, T: Key>(keys: &[F]) -> Option<&[T]> {
    (TypeId::of::<F>() == TypeId::of::<T>()).then(|| {
        // SAFETY: `F` and `T` are the same type, as their `TypeId`s are equal.
        unsafe { std::slice::from_raw_parts(keys.as_ptr().cast::<T>(), keys.len()) }
    })
}

type Kernel<F> = fn(&[F], &[Range<u32>], (&[F], Option<u32>), Close, &mut Candidates);

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
    rows: &[F],
    runs: &[Range<u32>],
    (keys, own): (&[F], Option<u32>),
    close: Close,
    found: &mut Candidates,
) {
    for run in runs {
        for (i, x) in run.clone().zip(rows_of(rows, run)) {
            for (j, y) in (0..).zip(keys) {
                if close.holds(*x, *y) && is_wanted(i, j, own) {
                    found.pairs.push((i, j));
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Candidates, Close, Kernels, all_pairs, rows_of};
    use crate::base::bits::B256;
    use crate::base::key::Key;
    use crate::base::simd::prefetch::prefetch;
    use std::any::TypeId;
    use std::arch::x86_64::*;
    use std::ops::Range;

    pub(super) const AVX512: Kernels =
        Kernels { narrow: narrow_avx512, wide: wide_avx512, quad: quad_avx512 };
    pub(super) const POPCNT: Kernels =
        Kernels { narrow: narrow_popcnt, wide: wide_popcnt, quad: quad_popcnt };

    /// Defines a safe entry point for a kernel that needs processor features.
    macro_rules! kernel {
        ($entry:ident, $inner:ident, $t:ty) => {
            fn $entry(
                rows: &[$t],
                runs: &[Range<u32>],
                keys: (&[$t], Option<u32>),
                close: Close,
                found: &mut Candidates,
            ) {
                // SAFETY: `available` hands this function out only after it has detected the
                // features that `$inner` enables.
                unsafe { $inner(rows, runs, keys, close, found) }
            }
        };
    }
    kernel!(narrow_avx512, avx512, u64);
    kernel!(wide_avx512, avx512, u128);
    kernel!(quad_avx512, avx512, B256);
    kernel!(narrow_popcnt, popcnt, u64);
    kernel!(wide_popcnt, popcnt, u128);
    kernel!(quad_popcnt, popcnt, B256);

    #[target_feature(enable = "popcnt")]
    fn popcnt<F: Key>(
        rows: &[F],
        runs: &[Range<u32>],
        keys: (&[F], Option<u32>),
        close: Close,
        found: &mut Candidates,
    ) {
        all_pairs(rows, runs, keys, close, found);
    }

    /// 64-bit lanes of a vector.
    const LANES: usize = 8;

    /// The most keys that a row is compared with at once.
    const KEYS: usize = 4 * LANES;

    /// How many runs ahead rows are prefetched into the processor's cache.
    const AHEAD: usize = 3;

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn avx512<F: Key>(
        rows: &[F],
        runs: &[Range<u32>],
        (keys, own): (&[F], Option<u32>),
        close: Close,
        found: &mut Candidates,
    ) {
        for (below, keys) in (0..).step_by(KEYS).zip(keys.chunks(KEYS)) {
            let keys = Keys { keys, below, own: own.map(|own| own + below) };
            let Close { words, max } = close;
            match words.min(words_of::<F>()) {
                0 | 1 => some_keys::<F, 1>(rows, runs, &keys, max, found),
                2 => some_keys::<F, 2>(rows, runs, &keys, max, found),
                3 => some_keys::<F, 3>(rows, runs, &keys, max, found),
                _ => some_keys::<F, 4>(rows, runs, &keys, max, found),
            }
        }
    }

    /// At most [`KEYS`] keys.
    struct Keys<'a, F> {
        keys: &'a [F],
        /// The number of the first of them among all keys.
        below: u32,
        /// The row number of the first of them, if the keys are rows.
        own: Option<u32>,
    }

    /// Finds the pairs of these keys, comparing the `W` most significant words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn some_keys<F: Key, const W: usize>(
        rows: &[F],
        runs: &[Range<u32>],
        keys: &Keys<'_, F>,
        max: u32,
        found: &mut Candidates,
    ) {
        match keys.keys.len().div_ceil(LANES) {
            1 => groups::<F, W, 1>(rows, runs, keys, max, found),
            2 => groups::<F, W, 2>(rows, runs, keys, max, found),
            3 => groups::<F, W, 3>(rows, runs, keys, max, found),
            _ => groups::<F, W, 4>(rows, runs, keys, max, found),
        }
    }

    /// As [`some_keys`], for `G` groups of [`LANES`] keys. A first pass notes the rows that are
    /// near any key, with one comparison per row. Only for those rows are the keys determined.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn groups<F: Key, const W: usize, const G: usize>(
        rows: &[F],
        runs: &[Range<u32>],
        keys: &Keys<'_, F>,
        max: u32,
        found: &mut Candidates,
    ) {
        let &Keys { keys, below, own } = keys;
        let Candidates { pairs, rows: near } = found;
        near.resize(runs.iter().map(ExactSizeIterator::len).sum(), 0);
        let count = near_rows::<F, W, G>(rows, runs, keys, max, near);
        if count == 0 {
            return;
        }
        let keys_of = group_words::<F, W, G>(keys);
        let limit = _mm512_set1_epi64(i64::from(max));
        for &number in &near[..count] {
            // A mask of the keys that exist and whose pair with this row is to be reported.
            let wanted = own.map_or(KEYS, |own| number.saturating_sub(own) as usize);
            let wanted = ((1u64 << wanted.min(keys.len()).min(KEYS)) - 1) as u32;
            let row = words(&rows[number as usize..][..1]);
            let mut mask = 0;
            for (group, keys) in keys_of.iter().enumerate() {
                let close = _mm512_cmple_epu64_mask(distances::<F, W>(row, keys), limit);
                mask |= u32::from(close) << (group * LANES);
            }
            mask &= wanted;
            while mask != 0 {
                pairs.push((number, below + mask.trailing_zeros()));
                mask &= mask - 1;
            }
        }
    }

    /// Writes the numbers of the rows that are near any of the keys to the beginning of `near`,
    /// which has one place for each row. Returns their count.
    ///
    /// The keys stay in registers, word by word. That needs a loop without a call: across a call,
    /// the compiler keeps vectors on the stack. The stack is aligned to only 16 bytes, so each load
    /// could touch two cache lines. Therefore this function is not inlined.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn near_rows<F: Key, const W: usize, const G: usize>(
        rows: &[F],
        runs: &[Range<u32>],
        keys: &[F],
        max: u32,
        near: &mut [u32],
    ) -> usize {
        let keys = group_words::<F, W, G>(keys);
        let limit = _mm512_set1_epi64(i64::from(max));
        let mut count = 0;
        for (place, run) in runs.iter().enumerate() {
            if let Some(next) = runs.get(place + AHEAD) {
                let next = rows_of(rows, next);
                for line in (0..size_of_val(next)).step_by(64) {
                    prefetch(next.as_ptr().wrapping_byte_add(line));
                }
            }
            let words = words(rows_of(rows, run)).chunks_exact(words_of::<F>());
            for (number, row) in run.clone().zip(words) {
                let mut least = distances::<F, W>(row, &keys[0]);
                for keys in &keys[1..] {
                    // The upper half of each count is 0, so the 32-bit minimum suffices. It takes
                    // one instruction, the 64-bit one takes more.
                    least = _mm512_min_epu32(least, distances::<F, W>(row, keys));
                }
                near[count] = number;
                count += usize::from(_mm512_cmple_epu64_mask(least, limit) != 0);
            }
        }
        count
    }

    /// The distances of a row from [`LANES`] keys, in their `W` most significant words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn distances<F: Key, const W: usize>(row: &[i64], keys: &[__m512i; W]) -> __m512i {
        let mut sum = _mm512_setzero_si512();
        for (index, word) in keys.iter().enumerate() {
            let row = _mm512_set1_epi64(row[place_of::<F>(index)]);
            let differing = _mm512_popcnt_epi64(_mm512_xor_si512(*word, row));
            sum = if index == 0 { differing } else { _mm512_add_epi64(sum, differing) };
        }
        sum
    }

    /// The `W` most significant words of at most `G` * [`LANES`] keys.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn group_words<F: Key, const W: usize, const G: usize>(keys: &[F]) -> [[__m512i; W]; G] {
        let mut groups = [[_mm512_setzero_si512(); W]; G];
        for (group, vectors) in groups.iter_mut().enumerate() {
            let keys = &keys[(group * LANES).min(keys.len() - 1)..];
            for (index, vector) in vectors.iter_mut().enumerate() {
                *vector = leading_words(keys, index);
            }
        }
        groups
    }

    /// The words of keys as they lie in memory.
    #[inline(always)]
    fn words<F: Key>(keys: &[F]) -> &[i64] {
        // SAFETY: a key (`u64`, `u128` or `B256`) is a whole number of aligned words, and any bits
        // are valid.
        unsafe { std::slice::from_raw_parts(keys.as_ptr().cast(), size_of_val(keys) / 8) }
    }

    /// Word number `index` of each of the first [`LANES`] keys, counted from the most significant
    /// one. The last key fills the places of missing keys. There must be at least one key.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn leading_words<F: Key>(keys: &[F], index: usize) -> __m512i {
        let of_key = words_of::<F>();
        let last = _mm512_set1_epi64(keys.len() as i64 - 1);
        let lanes = _mm512_min_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), last);
        // The place of each lane's word among the words of `keys`.
        let chosen = _mm512_add_epi64(
            _mm512_mullo_epi32(lanes, _mm512_set1_epi64(of_key as i64)),
            _mm512_set1_epi64(place_of::<F>(index) as i64),
        );
        let load = |vector: usize| {
            let words = (keys.len() * of_key).saturating_sub(vector * LANES).min(LANES);
            let mask = (0xff_u16 >> (LANES - words)) as u8;
            let from = keys.as_ptr().cast::<i64>().wrapping_add(vector * LANES);
            // SAFETY: the mask selects only words of `keys`; the others are not read.
            unsafe { _mm512_maskz_loadu_epi64(mask, from) }
        };
        match of_key {
            1 => _mm512_permutexvar_epi64(chosen, load(0)),
            2 => _mm512_permutex2var_epi64(load(0), chosen, load(1)),
            _ => {
                // The keys fill four vectors. A permutation indexes two of them, so the higher bits
                // choose.
                let low = _mm512_permutex2var_epi64(load(0), chosen, load(1));
                let high = _mm512_permutex2var_epi64(load(2), chosen, load(3));
                let upper = _mm512_cmpgt_epi64_mask(chosen, _mm512_set1_epi64(15));
                _mm512_mask_mov_epi64(low, upper, high)
            }
        }
    }

    /// The place in memory of word number `index` of a key, counted from the most significant one.
    /// The processor stores the least significant word of a number first.
    #[inline(always)]
    fn place_of<F: Key>(index: usize) -> usize {
        if TypeId::of::<F>() == TypeId::of::<B256>() { index } else { words_of::<F>() - 1 - index }
    }

    #[inline(always)]
    fn words_of<F: Key>() -> usize {
        size_of::<F>() / 8
    }
}

/// Every arm64 processor has these instructions.
#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{Candidates, Close, Kernels, all_pairs, is_wanted, rows_of};
    use crate::base::bits::B256;
    use crate::base::key::Key;
    use crate::base::simd::neon::{KEYS, Vectors, for_each_set};
    use std::ops::Range;

    pub(super) const NEON: Kernels =
        Kernels { narrow: pairs_neon::<u64>, wide: pairs_neon::<u128>, quad: pairs_neon::<B256> };

    /// The last vectors overlap keys that were already compared, whose pairs are not reported
    /// again.
    fn pairs_neon<F: Key + Vectors>(
        rows: &[F],
        runs: &[Range<u32>],
        (keys, own): (&[F], Option<u32>),
        close: Close,
        found: &mut Candidates,
    ) {
        let Some(last) = keys.len().checked_sub(KEYS) else {
            return all_pairs(rows, runs, (keys, own), close, found);
        };
        let mask = F::leading_mask(64 * close.words as u32);
        for run in runs {
            for (i, row) in run.clone().zip(rows_of(rows, run)) {
                for next in (0..keys.len()).step_by(KEYS) {
                    let at = next.min(last);
                    let new = (next - at) as u32;
                    // SAFETY: `at` is at most `last`, so `KEYS` keys follow it; every arm64
                    // processor has NEON.
                    unsafe {
                        for_each_set(
                            row.close(mask, keys[at..].as_ptr().cast(), close.max),
                            |lane| {
                                let key = at as u32 + lane;
                                if lane >= new && is_wanted(i, key, own) {
                                    found.pairs.push((i, key));
                                }
                            },
                        );
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::mix;

    /// Checks that a kernel finds the pairs of `length` keys with some runs of rows.
    fn check<F: Key>(kernel: Kernel<F>, all: &[F], start: usize, length: usize, distance: u32) {
        let keys = &all[start..start + length];
        let runs = [9..9 + length as u32 / 2, 70..70, 71..74, 80..120];
        for words in 1..=(F::BITS / 64) as usize {
            let close = Close { words, max: distance * words as u32 };
            for own in [None, Some(start as u32)] {
                let [mut expected, mut found] = [Candidates::default(), Candidates::default()];
                all_pairs(all, &runs, (keys, own), close, &mut expected);
                kernel(all, &runs, (keys, own), close, &mut found);
                found.pairs.sort_unstable();
                expected.pairs.sort_unstable();
                assert_eq!(found.pairs, expected.pairs);
            }
        }
    }

    #[test]
    fn the_portable_kernel_counts_the_bits_of_the_first_words() {
        let keys: Vec<B256> =
            (0..40).map(|i| B256::new([0, 99, 199, 299].map(|j| mix(i + j) >> (i % 9)))).collect();
        for (words, max) in [(1, 28), (2, 58), (3, 90), (4, 120)] {
            let mut found = Candidates::default();
            all_pairs(&keys, &[0..25, 25..40], (&keys, None), Close { words, max }, &mut found);
            let differing = |i: usize, j: usize| {
                let words = keys[i].words().iter().zip(keys[j].words()).take(words);
                words.map(|(x, y)| (x ^ y).count_ones()).sum::<u32>()
            };
            let pairs = (0..40).flat_map(|i| (0..40).map(move |j| (i, j)));
            let expected: Vec<_> = pairs.filter(|&(i, j)| differing(i, j) <= max).collect();
            let found: Vec<_> =
                found.pairs().iter().map(|&(i, j)| (i as usize, j as usize)).collect();
            assert_eq!(found, expected, "{words} words");
            assert!((41..1500).contains(&found.len()), "{words} words: {} pairs", found.len());
        }
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
                    check(kernels.wide, &wide, start, length, distance);
                    check(kernels.quad, &quad, start, length, distance);
                }
            }
        }
    }
}
