//! Fingerprints: bits compared by Hamming distance, 64 of them or a multiple of 64.
//!
//! A [`Fingerprint`] is nothing but its bits. Bit `BITS - 1` is the most significant and comes
//! first in the text form. Everything else in this crate is generic over the width through this
//! trait.
//!
//! A word is 64 bits of a fingerprint. Words, like bits, are numbered from the least significant.

use std::fmt;
use std::hash::Hash;
use std::ops::{BitXor, Shl, Shr};

/// A fixed-width bit string: `u64`, `u128` or [`Bits`](crate::base::bits::Bits).
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

    /// One `T` for each word, in the order of the word numbers.
    type PerWord<T: Copy>: Copy + AsRef<[T]> + AsMut<[T]>;
    /// `value` for each word.
    fn per_word<T: Copy>(value: T) -> Self::PerWord<T>;

    /// Word number `index`.
    ///
    /// # Panics
    /// When there is no such word.
    fn word(self, index: usize) -> u64;
    /// The fingerprint of these words. `word` is called once for each of them, from word 0 on.
    fn from_words(word: impl FnMut(usize) -> u64) -> Self;
    /// The number of set bits.
    fn count_ones(self) -> u32;
    /// Rotates towards the most significant bit.
    fn rotate_left(self, n: u32) -> Self;

    /// The most significant 64 bits.
    #[inline]
    fn top(self) -> u64 {
        self.word(Self::BITS as usize / 64 - 1)
    }

    /// The fingerprint that is `number` as an unsigned number.
    #[inline]
    fn from_number(number: u64) -> Self {
        Self::from_words(|index| if index == 0 { number } else { 0 })
    }

    /// The fingerprint that begins with `bytes`, the most significant first, and continues with
    /// zeros.
    ///
    /// ```
    /// use simhash_core::Fingerprint;
    /// let from = <u64 as Fingerprint>::from_be_bytes;
    /// assert_eq!(from(&[0xab, 0xcd]), 0xabcd_0000_0000_0000);
    /// assert_eq!(from(&[1, 2, 3, 4, 5, 6, 7, 8]), 0x0102_0304_0506_0708);
    /// ```
    ///
    /// # Panics
    /// When there are more bytes than a fingerprint has.
    #[inline]
    fn from_be_bytes(bytes: &[u8]) -> Self {
        let words = Self::BITS as usize / 64;
        assert!(bytes.len() <= 8 * words, "{} bytes for {} bits", bytes.len(), Self::BITS);
        Self::from_words(|index| {
            let mut word = [0; 8];
            let rest = bytes.get(8 * (words - 1 - index)..).unwrap_or_default();
            let length = rest.len().min(8);
            word[..length].copy_from_slice(&rest[..length]);
            u64::from_be_bytes(word)
        })
    }

    /// Fills `out` with the first bytes of the fingerprint, the most significant first.
    ///
    /// # Panics
    /// When `out` has more bytes than a fingerprint.
    #[inline]
    fn to_be_bytes(self, out: &mut [u8]) {
        let words = Self::BITS as usize / 64;
        for (place, bytes) in out.chunks_mut(8).enumerate() {
            let word = self.word(words - 1 - place).to_be_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
    }

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

            type PerWord<T: Copy> = [T; <$t>::BITS as usize / 64];
            #[inline]
            fn per_word<T: Copy>(value: T) -> Self::PerWord<T> {
                [value; _]
            }

            #[inline]
            fn word(self, index: usize) -> u64 {
                assert!(index < <$t>::BITS as usize / 64);
                (self >> (64 * index)) as u64
            }
            #[inline]
            fn from_words(mut word: impl FnMut(usize) -> u64) -> Self {
                (0..<$t>::BITS as usize / 64)
                    .fold(0, |bits, index| bits | <$t>::from(word(index)) << (64 * index))
            }
            #[inline]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }
            #[inline]
            fn rotate_left(self, n: u32) -> Self {
                self.rotate_left(n)
            }
        }
    };
}
fingerprint!(u64);
fingerprint!(u128);

/// Parses the text form: exactly `BITS / 4` hexadecimal digits, in either case.
///
/// ```
/// use simhash_core::base::fingerprint::parse_hex;
/// assert_eq!(parse_hex::<u64>("00000000000000fF"), Some(255));
/// assert_eq!(parse_hex::<u64>("ff"), None);
/// assert_eq!(parse_hex::<u64>("+0000000000000ff"), None);
/// assert_eq!(parse_hex::<u128>("00000000000000020000000000000001"), Some((2 << 64) + 1));
/// ```
pub fn parse_hex<F: Fingerprint>(text: &str) -> Option<F> {
    let digits = text.as_bytes();
    if digits.len() != F::BITS as usize / 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().fold(0, |number, &digit| number << 4 | u64::from(value_of(digit)))
    };
    let words = F::BITS as usize / 64;
    Some(F::from_words(|index| number(&digits[16 * (words - 1 - index)..][..16])))
}

/// Parses hexadecimal digits as [`parse_hex`] does. A prefix is allowed: `0x`, as programs write
/// it, or `\x`, as bytea does.
///
/// ```
/// use simhash_core::base::fingerprint::parse_prefixed_hex;
/// assert_eq!(parse_prefixed_hex::<u64>("0x00000000000000ff"), Some(255));
/// assert_eq!(parse_prefixed_hex::<u64>(r"\x00000000000000FF"), Some(255));
/// assert_eq!(parse_prefixed_hex::<u64>("00000000000000ff"), Some(255));
/// assert_eq!(parse_prefixed_hex::<u64>("0x000000000000ff"), None);
/// ```
pub fn parse_prefixed_hex<F: Fingerprint>(text: &str) -> Option<F> {
    let digits = ["0x", "0X", r"\x"].into_iter().find_map(|prefix| text.strip_prefix(prefix));
    parse_hex(digits.unwrap_or(text))
}

/// The value of a hexadecimal digit.
fn value_of(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// The text form: `BITS / 4` lower-case hexadecimal digits, most significant first.
///
/// ```
/// assert_eq!(simhash_core::base::fingerprint::to_hex(255u64), "00000000000000ff");
/// ```
pub fn to_hex<F: Fingerprint>(fingerprint: F) -> String {
    format!("{fingerprint:0width$x}", width = F::BITS as usize / 4)
}

/// Parses an unsigned number in decimal digits. `None` if `digits` is empty or has another
/// character, or if the number needs more than `BITS` bits.
///
/// ```
/// use simhash_core::base::fingerprint::parse_decimal;
/// assert_eq!(parse_decimal("18446744073709551615"), Some(u64::MAX));
/// assert_eq!(parse_decimal::<u64>("18446744073709551616"), None);
/// assert_eq!(parse_decimal("18446744073709551616"), Some(1u128 << 64));
/// assert_eq!(parse_decimal::<u64>("-1"), None);
/// ```
pub fn parse_decimal<F: Fingerprint>(digits: &str) -> Option<F> {
    let mut number = F::per_word(0u64);
    for digit in digits.bytes() {
        let mut carry = u128::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        for word in number.as_mut() {
            let product = 10 * u128::from(*word) + carry;
            *word = product as u64;
            carry = product >> 64;
        }
        if carry != 0 {
            return None;
        }
    }
    (!digits.is_empty()).then(|| F::from_words(|index| number.as_ref()[index]))
}

/// The fingerprint as an unsigned number, in decimal digits.
///
/// ```
/// use simhash_core::base::fingerprint::to_decimal;
/// assert_eq!(to_decimal(u64::MAX), "18446744073709551615");
/// assert_eq!(to_decimal(1u128 << 64), "18446744073709551616");
/// ```
pub fn to_decimal<F: Fingerprint>(fingerprint: F) -> String {
    // The most digits that fit into a word.
    const DIGITS: usize = 19;
    const BASE: u128 = 10u128.pow(DIGITS as u32);
    let mut number = F::per_word(0u64);
    for (index, word) in number.as_mut().iter_mut().enumerate() {
        *word = fingerprint.word(index);
    }
    let mut text = String::new();
    while number.as_ref().iter().any(|&word| word != 0) || text.is_empty() {
        let mut rest = 0;
        for word in number.as_mut().iter_mut().rev() {
            let part = rest << 64 | u128::from(*word);
            *word = (part / BASE) as u64;
            rest = part % BASE;
        }
        text = format!("{rest:0DIGITS$}{text}");
    }
    let digits = text.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}
