//! `bit(n)`: the first bit is the most significant.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{aligned_bytes, palloc_varlena};
use crate::error::raise;

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
        // SAFETY: as the trait's.
        let bytes = unsafe { aligned_bytes(datum) };
        // The header, the length in bits, then the bits.
        let bits = bytes[pg_sys::VARHDRSZ..].split_first_chunk::<4>();
        let (length, bytes) = bits.map_or((0, &[][..]), |(length, bits)| {
            (usize::try_from(i32::from_ne_bytes(*length)).unwrap_or(0), bits)
        });
        BitString { length, bytes: Cow::Borrowed(bytes) }
    }
}

impl Encode for BitString<'_> {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&(self.length as i32).to_ne_bytes(), &self.bytes])
    }
}

impl BitString<'_> {
    /// The bytes of a string of exactly `N` bytes, or an ERROR (22026) as for an unfit `bit(n)`.
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

/// The bytes of a `bytea` of exactly `N` bytes, the first the most significant, or an ERROR
/// (22P03).
pub fn bytea_exactly<const N: usize>(bytes: &[u8], type_name: &str) -> [u8; N] {
    bytes.try_into().unwrap_or_else(|_| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("bytea of {} bytes does not match type {type_name}", bytes.len()),
            &format!("A {type_name} has {N} bytes."),
        )
    })
}
