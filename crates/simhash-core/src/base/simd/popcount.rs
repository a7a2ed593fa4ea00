//! Scans a packed array of fingerprints for those within a Hamming distance of a query.
//!
//! One call scans one leaf of a block table: a few hundred fingerprints, nearly always without a
//! hit. So the loops are shaped for the case that nothing is pushed.

use crate::base::bits::B256;
use crate::base::fingerprint::Fingerprint;
use crate::base::key::Key;
use std::sync::OnceLock;

/// Appends to `hits` the index of every fingerprint of `packed` within `distance` of `query`.
///
/// `packed` holds fingerprints in native byte order without gaps. It need not be aligned. A tail
/// shorter than one fingerprint is ignored.
///
/// ```
/// use simhash_core::base::simd::popcount::within;
/// let packed: Vec<u8> = [0u64, 1, 3, 7].iter().flat_map(|f| f.to_ne_bytes()).collect();
/// let mut hits = Vec::new();
/// within(&packed, 1u64, 1, &mut hits);
/// assert_eq!(hits, [0, 1, 2]);
/// ```
#[inline]
pub fn within<F: Key>(packed: &[u8], query: F, distance: u32, hits: &mut Vec<u32>) {
    const { assert!(F::BITS as usize <= 64 * MOST_WORDS) };
    if distance >= F::BITS {
        hits.extend(0..(packed.len() / F::BYTES) as u32);
        return;
    }
    if is_maskable(F::BYTES) {
        return within_masked(packed, query, F::MAX, distance, hits);
    }
    let mut stored = [0; MOST_WORDS];
    let count = F::BYTES / 8;
    for (place, stored) in stored[..count].iter_mut().enumerate() {
        *stored = query.word(count - 1 - place);
    }
    within_words(packed, &stored[..count], distance, hits);
}

/// Whether [`within_masked`] accepts keys of this many bytes.
pub const fn is_maskable(bytes: usize) -> bool {
    matches!(bytes, 8 | 16 | 32)
}

/// As [`within`], but compares only the bits of `mask`.
///
/// ```
/// use simhash_core::base::simd::popcount::within_masked;
/// let packed: Vec<u8> = [0u64, 0x101, 3, 0xff07].iter().flat_map(|f| f.to_ne_bytes()).collect();
/// let mut hits = Vec::new();
/// within_masked(&packed, 1u64, 0xff, 1, &mut hits);
/// assert_eq!(hits, [0, 1, 2]);
/// ```
///
/// # Panics
/// For keys that are not [maskable](is_maskable).
#[inline]
pub fn within_masked<F: Key>(packed: &[u8], query: F, mask: F, distance: u32, hits: &mut Vec<u32>) {
    let (query, mask) = (|index| query.word(index), |index| mask.word(index));
    match F::BITS {
        64 => {
            let [query, mask] = [u64::from_words(query), u64::from_words(mask)];
            (kernels().narrow)(packed, query, mask, distance, hits);
        }
        128 => {
            let [query, mask] = [u128::from_words(query), u128::from_words(mask)];
            (kernels().wide)(packed, query, mask, distance, hits);
        }
        256 => {
            let [query, mask] = [B256::from_words(query), B256::from_words(mask)];
            (kernels().quad)(packed, query, mask, distance, hits);
        }
        bits => panic!("no kernel masks keys of {bits} bits"),
    }
}

/// The most words of a key whose width is not 64, 128 or 256 bits.
const MOST_WORDS: usize = 16;

/// As [`within`], for keys of as many 64-bit words as `query` has. `query` must not be empty.
///
/// `packed` holds keys without gaps. A key is its words in the order of `query`, each in native
/// byte order.
///
/// ```
/// use simhash_core::base::simd::popcount::within_words;
/// let packed: Vec<u8> = [0u64, 1, 0, 0, 3, 7].iter().flat_map(|w| w.to_ne_bytes()).collect();
/// let mut hits = Vec::new();
/// within_words(&packed, &[0, 0, 0], 1, &mut hits);
/// assert_eq!(hits, [0]);
/// ```
pub fn within_words(packed: &[u8], query: &[u64], distance: u32, hits: &mut Vec<u32>) {
    match *query {
        [word] => (kernels().narrow)(packed, word, u64::MAX, distance, hits),
        [a, b, c, d] => {
            (kernels().quad)(packed, B256::new([a, b, c, d]), B256::MAX, distance, hits);
        }
        _ if query.len().is_multiple_of(8) => (kernels().eights)(packed, query, distance, hits),
        _ => (kernels().words)(packed, query, distance, hits),
    }
}

/// The portable form of [`within`], against which the others are tested.
pub fn within_portable<F: Key>(packed: &[u8], query: F, distance: u32, hits: &mut Vec<u32>) {
    scan(packed, query, F::MAX, distance, hits);
}

/// The arguments are the keys, the query, the mask of compared bits, the distance and the hits.
type Kernel<F> = fn(&[u8], F, F, u32, &mut Vec<u32>);
type WordKernel = fn(&[u8], &[u64], u32, &mut Vec<u32>);

/// One kernel for each width.
struct Kernels {
    narrow: Kernel<u64>,
    wide: Kernel<u128>,
    quad: Kernel<B256>,
    /// For a multiple of eight words.
    eights: WordKernel,
    /// For any number of words.
    words: WordKernel,
}

fn kernels() -> &'static Kernels {
    static CHOSEN: OnceLock<Kernels> = OnceLock::new();
    CHOSEN.get_or_init(|| available().next().unwrap_or(PORTABLE))
}

const PORTABLE: Kernels = Kernels {
    narrow: scan::<u64>,
    wide: scan::<u128>,
    quad: scan::<B256>,
    eights: scan_words,
    words: scan_words,
};

/// The kernels that this processor can run, fastest first.
fn available() -> impl Iterator<Item = Kernels> {
    #[cfg(target_arch = "x86_64")]
    let native = {
        let popcnt = is_x86_feature_detected!("popcnt");
        let avx2 = popcnt && is_x86_feature_detected!("avx2");
        let avx512 = popcnt
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vpopcntdq");
        [avx512.then_some(x86::AVX512), avx2.then_some(x86::AVX2), popcnt.then_some(x86::POPCNT)]
    };
    #[cfg(target_arch = "aarch64")]
    let native = [Some(arm::NEON)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let native: [Option<Kernels>; 0] = [];
    native.into_iter().flatten().chain([PORTABLE])
}

#[inline(always)]
fn scan<F: Key>(packed: &[u8], query: F, mask: F, distance: u32, hits: &mut Vec<u32>) {
    tail(packed, 0, (query, mask), distance, hits);
}

#[inline(always)]
fn scan_words(packed: &[u8], query: &[u64], distance: u32, hits: &mut Vec<u32>) {
    for (i, key) in packed.chunks_exact(8 * query.len()).enumerate() {
        let words = key.as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word));
        let differing: u32 = words.zip(query).map(|(word, other)| word.hamming(*other)).sum();
        if differing <= distance {
            hits.push(i as u32);
        }
    }
}

/// Scans the keys from number `from` on.
#[inline(always)]
fn tail<F: Key>(
    packed: &[u8],
    from: usize,
    (query, mask): (F, F),
    distance: u32,
    hits: &mut Vec<u32>,
) {
    for (i, bytes) in packed[from * F::BYTES..].chunks_exact(F::BYTES).enumerate() {
        if ((F::load(bytes) ^ query) & mask).count_ones() <= distance {
            hits.push((from + i) as u32);
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
    use super::{Kernels, push_mask, scan, scan_words, tail};
    use crate::base::bits::B256;
    use std::arch::x86_64::*;

    pub(super) const AVX512: Kernels = Kernels {
        narrow: narrow_avx512,
        wide: wide_avx512,
        quad: quad_avx512,
        eights: eights_avx512,
        words: words_popcnt,
    };
    pub(super) const AVX2: Kernels = Kernels {
        narrow: narrow_avx2,
        wide: wide_avx2,
        quad: quad_avx2,
        eights: words_popcnt,
        words: words_popcnt,
    };
    pub(super) const POPCNT: Kernels = Kernels {
        narrow: narrow_popcnt,
        wide: wide_popcnt,
        quad: quad_popcnt,
        eights: words_popcnt,
        words: words_popcnt,
    };

    /// Defines a safe entry point for a kernel that needs processor features.
    macro_rules! kernel {
        ($entry:ident, $inner:ident, $($argument:ident: $t:ty),+) => {
            fn $entry(packed: &[u8], $($argument: $t,)+ distance: u32, hits: &mut Vec<u32>) {
                // SAFETY: `available` hands this function out only after it has detected the
                // features that `$inner` enables.
                unsafe { $inner(packed, $($argument,)+ distance, hits) }
            }
        };
    }
    kernel!(narrow_avx512, narrow_avx512_inner, query: u64, mask: u64);
    kernel!(wide_avx512, wide_avx512_inner, query: u128, mask: u128);
    kernel!(quad_avx512, quad_avx512_inner, query: B256, mask: B256);
    kernel!(eights_avx512, eights_avx512_inner, query: &[u64]);
    kernel!(narrow_avx2, narrow_avx2_inner, query: u64, mask: u64);
    kernel!(wide_avx2, wide_avx2_inner, query: u128, mask: u128);
    kernel!(quad_avx2, quad_avx2_inner, query: B256, mask: B256);
    kernel!(narrow_popcnt, narrow_popcnt_inner, query: u64, mask: u64);
    kernel!(wide_popcnt, wide_popcnt_inner, query: u128, mask: u128);
    kernel!(quad_popcnt, quad_popcnt_inner, query: B256, mask: B256);
    kernel!(words_popcnt, words_popcnt_inner, query: &[u64]);

    #[target_feature(enable = "popcnt")]
    fn narrow_popcnt_inner(
        packed: &[u8],
        query: u64,
        mask: u64,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        scan(packed, query, mask, distance, hits);
    }

    #[target_feature(enable = "popcnt")]
    fn wide_popcnt_inner(
        packed: &[u8],
        query: u128,
        mask: u128,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        scan(packed, query, mask, distance, hits);
    }

    #[target_feature(enable = "popcnt")]
    fn quad_popcnt_inner(
        packed: &[u8],
        query: B256,
        mask: B256,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        scan(packed, query, mask, distance, hits);
    }

    #[target_feature(enable = "popcnt")]
    fn words_popcnt_inner(packed: &[u8], query: &[u64], distance: u32, hits: &mut Vec<u32>) {
        scan_words(packed, query, distance, hits);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn narrow_avx512_inner(
        packed: &[u8],
        query: u64,
        mask: u64,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        let center = _mm512_set1_epi64(query as i64);
        let counted = _mm512_set1_epi64(mask as i64);
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = packed.len() / 8;
        let close = |i: usize| {
            // SAFETY: callers keep i + 8 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm512_loadu_si512(packed.as_ptr().add(i * 8).cast()) };
            let differing = _mm512_and_si512(_mm512_xor_si512(keys, center), counted);
            let differing = _mm512_popcnt_epi64(differing);
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
        tail::<u64>(packed, i, (query, mask), distance, hits);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn wide_avx512_inner(
        packed: &[u8],
        query: u128,
        mask: u128,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        let [center, counted] = [query, mask].map(|key| {
            let [a, b] = halves(key);
            _mm512_setr_epi64(a, b, a, b, a, b, a, b)
        });
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = packed.len() / 16;
        let close = |i: usize| {
            // SAFETY: callers keep i + 4 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm512_loadu_si512(packed.as_ptr().add(i * 16).cast()) };
            let differing = _mm512_and_si512(_mm512_xor_si512(keys, center), counted);
            let by_half = _mm512_popcnt_epi64(differing);
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
        tail::<u128>(packed, i, (query, mask), distance, hits);
    }

    /// A vector holds two keys. The counts of eight keys are added up together, which takes fewer
    /// instructions than adding up those of each vector.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn quad_avx512_inner(
        packed: &[u8],
        query: B256,
        mask: B256,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        let [center, counted] = [query, mask].map(|key| {
            // SAFETY: `key` has 32 bytes; the instruction needs no alignment.
            _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(key.words().as_ptr().cast()) })
        });
        let limit = _mm512_set1_epi64(i64::from(distance));
        let count = packed.len() / 32;
        let by_word = |i: usize| {
            // SAFETY: callers keep i + 2 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm512_loadu_si512(packed.as_ptr().add(i * 32).cast()) };
            _mm512_popcnt_epi64(_mm512_and_si512(_mm512_xor_si512(keys, center), counted))
        };
        let by_half = |i: usize| {
            let (a, b) = (by_word(i), by_word(i + 2));
            _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
        };
        // In order, the lanes of `by_half(i)` count the first halves of keys i and i + 2, their
        // second halves, and the same of keys i + 1 and i + 3.
        let first = _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13);
        let second = _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15);
        let close = |i: usize| {
            let (low, high) = (by_half(i), by_half(i + 4));
            let differing = _mm512_add_epi64(
                _mm512_permutex2var_epi64(low, first, high),
                _mm512_permutex2var_epi64(low, second, high),
            );
            u32::from(_mm512_cmple_epu64_mask(differing, limit))
        };
        let mut i = 0;
        while i + 16 <= count {
            let mask = close(i) | close(i + 8) << 8;
            if mask != 0 {
                push_mask(hits, i, mask, 0);
            }
            i += 16;
        }
        if i + 8 <= count {
            push_mask(hits, i, close(i), 0);
            i += 8;
        }
        tail::<B256>(packed, i, (query, mask), distance, hits);
    }

    /// Scans keys that are whole vectors.
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn eights_avx512_inner(packed: &[u8], query: &[u64], distance: u32, hits: &mut Vec<u32>) {
        for (i, key) in packed.chunks_exact(8 * query.len()).enumerate() {
            let vectors = key.as_chunks::<64>().0.iter().zip(query.as_chunks::<8>().0);
            let by_lane = vectors.fold(_mm512_setzero_si512(), |sum, (key, query)| {
                // SAFETY: both are 64 bytes; the instruction needs no alignment.
                let (key, query) = unsafe {
                    (
                        _mm512_loadu_si512(key.as_ptr().cast()),
                        _mm512_loadu_si512(query.as_ptr().cast()),
                    )
                };
                _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(key, query)))
            });
            if _mm512_reduce_add_epi64(by_lane) <= i64::from(distance) {
                hits.push(i as u32);
            }
        }
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
    fn narrow_avx2_inner(packed: &[u8], query: u64, mask: u64, distance: u32, hits: &mut Vec<u32>) {
        let center = _mm256_set1_epi64x(query as i64);
        let counted = _mm256_set1_epi64x(mask as i64);
        let beyond = _mm256_set1_epi64x(i64::from(distance) + 1);
        let count = packed.len() / 8;
        let close = |i: usize| {
            // SAFETY: callers keep i + 4 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm256_loadu_si256(packed.as_ptr().add(i * 8).cast()) };
            let differing = _mm256_and_si256(_mm256_xor_si256(keys, center), counted);
            let differing = popcount_lanes(differing);
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
        tail::<u64>(packed, i, (query, mask), distance, hits);
    }

    #[target_feature(enable = "avx2")]
    fn wide_avx2_inner(packed: &[u8], query: u128, mask: u128, distance: u32, hits: &mut Vec<u32>) {
        let [center, counted] = [query, mask].map(|key| {
            let [a, b] = halves(key);
            _mm256_setr_epi64x(a, b, a, b)
        });
        let beyond = _mm256_set1_epi64x(i64::from(distance) + 1);
        let count = packed.len() / 16;
        let close = |i: usize| {
            // SAFETY: callers keep i + 2 within `count`, so the read lies in `packed`; unaligned
            // load.
            let keys = unsafe { _mm256_loadu_si256(packed.as_ptr().add(i * 16).cast()) };
            let differing = _mm256_and_si256(_mm256_xor_si256(keys, center), counted);
            let by_half = popcount_lanes(differing);
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
        tail::<u128>(packed, i, (query, mask), distance, hits);
    }

    /// A vector holds one key. The counts of four keys are added up together.
    #[target_feature(enable = "avx2,popcnt")]
    fn quad_avx2_inner(packed: &[u8], query: B256, mask: B256, distance: u32, hits: &mut Vec<u32>) {
        let [center, counted] = [query, mask].map(|key| {
            // SAFETY: `key` has 32 bytes; the instruction needs no alignment.
            unsafe { _mm256_loadu_si256(key.words().as_ptr().cast()) }
        });
        let beyond = _mm256_set1_epi64x(i64::from(distance) + 1);
        let count = packed.len() / 32;
        let by_word = |i: usize| {
            // SAFETY: callers keep i within `count`, so the read lies in `packed`; unaligned load.
            let key = unsafe { _mm256_loadu_si256(packed.as_ptr().add(i * 32).cast()) };
            popcount_lanes(_mm256_and_si256(_mm256_xor_si256(key, center), counted))
        };
        let by_half = |i: usize| {
            let (a, b) = (by_word(i), by_word(i + 1));
            _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
        };
        let mut i = 0;
        while i + 4 <= count {
            let (low, high) = (by_half(i), by_half(i + 2));
            let differing = _mm256_add_epi64(
                _mm256_permute2x128_si256::<0x20>(low, high),
                _mm256_permute2x128_si256::<0x31>(low, high),
            );
            let mask =
                _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(beyond, differing)));
            if mask != 0 {
                push_mask(hits, i, mask as u32, 0);
            }
            i += 4;
        }
        tail::<B256>(packed, i, (query, mask), distance, hits);
    }

    /// The two halves of a fingerprint in the order in which they are stored.
    fn halves(query: u128) -> [i64; 2] {
        let bytes = query.to_ne_bytes();
        let half = |at: usize| i64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        [half(0), half(8)]
    }
}

/// Every arm64 processor has these instructions.
#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{Kernels, scan_words, tail};
    use crate::base::bits::B256;
    use crate::base::key::Key;
    use crate::base::simd::neon::{KEYS, Vectors, for_each_set};

    pub(super) const NEON: Kernels = Kernels {
        narrow: scan_neon::<u64>,
        wide: scan_neon::<u128>,
        quad: scan_neon::<B256>,
        eights: scan_words,
        words: scan_words,
    };

    fn scan_neon<F: Key + Vectors>(
        packed: &[u8],
        query: F,
        mask: F,
        distance: u32,
        hits: &mut Vec<u32>,
    ) {
        let blocks = packed.chunks_exact(KEYS * F::BYTES);
        let whole = blocks.len() * KEYS;
        for (block, keys) in blocks.enumerate() {
            // SAFETY: `keys` holds `KEYS` keys; every arm64 processor has NEON.
            unsafe {
                for_each_set(query.close(mask, keys.as_ptr(), distance), |lane| {
                    hits.push((block * KEYS) as u32 + lane);
                });
            }
        }
        tail(packed, whole, (query, mask), distance, hits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bits::{B1024, Bits};
    use crate::base::random::mix;

    /// Checks that a kernel finds the same keys as the portable form.
    fn check<F>(
        kernel: impl Fn(&[u8], F, u32, &mut Vec<u32>),
        portable: impl Fn(&[u8], F, u32, &mut Vec<u32>),
        packed: &[u8],
        query: F,
        distance: u32,
    ) where
        F: Copy,
    {
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        portable(packed, query, distance, &mut expected);
        kernel(packed, query, distance, &mut found);
        assert_eq!(found, expected);
    }

    /// Checks that a kernel finds the keys near the query under several masks.
    fn check_masks<F: Key>(kernel: Kernel<F>, packed: &[u8], query: F, distance: u32) {
        let some = F::from_words(|word| mix(u64::from(distance) + word as u64));
        for mask in [F::MAX, F::MAX >> 8, F::MAX >> 16, some, F::ZERO] {
            let kernel = |keys: &[u8], query, distance, hits: &mut Vec<u32>| {
                kernel(keys, query, mask, distance, hits);
            };
            let counted = |keys: &[u8], query: F, distance, hits: &mut Vec<u32>| {
                let keys = keys.chunks_exact(F::BYTES).map(F::load).zip(0..);
                let near = |key: F| ((key & mask) ^ (query & mask)).count_ones() <= distance;
                hits.extend(keys.filter(|(key, _)| near(*key)).map(|(_, i)| i));
            };
            check(kernel, counted, packed, query, distance);
        }
    }

    #[test]
    fn every_kernel_equals_the_portable_one_at_every_length_offset_and_distance() {
        let bytes: Vec<u8> = (0..2400).flat_map(|i| mix(i).to_ne_bytes()).collect();
        for kernels in available() {
            for count in [0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 579] {
                for shift in [0, 1, 8] {
                    let packed = |width: usize| &bytes[shift..shift + count * width];
                    for distance in 0..64 {
                        let query = mix(u64::from(distance) % 5);
                        check_masks(kernels.narrow, packed(8), query, distance);
                        let query = u128::from(query) << 64 | u128::from(mix(77));
                        check_masks(kernels.wide, packed(16), query, 2 * distance);
                        let query = B256::new([1, 2, 3, distance / 9].map(|i| mix(i.into())));
                        check_masks(kernels.quad, packed(32), query, 4 * distance);
                    }
                }
            }
        }
    }

    #[test]
    fn keys_of_any_number_of_words_are_compared_as_in_the_portable_form() {
        let bytes: Vec<u8> = (0..1300).flat_map(|i| mix(i).to_ne_bytes()).collect();
        for kernels in available() {
            for words in 1..=33 {
                for count in [0, 1, 2, 3, 8, 33] {
                    // Near the first keys, so that something is found at small distances too.
                    let query: Vec<u64> = (0..words).map(|i| mix(i) ^ 1 << (i % 8)).collect();
                    let packed = &bytes[1..1 + count * query.len() * 8 + 3];
                    let stored = &bytes[..count * query.len() * 8 + 3];
                    for distance in (0..64 * words as u32).step_by(29) {
                        for packed in [packed, stored] {
                            check(kernels.words, scan_words, packed, &query[..], distance);
                            check(within_words, scan_words, packed, &query[..], distance);
                            if words % 8 == 0 {
                                check(kernels.eights, scan_words, packed, &query[..], distance);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_width_finds_what_the_portable_form_finds() {
        fn check_width<F: Key>(bytes: &[u8]) {
            let query = F::load(&bytes[..F::BYTES]) ^ F::bit(F::BITS - 1) ^ F::bit(0);
            for distance in [0, 1, 2, 3, F::BITS / 2 - 3, F::BITS / 2, F::BITS - 1, F::BITS] {
                check(within, within_portable, bytes, query, distance);
            }
        }
        let bytes: Vec<u8> = (0..1300).flat_map(|i| mix(i).to_ne_bytes()).collect();
        check_width::<u64>(&bytes);
        check_width::<u128>(&bytes);
        check_width::<Bits<3>>(&bytes);
        check_width::<B256>(&bytes);
        check_width::<Bits<8>>(&bytes);
        check_width::<B1024>(&bytes);
    }

    #[test]
    fn the_whole_width_finds_everything() {
        let mut hits = Vec::new();
        within(&[0xff; 48], 0u128, 128, &mut hits);
        assert_eq!(hits, [0, 1, 2]);
        hits.clear();
        within(&[0xff; 70], B256::ZERO, 256, &mut hits);
        assert_eq!(hits, [0, 1]);
    }
}
