//! `fingerprint128`: 16 bytes in network order, fixed length, passed by reference.
//!
//! The representation is exactly that of `uuid`, so the catalogue uses PostgreSQL's functions for
//! `uuid` to compare, hash and sort.

use pgrx::pg_sys;

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::palloc_parts;

/// A 128-bit fingerprint as SQL passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fp128(pub u128);

sql_type!(Fp128, "fingerprint128");
argument!(Fp128);
result!(Fp128);

impl Decode for Fp128 {
    #[inline]
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a fingerprint128: 16 bytes, of any alignment.
        let bytes = unsafe { datum.cast_mut_ptr::<[u8; 16]>().read_unaligned() };
        Fp128(u128::from_be_bytes(bytes))
    }
}

impl Encode for Fp128 {
    fn encode(self) -> pg_sys::Datum {
        palloc_parts(&[&self.0.to_be_bytes()])
    }
}
