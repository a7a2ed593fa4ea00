//! `bit(n)` values, whose first bit is the most significant.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{
    LARGEST_VALUE, STRETCH, aligned_bytes, palloc_varlena, raise_too_large, with_packed_bytes,
};
use crate::error::{raise, reserve};

/// The bytes before the bits of a value: a four-byte header, and the length in bits.
pub const BIT_HEADER: usize = pg_sys::VARHDRSZ + size_of::<i32>();

/// A `bit` or `bit varying` value: its length in bits and its bytes, the last one padded with
/// zeros.
pub struct BitString<'a> {
    pub length: usize,
    pub bytes: Cow<'a, [u8]>,
}

sql_type!(BitString<'_>, "bit");
argument!(BitString<'_>);
result!(BitString<'_>);

impl Decode for BitString<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a `bit` or `bit varying`, which has a varlena header.
        let bytes = unsafe { aligned_bytes(datum) };
        BitString::of_contents(&bytes[pg_sys::VARHDRSZ..])
    }
}

impl Encode for BitString<'_> {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&(self.length as i32).to_ne_bytes(), &self.bytes])
    }
}

impl<'a> BitString<'a> {
    /// Reads a value without its varlena header: the length in bits, then the bits.
    fn of_contents(contents: &'a [u8]) -> Self {
        let (length, bytes) =
            contents.split_first_chunk().map_or((0, &[][..]), |(length, bits)| {
                (usize::try_from(i32::from_ne_bytes(*length)).unwrap_or(0), bits)
            });
        BitString { length, bytes: Cow::Borrowed(bytes) }
    }

    /// The result of `read` for a value. A detoasted copy is freed.
    ///
    /// # Safety
    /// `datum` is a `bit` or `bit varying`, not NULL, and stays valid until this returns.
    pub unsafe fn with<T>(datum: pg_sys::Datum, read: impl FnOnce(&BitString<'_>) -> T) -> T {
        // SAFETY: `datum` has a varlena header and outlives this call.
        unsafe { with_packed_bytes(datum, |contents| read(&BitString::of_contents(contents))) }
    }

    /// Reads binary digits. `None` if there is another character, or more digits than a value can
    /// hold.
    pub fn parse(digits: &str) -> Option<BitString<'static>> {
        let length = digits.len();
        let mut bytes = Vec::new();
        reserve(&mut bytes, length.div_ceil(8));
        for stretch in digits.as_bytes().chunks(8 * STRETCH) {
            pgrx::check_for_interrupts!();
            for eight in stretch.chunks(8) {
                let mut byte = 0;
                for (place, digit) in eight.iter().enumerate() {
                    match digit {
                        b'0' => {}
                        b'1' => byte |= 0x80 >> place,
                        _ => return None,
                    }
                }
                bytes.push(byte);
            }
        }
        (length <= i32::MAX as usize).then_some(BitString { length, bytes: bytes.into() })
    }

    /// The value as binary digits.
    pub fn to_text(&self) -> Vec<u8> {
        if self.length > LARGEST_VALUE {
            raise_too_large(&format!("text of {} binary digits is too large", self.length));
        }
        let mut text = Vec::new();
        reserve(&mut text, 8 * self.bytes.len());
        for stretch in self.bytes.chunks(STRETCH) {
            pgrx::check_for_interrupts!();
            for byte in stretch {
                text.extend((0..8).map(|place| b'0' + (byte >> (7 - place) & 1)));
            }
        }
        text.truncate(self.length);
        text
    }

    /// Whether the number of bytes matches the length, and no bit is set beyond the last one.
    pub fn is_padded(&self) -> bool {
        let beyond = 8 * self.length.div_ceil(8) - self.length;
        let is_clear = |last: &u8| last.trailing_zeros() as usize >= beyond;
        self.bytes.len() == self.length.div_ceil(8) && self.bytes.last().is_none_or(is_clear)
    }

    /// The number of bits in which two strings of equal length differ. Raises 22026 if the lengths
    /// differ.
    pub fn hamming(&self, other: &BitString<'_>) -> u32 {
        if self.length != other.length {
            raise_lengths(self.length, other.length);
        }
        self.bytes.iter().zip(other.bytes.iter()).map(|(x, y)| (x ^ y).count_ones()).sum()
    }

    /// Raises 22026 unless the string has the length of those it is compared with.
    pub fn check_is_as_long(&self, others: usize) {
        if self.length != others {
            raise_lengths(others, self.length);
        }
    }

    /// The bytes before the bits of a value of `bits` bits: the varlena header and the length in
    /// bits.
    pub fn header(bits: u32, bytes: usize) -> [u8; BIT_HEADER] {
        let mut header = [0; BIT_HEADER];
        let size = (BIT_HEADER + bytes) as i32;
        let mut first = [0u32];
        // SAFETY: `first` is aligned to four; set_varsize_4b writes a header of four bytes.
        unsafe { pgrx::varlena::set_varsize_4b(first.as_mut_ptr().cast(), size) };
        header[..4].copy_from_slice(&first[0].to_ne_bytes());
        header[4..].copy_from_slice(&bits.to_ne_bytes());
        header
    }

    /// The string's bytes if there are exactly `N`; otherwise an ERROR (22026), as for an unfit
    /// `bit(n)`.
    pub fn exactly<const N: usize>(&self, type_name: &str) -> [u8; N] {
        match <[u8; N]>::try_from(&*self.bytes) {
            Ok(bytes) if self.length == N * 8 => bytes,
            _ => raise(
                PgSqlErrorCode::ERRCODE_STRING_DATA_LENGTH_MISMATCH,
                format!("bit string length {} does not match type {type_name}", self.length),
                &format!("A {type_name} has {} bits.", N * 8),
            ),
        }
    }
}

fn raise_lengths(one: usize, other: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_STRING_DATA_LENGTH_MISMATCH,
        format!("cannot compare bit strings of lengths {one} and {other}"),
        "The Hamming distance is defined for strings of equal length.",
    )
}

/// The length of the values of `bit(n)` or of a domain over it. `None` for other types, and for
/// `bit` without a length.
pub fn declared_length(type_oid: pg_sys::Oid, modifier: i32) -> Option<u32> {
    let mut modifier = modifier;
    // SAFETY: a catalogue look-up in a transaction. A domain's own modifier is -1.
    let base = unsafe { pg_sys::getBaseTypeAndTypmod(type_oid, &mut modifier) };
    let length = u32::try_from(modifier).ok().filter(|&length| length > 0);
    if base == pg_sys::BITOID { length } else { None }
}

/// The `N` bytes of a `bytea`, most significant first, or an ERROR (22P03) if it has another
/// length.
pub fn bytea_exactly<const N: usize>(bytes: &[u8], type_name: &str) -> [u8; N] {
    bytes.try_into().unwrap_or_else(|_| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("bytea of {} bytes does not match type {type_name}", bytes.len()),
            &format!("A {type_name} has {N} bytes."),
        )
    })
}
