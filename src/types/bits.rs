//! Casts between fingerprints and `bit(n)` and `bytea`: the first bit, or byte, is the most significant.

use std::borrow::Cow;

use pgrx::{FromDatum, IntoDatum, PgSqlErrorCode, pg_extern, pg_sys};

use super::{Fp64, Fp128, by_datum, palloc_varlena, sql_type};
use crate::error::raise;

/// A `bit` or `bit varying` value: its length in bits and its bytes, the last one padded with zeros.
pub struct BitString<'a> {
    pub length: usize,
    pub bytes: Cow<'a, [u8]>,
}

sql_type!(BitString<'_>, "bit");
by_datum!(BitString<'_>);

/// A varlena header, then the length in bits, then the bits.
const BITS_OFFSET: usize = pg_sys::VARHDRSZ + size_of::<i32>();

impl FromDatum for BitString<'_> {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the caller passes a bit string; detoasting gives it a four-byte header, and
        // varsize is the size of what that header starts.
        unsafe {
            let varlena = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
            let size = pgrx::varlena::varsize(varlena);
            let start = varlena as *const u8;
            let length = start.add(pg_sys::VARHDRSZ).cast::<i32>().read_unaligned();
            let bytes = std::slice::from_raw_parts(start.add(BITS_OFFSET), size.saturating_sub(BITS_OFFSET));
            Some(BitString { length: usize::try_from(length).unwrap_or(0), bytes: Cow::Borrowed(bytes) })
        }
    }
}

impl IntoDatum for BitString<'_> {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(palloc_varlena(&[&(self.length as i32).to_ne_bytes(), &self.bytes]))
    }
    fn type_oid() -> pg_sys::Oid {
        pg_sys::BITOID
    }
}

impl BitString<'_> {
    /// The bytes of a string of exactly `N` bytes, or an ERROR (22026) as for an unfit `bit(n)`.
    fn exactly<const N: usize>(&self, type_name: &str) -> [u8; N] {
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

fn bytes_exactly<const N: usize>(bytes: &[u8], type_name: &str) -> [u8; N] {
    bytes.try_into().unwrap_or_else(|_| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("bytea of {} bytes does not match type {type_name}", bytes.len()),
            &format!("A {type_name} has {N} bytes."),
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_to_bit(fp: Fp64) -> BitString<'static> {
    BitString { length: 64, bytes: Cow::Owned(fp.0.to_be_bytes().to_vec()) }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_from_bit(bits: BitString<'_>) -> Fp64 {
    Fp64(u64::from_be_bytes(bits.exactly("fingerprint64")))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_to_bit(fp: Fp128) -> BitString<'static> {
    BitString { length: 128, bytes: Cow::Owned(fp.0.to_be_bytes().to_vec()) }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_from_bit(bits: BitString<'_>) -> Fp128 {
    Fp128(u128::from_be_bytes(bits.exactly("fingerprint128")))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_from_bytea(bytes: &[u8]) -> Fp64 {
    Fp64(u64::from_be_bytes(bytes_exactly(bytes, "fingerprint64")))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_from_bytea(bytes: &[u8]) -> Fp128 {
    Fp128(u128::from_be_bytes(bytes_exactly(bytes, "fingerprint128")))
}
