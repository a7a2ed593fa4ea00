//! NEON: the distances of sixteen keys from one, for the kernels of [`popcount`](super::popcount)
//! and [`pairs`](super::pairs). Every arm64 processor has these instructions.

use std::arch::aarch64::*;

use crate::base::bits::B256;

/// How many keys are compared at a time.
pub(super) const KEYS: usize = 16;

/// A key that is compared with [`KEYS`] keys at a time in vectors.
pub(super) trait Vectors: Copy {
    /// Compares `self` with the [`KEYS`] keys at `keys`, in the bits of `mask`. The byte of a key
    /// within `distance` is all ones; any other is 0.
    ///
    /// # Safety
    /// [`KEYS`] keys can be read at `keys`, at any alignment.
    unsafe fn close(self, mask: Self, keys: *const u8, distance: u32) -> uint8x16_t;
}

/// Hands the index of each byte that is not 0 to `each`, in ascending order. Each byte must be 0 or
/// all ones.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn for_each_set(bytes: uint8x16_t, mut each: impl FnMut(u32)) {
    // Narrowing leaves four bits of each byte.
    let narrow = vshrn_n_u16::<4>(vreinterpretq_u16_u8(bytes));
    let mut mask = vget_lane_u64::<0>(vreinterpret_u64_u8(narrow)) & 0x1111_1111_1111_1111;
    while mask != 0 {
        each(mask.trailing_zeros() / 4);
        mask &= mask - 1;
    }
}

/// For each byte of vector `index` at `keys`, how many of the bits of `mask` differ from `center`.
///
/// # Safety
/// Vector `index` at `keys` can be read, at any alignment.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn differing(keys: *const u8, index: usize, [center, mask]: [uint8x16_t; 2]) -> uint8x16_t {
    // SAFETY: the caller guarantees that vector `index` at `keys` can be read, at any alignment.
    let key = unsafe { vld1q_u8(keys.add(16 * index)) };
    vcntq_u8(vandq_u8(veorq_u8(key, center), mask))
}

/// Sums neighbouring bytes, which halves the number of vectors.
macro_rules! add_up {
    ($vectors:expr) => {{
        let vectors = $vectors;
        std::array::from_fn(|i| vpaddq_u8(vectors[2 * i], vectors[2 * i + 1]))
    }};
}

impl Vectors for u64 {
    #[inline(always)]
    unsafe fn close(self, mask: Self, keys: *const u8, distance: u32) -> uint8x16_t {
        // SAFETY: every arm64 processor has NEON; the caller guarantees that the keys can be read.
        unsafe { close_narrow(self, mask, keys, distance) }
    }
}

impl Vectors for u128 {
    #[inline(always)]
    unsafe fn close(self, mask: Self, keys: *const u8, distance: u32) -> uint8x16_t {
        // SAFETY: every arm64 processor has NEON; the caller guarantees that the keys can be read.
        unsafe { close_wide(self, mask, keys, distance) }
    }
}

impl Vectors for B256 {
    #[inline(always)]
    unsafe fn close(self, mask: Self, keys: *const u8, distance: u32) -> uint8x16_t {
        // SAFETY: every arm64 processor has NEON; the caller guarantees that the keys can be read.
        unsafe { close_quad(self, mask, keys, distance) }
    }
}

/// `distance` in every byte. A distance that does not fit a byte exceeds every sum, so 255 serves.
#[inline]
#[target_feature(enable = "neon")]
fn limit(distance: u32) -> uint8x16_t {
    vdupq_n_u8(u8::try_from(distance).unwrap_or(u8::MAX))
}

/// A vector holds two keys. The counts of a key are eight bytes.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn close_narrow(center: u64, mask: u64, keys: *const u8, distance: u32) -> uint8x16_t {
    let center = [center, mask].map(|key| vreinterpretq_u8_u64(vdupq_n_u64(key)));
    // SAFETY: the caller guarantees that 16 keys, 8 vectors, can be read at `keys`.
    let counts: [_; 8] = std::array::from_fn(|i| unsafe { differing(keys, i, center) });
    let by_half: [_; 4] = add_up!(counts);
    let by_quarter: [_; 2] = add_up!(by_half);
    let [sums] = add_up!(by_quarter);
    vcleq_u8(sums, limit(distance))
}

/// A vector holds one key. The sum of a key is at most 128.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn close_wide(center: u128, mask: u128, keys: *const u8, distance: u32) -> uint8x16_t {
    // SAFETY: the array has 16 bytes, the size of the vector.
    let center = [center, mask].map(|key| unsafe { vld1q_u8(key.to_ne_bytes().as_ptr()) });
    // SAFETY: the caller guarantees that 16 keys, 16 vectors, can be read at `keys`.
    let counts: [_; 16] = std::array::from_fn(|i| unsafe { differing(keys, i, center) });
    let sums: [_; 8] = add_up!(counts);
    let sums: [_; 4] = add_up!(sums);
    let sums: [_; 2] = add_up!(sums);
    let [sums] = add_up!(sums);
    vcleq_u8(sums, limit(distance))
}

/// A key takes two vectors. The sum of a key is at most 256, which is more than a byte holds, so
/// the last sums have 16 bits.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn close_quad(center: B256, mask: B256, keys: *const u8, distance: u32) -> uint8x16_t {
    let [low, high] = [0, 2].map(|word| {
        // SAFETY: the key has at least 16 bytes from word 0 and from word 2 on.
        [center, mask].map(|key| unsafe { vld1q_u8(key.words()[word..].as_ptr().cast()) })
    });
    // SAFETY: the caller guarantees that 16 keys, 32 vectors, can be read at `keys`.
    let counts: [_; 16] = std::array::from_fn(|i| unsafe {
        vaddq_u8(differing(keys, 2 * i, low), differing(keys, 2 * i + 1, high))
    });
    let sums: [_; 8] = add_up!(counts);
    let sums: [_; 4] = add_up!(sums);
    let sums: [_; 2] = add_up!(sums);
    let limit = vdupq_n_u16(u16::try_from(distance).unwrap_or(u16::MAX));
    let [low, high] = sums.map(|sums| vmovn_u16(vcleq_u16(vpaddlq_u8(sums), limit)));
    vcombine_u8(low, high)
}
