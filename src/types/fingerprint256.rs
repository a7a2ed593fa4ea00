//! `fingerprint256`: 32 bytes, most significant first, fixed length, passed by reference.

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::palloc_parts;

/// A 256-bit fingerprint as SQL passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fp256(pub B256);

sql_type!(Fp256, "fingerprint256");
argument!(Fp256);
result!(Fp256);

impl Fp256 {
    /// The bytes as stored.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.to_be_bytes(&mut bytes);
        bytes
    }
}

impl Decode for Fp256 {
    #[inline]
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a fingerprint256: 32 bytes, of any alignment.
        let bytes = unsafe { datum.cast_mut_ptr::<[u8; 32]>().read_unaligned() };
        Fp256(B256::from_be_bytes(&bytes))
    }
}

impl Encode for Fp256 {
    fn encode(self) -> pg_sys::Datum {
        palloc_parts(&[&self.to_bytes()])
    }
}
