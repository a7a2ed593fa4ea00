//! `fingerprint64`: 8 bytes, passed by value, ordered as an unsigned number.

use pgrx::pg_sys;

use super::datum::{Decode, Encode, argument, result, sql_type};

/// A 64-bit fingerprint as SQL passes it. A bigint has the same representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fp64(pub u64);

sql_type!(Fp64, "fingerprint64");
argument!(Fp64);
result!(Fp64);

impl Decode for Fp64 {
    #[inline]
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        Fp64(datum.value() as u64)
    }
}

impl Encode for Fp64 {
    fn encode(self) -> pg_sys::Datum {
        pg_sys::Datum::from(self.0)
    }
}
