//! Fingerprints: 64 or 128 bits compared by Hamming distance.
//!
//! A [`Fingerprint`] is nothing but its bits. Bit `BITS - 1` is the most significant, and the first
//! of the text form. Everything else in this crate is generic over the width through this trait.

use std::fmt;
use std::hash::Hash;
use std::ops::{BitXor, Shl, Shr};

/// A fixed-width bit string: `u64` or `u128`.
pub trait Fingerprint:
    Copy
    + Eq
    + Ord
    + Hash
    + fmt::Debug
    + fmt::LowerHex
    + Send
    + Sync
    + 'static
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Width in bits, f in the literature.
    const BITS: u32;
    /// All bits clear.
    const ZERO: Self;
    /// All bits set.
    const MAX: Self;

    /// The number of set bits.
    fn count_ones(self) -> u32;
    /// Rotates towards the most significant bit.
    fn rotate_left(self, n: u32) -> Self;
    /// The bits as a `u128`, the high half zero for 64-bit fingerprints.
    fn to_u128(self) -> u128;
    /// The low `BITS` bits of `bits`.
    fn from_u128(bits: u128) -> Self;

    /// Number of bits in which the two differ: 0 to `BITS`.
    ///
    /// ```
    /// use simhash_core::Fingerprint;
    /// assert_eq!(0b1011u64.hamming(0b0010), 2);
    /// assert_eq!(u128::ZERO.hamming(u128::MAX), 128);
    /// ```
    #[inline]
    fn hamming(self, other: Self) -> u32 {
        (self ^ other).count_ones()
    }
}

macro_rules! fingerprint {
    ($t:ty) => {
        impl Fingerprint for $t {
            const BITS: u32 = <$t>::BITS;
            const ZERO: Self = 0;
            const MAX: Self = <$t>::MAX;

            #[inline]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }
            #[inline]
            fn rotate_left(self, n: u32) -> Self {
                self.rotate_left(n)
            }
            #[inline]
            fn to_u128(self) -> u128 {
                self as u128
            }
            #[inline]
            fn from_u128(bits: u128) -> Self {
                bits as $t
            }
        }
    };
}
fingerprint!(u64);
fingerprint!(u128);

/// Parses the text form: exactly `BITS / 4` hexadecimal digits, in either case.
///
/// ```
/// use simhash_core::fingerprint::parse_hex;
/// assert_eq!(parse_hex::<u64>("00000000000000fF"), Some(255));
/// assert_eq!(parse_hex::<u64>("ff"), None);
/// assert_eq!(parse_hex::<u64>("+0000000000000ff"), None);
/// ```
pub fn parse_hex<F: Fingerprint>(text: &str) -> Option<F> {
    let digits = text.as_bytes();
    if digits.len() != F::BITS as usize / 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(F::from_u128)
}

/// The text form: `BITS / 4` lower-case hexadecimal digits, most significant first.
///
/// ```
/// assert_eq!(simhash_core::fingerprint::to_hex(255u64), "00000000000000ff");
/// ```
pub fn to_hex<F: Fingerprint>(fingerprint: F) -> String {
    format!("{fingerprint:0width$x}", width = F::BITS as usize / 4)
}
