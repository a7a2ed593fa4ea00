//! Scans a packed array of fingerprints for those within a Hamming distance of a query.
//!
//! One call scans one leaf of a block table: a few hundred fingerprints, nearly always without a
//! hit. So the loops are shaped for the case that nothing is pushed.

use crate::search::Key;
use std::sync::OnceLock;

/// Appends to `hits` the index of every fingerprint of `packed` within `distance` of `query`.
///
/// `packed` holds fingerprints in native byte order without gaps. It need not be aligned. A tail
/// shorter than one fingerprint is ignored.
///
/// ```
/// use simhash_core::simd::popcount::within;
/// let packed: Vec<u8> = [0u64, 1, 3, 7].iter().flat_map(|f| f.to_ne_bytes()).collect();
/// let mut hits = Vec::new();
/// within(&packed, 1u64, 1, &mut hits);
/// assert_eq!(hits, [0, 1, 2]);
/// ```
#[inline]
pub fn within<F: Key>(packed: &[u8], query: F, distance: u32, hits: &mut Vec<u32>) {
    if distance >= F::BITS {
        hits.extend(0..(packed.len() / F::BYTES) as u32);
    } else if F::BITS == 64 {
        (kernels().narrow)(packed, query.to_u128() as u64, distance, hits);
    } else {
        (kernels().wide)(packed, query.to_u128(), distance, hits);
    }
}

/// As [`within`], for fingerprints of as many bytes as `query` has, a multiple of eight.
pub fn within_bytes(packed: &[u8], query: &[u8], distance: u32, hits: &mut Vec<u32>) {
    let differing = |key: &[u8]| -> u32 {
        let words = |bytes: &[u8]| -> Vec<u64> {
            bytes.chunks_exact(8).map(|word| u64::load(word)).collect()
        };
        words(key).into_iter().zip(words(query)).map(|(a, b)| (a ^ b).count_ones()).sum()
    };
    for (i, key) in packed.chunks_exact(query.len()).enumerate() {
        if differing(key) <= distance {
            hits.push(i as u32);
        }
    }
}

/// The portable form of [`within`], against which the others are tested.
pub fn within_portable<F: Key>(packed: &[u8], query: F, distance: u32, hits: &mut Vec<u32>) {
    scan(packed, query, distance, hits);
}

type Narrow = fn(&[u8], u64, u32, &mut Vec<u32>);
type Wide = fn(&[u8], u128, u32, &mut Vec<u32>);

/// One kernel for each width.
struct Kernels {
    narrow: Narrow,
    wide: Wide,
}

fn kernels() -> &'static Kernels {
    static CHOSEN: OnceLock<Kernels> = OnceLock::new();
    CHOSEN.get_or_init(|| available().next().unwrap_or(PORTABLE))
}

const PORTABLE: Kernels = Kernels { narrow: scan::<u64>, wide: scan::<u128> };

/// The kernels that this processor can run, fastest first.
fn available() -> impl Iterator<Item = Kernels> {
    #[cfg(target_arch = "x86_64")]
    let native = {
        let avx512 =
            is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq");
        let avx2 = is_x86_feature_detected!("avx2");
        let popcnt = is_x86_feature_detected!("popcnt");
        [
            avx512.then_some(Kernels { narrow: x86::narrow_avx512, wide: x86::wide_avx512 }),
            avx2.then_some(Kernels { narrow: x86::narrow_avx2, wide: x86::wide_avx2 }),
            popcnt.then_some(Kernels { narrow: x86::narrow_popcnt, wide: x86::wide_popcnt }),
        ]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let native = [None, None, None];
    native.into_iter().flatten().chain([PORTABLE])
}

#[inline(always)]
fn scan<F: Key>(packed: &[u8], query: F, distance: u32, hits: &mut Vec<u32>) {
    for (i, bytes) in packed.chunks_exact(F::BYTES).enumerate() {
        if F::load(bytes).hamming(query) <= distance {
            hits.push(i as u32);
        }
    }
}

/// Pushes `base` plus the index of each set bit of `mask`, where `1 << shift` bits stand for one
/// index.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn push_mask(hits: &mut Vec<u32>, base: usize, mut mask: u32, shift: u32) {
    while mask != 0 {
        hits.push(base as u32 + (mask.trailing_zeros() >> shift));
        mask &= mask - 1;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{push_mask, scan};
    use std::arch::x86_64::*;

    /// Defines a safe entry point for a kernel that needs processor features.
    macro_rules! kernel {
        ($entry:ident, $inner:ident, $t:ty) => {
            pub(super) fn $entry(packed: &[u8], query: $t, distance: u32, hits: &mut Vec<u32>) {
                // SAFETY: `available` hands this function out only after it has detected the
                // features that `$inner` enables.
                unsafe { $inner(packed, query, distance, hits) }
            }
        };
    }
    kernel!(narrow_avx512, narrow_avx512_inner, u64);
    kernel!(wide_avx512, wide_avx512_inner, u128);
    kernel!(narrow_avx2, narrow_avx2_inner, u64);
    kernel!(wide_avx2, wide_avx2_inner, u128);
    kernel!(narrow_popcnt, narrow_popcnt_inner, u64);
    kernel!(wide_popcnt, wide_popcnt_inner, u128);

    #[target_feature(enable = "popcnt")]
    fn narrow_popcnt_inner(packed: &[u8], query: u64, distance: u32, hits: &mut Vec<u32>) {
        scan(packed, query, distance, hits);
    }

    #[target_feature(enable = "popcnt")]
    fn wide_popcnt_inner(packed: &[u8], query: u128, distance: u32, hits: &mut Vec<u32>) {
        scan(packed, query, distance, hits);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn narrow_avx512_inner(packed: &[u8], query: u64, distance: u32, hits: &mut Vec<u32>) {
        let center = _mm512_set1_epi64(query as i64);
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = packed.len() / 8;
        let close = |i: usize| {
            // SAFETY: callers keep i + 8 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm512_loadu_si512(packed.as_ptr().add(i * 8).cast()) };
            let differing = _mm512_popcnt_epi64(_mm512_xor_si512(keys, center));
            u32::from(_mm512_cmple_epu64_mask(differing, limit))
        };
        let mut i = 0;
        while i + 32 <= count {
            let low = close(i) | close(i + 8) << 8;
            let mask = low | close(i + 16) << 16 | close(i + 24) << 24;
            if mask != 0 {
                push_mask(hits, i, mask, 0);
            }
            i += 32;
        }
        while i + 8 <= count {
            push_mask(hits, i, close(i), 0);
            i += 8;
        }
        tail::<u64>(packed, i, query, distance, hits);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn wide_avx512_inner(packed: &[u8], query: u128, distance: u32, hits: &mut Vec<u32>) {
        let halves = halves(query);
        let center = _mm512_set_epi64(
            halves[1], halves[0], halves[1], halves[0], halves[1], halves[0], halves[1], halves[0],
        );
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = packed.len() / 16;
        let close = |i: usize| {
            // SAFETY: callers keep i + 4 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm512_loadu_si512(packed.as_ptr().add(i * 16).cast()) };
            let by_half = _mm512_popcnt_epi64(_mm512_xor_si512(keys, center));
            let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(by_half);
            u32::from(_mm512_cmple_epu64_mask(_mm512_add_epi64(by_half, swapped), limit))
                & 0b0101_0101
        };
        let mut i = 0;
        while i + 16 <= count {
            let low = close(i) | close(i + 4) << 8;
            let mask = low | close(i + 8) << 16 | close(i + 12) << 24;
            if mask != 0 {
                push_mask(hits, i, mask, 1);
            }
            i += 16;
        }
        while i + 4 <= count {
            push_mask(hits, i, close(i), 1);
            i += 4;
        }
        tail::<u128>(packed, i, query, distance, hits);
    }

    /// The number of set bits of each 64-bit lane: a look-up for every four bits, then a sum of the
    /// bytes (Mula, Kurz and Lemire, Faster population counts using AVX2 instructions, 2018).
    #[inline]
    #[target_feature(enable = "avx2")]
    fn popcount_lanes(bits: __m256i) -> __m256i {
        let table = _mm256_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2,
            3, 3, 4,
        );
        let nibble = _mm256_set1_epi8(15);
        let low = _mm256_shuffle_epi8(table, _mm256_and_si256(bits, nibble));
        let high =
            _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(bits), nibble));
        _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256())
    }

    #[target_feature(enable = "avx2")]
    fn narrow_avx2_inner(packed: &[u8], query: u64, distance: u32, hits: &mut Vec<u32>) {
        let center = _mm256_set1_epi64x(query as i64);
        let beyond = _mm256_set1_epi64x(i64::from(distance) + 1);
        let count = packed.len() / 8;
        let close = |i: usize| {
            // SAFETY: callers keep i + 4 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm256_loadu_si256(packed.as_ptr().add(i * 8).cast()) };
            let differing = popcount_lanes(_mm256_xor_si256(keys, center));
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(beyond, differing))) as u32
        };
        let mut i = 0;
        while i + 8 <= count {
            let mask = close(i) | close(i + 4) << 4;
            if mask != 0 {
                push_mask(hits, i, mask, 0);
            }
            i += 8;
        }
        tail::<u64>(packed, i, query, distance, hits);
    }

    #[target_feature(enable = "avx2")]
    fn wide_avx2_inner(packed: &[u8], query: u128, distance: u32, hits: &mut Vec<u32>) {
        let halves = halves(query);
        let center = _mm256_setr_epi64x(halves[0], halves[1], halves[0], halves[1]);
        let beyond = _mm256_set1_epi64x(i64::from(distance) + 1);
        let count = packed.len() / 16;
        let close = |i: usize| {
            // SAFETY: callers keep i + 2 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm256_loadu_si256(packed.as_ptr().add(i * 16).cast()) };
            let by_half = popcount_lanes(_mm256_xor_si256(keys, center));
            let differing =
                _mm256_add_epi64(by_half, _mm256_shuffle_epi32::<0b01_00_11_10>(by_half));
            let mask =
                _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(beyond, differing)));
            mask as u32 & 0b0101
        };
        let mut i = 0;
        while i + 4 <= count {
            let mask = close(i) | close(i + 2) << 4;
            if mask != 0 {
                push_mask(hits, i, mask, 1);
            }
            i += 4;
        }
        tail::<u128>(packed, i, query, distance, hits);
    }

    /// The two halves of a fingerprint in the order in which they are stored.
    fn halves(query: u128) -> [i64; 2] {
        let bytes = query.to_ne_bytes();
        let half = |at: usize| i64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        [half(0), half(8)]
    }

    #[inline(always)]
    fn tail<F: super::Key>(
        packed: &[u8],
        from: usize,
        query: F,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        for (i, bytes) in packed[from * F::BYTES..].chunks_exact(F::BYTES).enumerate() {
            if F::load(bytes).hamming(query) <= distance {
                hits.push((from + i) as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    #[test]
    fn every_kernel_equals_the_portable_one_at_every_length_offset_and_distance() {
        let bytes: Vec<u8> = (0..1300).flat_map(|i| mix(i).to_ne_bytes()).collect();
        for kernels in available() {
            for count in [0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 579] {
                for shift in [0, 1, 8] {
                    let narrow = &bytes[shift..shift + count * 8];
                    let wide = &bytes[shift..shift + count * 16];
                    for distance in 0..64 {
                        let query = mix(u64::from(distance) % 5);
                        let (mut expected, mut found) = (Vec::new(), Vec::new());
                        scan(narrow, query, distance, &mut expected);
                        (kernels.narrow)(narrow, query, distance, &mut found);
                        assert_eq!(found, expected);
                        let query = u128::from(query) << 64 | u128::from(mix(77));
                        let (mut expected, mut found) = (Vec::new(), Vec::new());
                        scan(wide, query, 2 * distance, &mut expected);
                        (kernels.wide)(wide, query, 2 * distance, &mut found);
                        assert_eq!(found, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn the_whole_width_finds_everything() {
        let mut hits = Vec::new();
        within(&[0xff; 48], 0u128, 128, &mut hits);
        assert_eq!(hits, [0, 1, 2]);
    }
}
