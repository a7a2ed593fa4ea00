//! Keys of a block table: fingerprints seen as unsigned numbers whose bits can be masked and
//! stored.

use crate::base::fingerprint::Fingerprint;
use std::ops::{BitAnd, BitOr, Not};

/// A fingerprint as a key: ordered as an unsigned number, stored in native byte order.
pub trait Key:
    Fingerprint + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
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

    /// A mask of the `count` most significant bits. `count` is 0 to `BITS`.
    #[inline]
    fn leading_mask(count: u32) -> Self {
        if count == 0 { Self::ZERO } else { Self::MAX << (Self::BITS - count) }
    }

    /// Rotates towards the least significant bit.
    #[inline]
    fn rotate_right(self, n: u32) -> Self {
        self.rotate_left((Self::BITS - n) % Self::BITS)
    }

    /// The position of set bit number `n`, if it exists. Bits and positions are counted from 0 at
    /// the most significant bit.
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

/// Guesses the position of a key in an array of sorted keys, assuming that they are spread evenly
/// between the first and the last. A guess does not read the array.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// The first key's most significant bits.
    first: u64,
    /// Positions per unit of those bits.
    slope: f64,
    last: usize,
}

impl Spread {
    /// The guesser for `count` sorted keys. `first` and `last` are the most significant 64 bits of
    /// the first and the last of them.
    pub fn between(first: u64, last: u64, count: usize) -> Self {
        let steps = count.saturating_sub(1);
        let width = last.saturating_sub(first);
        let slope = if width == 0 { 0.0 } else { steps as f64 / width as f64 };
        Self { first, slope, last: steps }
    }

    /// The approximate position of the key whose most significant bits are `top`.
    #[inline]
    pub fn guess(&self, top: u64) -> usize {
        ((top.saturating_sub(self.first) as f64 * self.slope) as usize).min(self.last)
    }
}

/// The number of sorted `keys` that are not above `key`. The search starts at `guess` and doubles
/// its steps, so for uniform keys it costs one or two cache misses instead of one for every
/// halving.
pub fn not_above<K: Copy + Ord>(keys: &[K], guess: usize, key: K) -> usize {
    let guess = guess.min(keys.len());
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
    use super::{Key, Spread, not_above};
    use crate::base::fingerprint::Fingerprint;

    fn guesser<F: Key>(keys: &[F]) -> Spread {
        let end = |key: Option<&F>| key.map_or(0, |key| key.top());
        Spread::between(end(keys.first()), end(keys.last()), keys.len())
    }

    #[test]
    fn interpolation_finds_what_counting_finds() {
        let spreads: [fn(u64) -> u64; 4] =
            [|i| i, |i| i * i * i, |i| i / 7, |i| if i < 90 { i } else { u64::MAX - 100 + i }];
        for spread in spreads {
            for length in [0, 1, 2, 17, 100] {
                let keys: Vec<u64> = (0..length).map(spread).collect();
                let probes =
                    keys.iter().flat_map(|&k| [k.saturating_sub(1), k, k.saturating_add(1)]);
                for key in probes.chain([0, u64::MAX]) {
                    let counted = keys.iter().filter(|&&k| k <= key).count();
                    for guess in [guesser(&keys).guess(key.top()), 0, keys.len(), 1000] {
                        assert_eq!(not_above(&keys, guess, key), counted, "{key} in {keys:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn evenly_spread_keys_are_where_they_are_expected() {
        let keys: Vec<u64> = (0..1000).map(|i| i << 50).collect();
        let wide: Vec<u128> = keys.iter().map(|&key| u128::from(key) << 64).collect();
        for i in [0, 1, 500, 999] {
            assert!(guesser(&keys).guess(keys[i].top()).abs_diff(i) <= 1);
            assert!(guesser(&wide).guess(wide[i].top()).abs_diff(i) <= 1);
        }
        assert_eq!(guesser(&keys).guess(u64::MAX), 999);
        assert_eq!(guesser(&[7u64; 9]).guess(7), 0);
    }
}
