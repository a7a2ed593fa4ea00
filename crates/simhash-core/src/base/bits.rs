//! Fingerprints wider than a machine number: an array of words.
//!
//! ```
//! use simhash_core::{Fingerprint, base::bits::B256};
//! let a = B256::new([0, 0, 0, 1]);
//! assert_eq!((a << 255).hamming(a), 2);
//! assert_eq!(a << 256, B256::ZERO);
//! assert!(a < a << 1);
//! ```

use std::array;
use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::base::fingerprint::Fingerprint;
use crate::base::key::Key;

/// `W` words of 64 bits, the most significant first, so the derived order is that of unsigned
/// numbers.
///
/// As a key it is stored as its words in this order, each in native byte order. So an array of keys
/// is an array of words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Bits<const W: usize>([u64; W]);

/// 256 bits.
pub type B256 = Bits<4>;
/// 1024 bits.
pub type B1024 = Bits<16>;

impl<const W: usize> Bits<W> {
    /// The fingerprint of these words, the most significant first.
    pub const fn new(words: [u64; W]) -> Self {
        Self(words)
    }

    /// The words, the most significant first.
    pub const fn words(&self) -> &[u64; W] {
        &self.0
    }

    /// Applies `operator` to each pair of words at the same place.
    #[inline]
    fn with(self, other: Self, operator: impl Fn(u64, u64) -> u64) -> Self {
        Self(array::from_fn(|place| operator(self.0[place], other.0[place])))
    }
}

impl<const W: usize> BitXor for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitxor(self, other: Self) -> Self {
        self.with(other, BitXor::bitxor)
    }
}

impl<const W: usize> BitAnd for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.with(other, BitAnd::bitand)
    }
}

impl<const W: usize> BitOr for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.with(other, BitOr::bitor)
    }
}

impl<const W: usize> Not for Bits<W> {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self(self.0.map(Not::not))
    }
}

/// 64 of the 128 bits of `high` and `low`, starting `by` bits after the most significant one. `by`
/// is below 64.
#[inline(always)]
fn funnel(high: u64, low: u64, by: u32) -> u64 {
    high << by | low >> 1 >> (63 - by)
}

/// Shifts towards the most significant bit. A shift by the whole width or more leaves no bit set.
impl<const W: usize> Shl<u32> for Bits<W> {
    type Output = Self;
    #[inline]
    fn shl(self, n: u32) -> Self {
        let (words, by) = ((n / 64) as usize, n % 64);
        let word = |place: usize| self.0.get(place).copied().unwrap_or(0);
        Self(array::from_fn(|place| funnel(word(place + words), word(place + words + 1), by)))
    }
}

/// Shifts towards the least significant bit. A shift by the whole width or more leaves no bit set.
impl<const W: usize> Shr<u32> for Bits<W> {
    type Output = Self;
    #[inline]
    fn shr(self, n: u32) -> Self {
        let (words, by) = ((n / 64) as usize, n % 64);
        let word = |place: Option<usize>| place.map_or(0, |place| self.0[place]);
        Self(array::from_fn(|place| {
            let from = place.checked_sub(words);
            let before = from.and_then(|place| place.checked_sub(1));
            word(from) >> by | word(before) << 1 << (63 - by)
        }))
    }
}

impl<const W: usize> fmt::LowerHex for Bits<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = String::with_capacity(16 * W);
        for word in self.0 {
            fmt::Write::write_fmt(&mut digits, format_args!("{word:016x}"))?;
        }
        let significant = digits.trim_start_matches('0');
        f.pad_integral(true, "0x", if significant.is_empty() { "0" } else { significant })
    }
}

impl<const W: usize> Fingerprint for Bits<W> {
    const BITS: u32 = 64 * W as u32;
    const ZERO: Self = Self([0; W]);
    const MAX: Self = Self([u64::MAX; W]);

    type PerWord<T: Copy> = [T; W];
    #[inline]
    fn per_word<T: Copy>(value: T) -> [T; W] {
        [value; W]
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        self.0[W - 1 - index]
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u64) -> Self {
        let mut words: [u64; W] = array::from_fn(&mut word);
        words.reverse();
        Self(words)
    }
    #[inline]
    fn count_ones(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
    #[inline]
    fn rotate_left(self, n: u32) -> Self {
        let (words, by) = ((n / 64) as usize, n % 64);
        let word = |place: usize| self.0[place % W];
        Self(array::from_fn(|place| funnel(word(place + words), word(place + words + 1), by)))
    }
}

impl<const W: usize> Key for Bits<W> {
    const BYTES: usize = 8 * W;

    #[inline]
    fn leading_zeros(self) -> u32 {
        match self.0.iter().position(|&word| word != 0) {
            Some(place) => 64 * place as u32 + self.0[place].leading_zeros(),
            None => Self::BITS,
        }
    }
    #[inline]
    fn trailing_zeros(self) -> u32 {
        match self.0.iter().rposition(|&word| word != 0) {
            Some(place) => 64 * (W - 1 - place) as u32 + self.0[place].trailing_zeros(),
            None => Self::BITS,
        }
    }
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks();
        assert!(words.len() == W && rest.is_empty(), "{} bytes for a key", bytes.len());
        Self(array::from_fn(|place| u64::from_ne_bytes(words[place])))
    }
    #[inline]
    fn store(self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut();
        assert!(words.len() == W && rest.is_empty(), "a key for {W} words");
        for (bytes, word) in words.iter_mut().zip(self.0) {
            *bytes = word.to_ne_bytes();
        }
    }

    // Computed word by word, which needs no shift across words.
    #[inline]
    fn bit(position: u32) -> Self {
        Self(array::from_fn(|place| {
            if place as u32 == position / 64 { u64::bit(position % 64) } else { 0 }
        }))
    }
    #[inline]
    fn leading_mask(count: u32) -> Self {
        Self(array::from_fn(|place| {
            u64::leading_mask(count.saturating_sub(64 * place as u32).min(64))
        }))
    }
    #[inline]
    fn nth_set_bit(self, mut n: u32) -> Option<u32> {
        for (place, word) in self.0.into_iter().enumerate() {
            let ones = word.count_ones();
            if n < ones {
                return word.nth_set_bit(n).map(|position| 64 * place as u32 + position);
            }
            n -= ones;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::fingerprint::{parse_decimal, parse_hex, to_decimal, to_hex};

    type Three = Bits<3>;

    /// The bits as booleans, the most significant first.
    fn list<F: Fingerprint>(bits: F) -> Vec<bool> {
        (0..F::BITS).rev().map(|i| bits.word(i as usize / 64) >> (i % 64) & 1 == 1).collect()
    }

    fn words<const W: usize>() -> impl Strategy<Value = Bits<W>> {
        let word =
            prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), (0u32..64).prop_map(u64::bit)];
        prop::collection::vec(word, W).prop_map(|words| Bits::new(array::from_fn(|i| words[i])))
    }

    /// Checks every operation of a key against its bits, one at a time.
    fn check<F: Key>(a: F, b: F, n: u32) {
        let (x, y, bits) = (list(a), list(b), F::BITS as usize);
        let zip = |f: fn(bool, bool) -> bool| -> Vec<bool> {
            x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect()
        };
        assert_eq!(list(a ^ b), zip(|x, y| x ^ y));
        assert_eq!(list(a & b), zip(|x, y| x & y));
        assert_eq!(list(a | b), zip(|x, y| x | y));
        assert_eq!(list(!a), zip(|x, _| !x));
        assert_eq!(a.cmp(&b), x.cmp(&y));
        assert_eq!(a == b, x == y);
        assert_eq!(a.hamming(b), zip(|x, y| x != y).iter().map(|&d| u32::from(d)).sum::<u32>());
        let places = || (0..bits).filter(|&i| x[i]).map(|i| i as u32);
        assert_eq!(a.count_ones() as usize, places().count());
        assert_eq!(a.leading_zeros(), places().next().unwrap_or(F::BITS));
        assert_eq!(a.trailing_zeros(), places().next_back().map_or(F::BITS, |i| F::BITS - 1 - i));
        assert_eq!(a.nth_set_bit(n), places().nth(n as usize));
        let shift = n as usize;
        let at = |i: Option<usize>| i.and_then(|i| x.get(i).copied()).unwrap_or(false);
        let shifted = |f: &dyn Fn(usize) -> bool| (0..bits).map(f).collect::<Vec<bool>>();
        if F::BITS > 128 || n < F::BITS {
            assert_eq!(list(a << n), shifted(&|i| at(Some(i + shift))));
            assert_eq!(list(a >> n), shifted(&|i| at(i.checked_sub(shift))));
        }
        assert_eq!(list(a.rotate_left(n)), shifted(&|i| x[(i + shift) % bits]));
        assert_eq!(list(a.rotate_right(n)), shifted(&|i| x[(i + bits - shift) % bits]));
        assert_eq!(list(F::leading_mask(n)), shifted(&|i| i < shift));
        if shift < bits {
            assert_eq!(list(F::bit(n)), shifted(&|i| i == shift));
        }
        check_forms(a);
    }

    /// Checks the stored form, the text form and the bytes of a key.
    fn check_forms<F: Key>(a: F) {
        let mut stored = vec![0; F::BYTES];
        a.store(&mut stored);
        assert_eq!(F::load(&stored), a);
        let text = to_hex(a);
        assert_eq!(text.len() * 4, F::BITS as usize);
        assert_eq!(parse_hex(&text), Some(a));
        check_decimal(a);
        let mut bytes = vec![0; F::BYTES];
        a.to_be_bytes(&mut bytes);
        assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), text);
        for length in [0, 1, 7, 8, 9, F::BYTES - 1, F::BYTES] {
            let length = length.min(F::BYTES);
            let mut begins = vec![0; length];
            a.to_be_bytes(&mut begins);
            assert_eq!(begins, bytes[..length]);
            assert_eq!(F::from_be_bytes(&begins), a & F::leading_mask(8 * length as u32));
        }
        assert_eq!(a.top().to_be_bytes(), bytes[..8]);
        assert_eq!(F::from_words(|index| a.word(index)), a);
        assert_eq!(F::from_number(a.word(0)), a & !F::leading_mask(F::BITS - 64));
    }

    /// Checks the decimal form against long-hand arithmetic: double the digits, then add the next
    /// bit.
    fn check_decimal<F: Key>(a: F) {
        let mut digits = vec![0u8];
        for bit in list(a) {
            let mut carry = u8::from(bit);
            for digit in &mut digits {
                (*digit, carry) = ((2 * *digit + carry) % 10, (2 * *digit + carry) / 10);
            }
            digits.extend((carry > 0).then_some(carry));
        }
        let text: String = digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
        assert_eq!(to_decimal(a), text);
        assert_eq!(parse_decimal(&text), Some(a));
        assert_eq!(parse_decimal(&format!("00{text}")), Some(a));
        assert_eq!(parse_decimal::<F>(&format!("{text}.")), None);
        if list(a)[..3].contains(&true) {
            assert_eq!(parse_decimal::<F>(&format!("{text}0")), None);
        }
    }

    proptest! {
        #[test]
        fn every_operation_equals_that_on_single_bits(
            a in words::<16>(), b in words::<16>(), n in 0u32..=1024
        ) {
            check(a, b, n);
            let quad = |bits: Bits<16>| B256::from_words(|index| bits.word(index));
            check(quad(a), quad(b), n % 257);
            let three = |bits: Bits<16>| Three::from_words(|index| bits.word(index));
            check(three(a), three(b), n % 193);
            check(Bits::new([a.word(0)]), Bits::new([b.word(0)]), n % 65);
            let pair = |bits: Bits<16>| u128::from_words(|index| bits.word(index));
            check(pair(a), pair(b), n % 129);
            check(a.word(0), b.word(0), n % 65);
        }
    }

    #[test]
    fn two_words_are_what_a_number_of_128_bits_is() {
        let number = 0x0123_4567_89ab_cdef_0011_2233_4455_6677_u128;
        let bits = Bits::new([0x0123_4567_89ab_cdef, 0x0011_2233_4455_6677]);
        assert_eq!(to_hex(bits), to_hex(number));
        assert_eq!(
            format!("{bits:x} {:x} {:#x}", Bits::new([0, 0]), Bits::new([0, 26])),
            format!("{number:x} {:x} {:#x}", 0, 26)
        );
        for n in 0..128 {
            assert_eq!(to_hex(bits.rotate_left(n)), to_hex(number.rotate_left(n)));
            assert_eq!(to_hex(bits >> n), to_hex(number >> n));
        }
        assert_eq!(<Bits<2> as Key>::nth_set_bit(bits, 3), number.nth_set_bit(3));
    }
}
