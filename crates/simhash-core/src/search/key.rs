//! Keys of a block table: fingerprints seen as unsigned numbers whose bits can be masked and stored.

use crate::fingerprint::Fingerprint;
use std::ops::{BitAnd, BitOr, Not};

/// A fingerprint usable as a key: ordered as an unsigned number, stored in native byte order.
pub trait Key: Fingerprint + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// Stored size in bytes.
    const BYTES: usize;

    /// The number of clear bits above the most significant set bit.
    fn leading_zeros(self) -> u32;
    /// The number of clear bits below the least significant set bit.
    fn trailing_zeros(self) -> u32;
    /// Reads a stored key.
    ///
    /// # Panics
    /// When `bytes` is not `BYTES` long.
    fn load(bytes: &[u8]) -> Self;
    /// Writes the stored form.
    ///
    /// # Panics
    /// When `bytes` is not `BYTES` long.
    fn store(self, bytes: &mut [u8]);

    /// The key whose only set bit is number `position`, counted from the most significant.
    #[inline]
    fn bit(position: u32) -> Self {
        (Self::MAX ^ (Self::MAX >> 1)) >> position
    }

    /// A mask of the `count` most significant bits; `count` may be 0 to `BITS`.
    #[inline]
    fn leading_mask(count: u32) -> Self {
        if count == 0 { Self::ZERO } else { Self::MAX << (Self::BITS - count) }
    }

    /// Rotates towards the least significant bit.
    #[inline]
    fn rotate_right(self, n: u32) -> Self {
        self.rotate_left((Self::BITS - n) % Self::BITS)
    }

    /// The position, counted from the most significant bit, of set bit number `n` (from 0), if
    /// there are that many.
    #[inline]
    fn nth_set_bit(mut self, n: u32) -> Option<u32> {
        for _ in 0..n {
            if self == Self::ZERO {
                return None;
            }
            self = self & !Self::bit(self.leading_zeros());
        }
        (self != Self::ZERO).then(|| self.leading_zeros())
    }
}

macro_rules! key {
    ($t:ty) => {
        impl Key for $t {
            const BYTES: usize = size_of::<$t>();

            #[inline]
            fn leading_zeros(self) -> u32 {
                self.leading_zeros()
            }
            #[inline]
            fn trailing_zeros(self) -> u32 {
                self.trailing_zeros()
            }
            #[inline]
            fn load(bytes: &[u8]) -> Self {
                let mut native = [0; size_of::<$t>()];
                native.copy_from_slice(bytes);
                <$t>::from_ne_bytes(native)
            }
            #[inline]
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    };
}
key!(u64);
key!(u128);

/// The number of sorted `keys` that are not above `key`. Starts where an even spread would put it, so
/// that uniform keys cost two or three cache misses, not one for every halving.
pub fn not_above<F: Key>(keys: &[F], key: F) -> usize {
    let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
        return 0;
    };
    if key < first {
        return 0;
    }
    if key >= last {
        return keys.len();
    }
    let share = (key.to_u128() - first.to_u128()) as f64 / (last.to_u128() - first.to_u128()) as f64;
    let guess = ((share * keys.len() as f64) as usize).min(keys.len() - 1);
    let (mut low, mut high) = (guess, guess);
    let mut step = 2;
    while high < keys.len() && keys[high] <= key {
        low = high + 1;
        high = (high + step).min(keys.len());
        step *= 2;
    }
    step = 2;
    while low > 0 && keys[low - 1] > key {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    low + keys[low..high].partition_point(|k| *k <= key)
}

#[cfg(test)]
mod tests {
    use super::not_above;

    #[test]
    fn interpolation_finds_what_counting_finds() {
        let spreads: [fn(u64) -> u64; 4] =
            [|i| i, |i| i * i * i, |i| i / 7, |i| if i < 90 { i } else { u64::MAX - 100 + i }];
        for spread in spreads {
            for length in [0, 1, 2, 17, 100] {
                let keys: Vec<u64> = (0..length).map(spread).collect();
                let probes = keys.iter().flat_map(|&k| [k.saturating_sub(1), k, k.saturating_add(1)]);
                for key in probes.chain([0, u64::MAX]) {
                    let counted = keys.iter().filter(|&&k| k <= key).count();
                    assert_eq!(not_above(&keys, key), counted, "{key} in {keys:?}");
                }
            }
        }
    }
}
