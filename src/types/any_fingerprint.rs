//! `simhash_fingerprint`: a fingerprint of any width, for functions that learn the width only at
//! run time. Casts convert it to fingerprint64, fingerprint128 or fingerprint256.
//!
//! On disk and on the wire it has the bytes of that type in network order. Its text form is that
//! type's.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::{parse_prefixed_hex, to_hex};

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::message::in_network_order;
use super::varlena::{packed_bytes, palloc_varlena};
use super::{Fp64, Fp128, Fp256, Width};
use crate::error::raise;

/// A fingerprint of 64, 128 or 256 bits.
#[derive(Clone, Copy, Debug)]
pub enum AnyFp {
    Bits64(u64),
    Bits128(u128),
    Bits256(B256),
}

sql_type!(AnyFp, "simhash_fingerprint");
argument!(AnyFp);
result!(AnyFp);

impl AnyFp {
    /// A stored fingerprint.
    ///
    /// # Safety
    /// `datum` is a fingerprint of this width and not NULL.
    pub unsafe fn of(datum: pg_sys::Datum, width: Width) -> Self {
        // SAFETY: `datum` is a fingerprint of this width.
        unsafe {
            match width {
                Width::Bits64 => AnyFp::Bits64(Fp64::decode(datum).0),
                Width::Bits128 => AnyFp::Bits128(Fp128::decode(datum).0),
                Width::Bits256 => AnyFp::Bits256(Fp256::decode(datum).0),
            }
        }
    }

    fn width(self) -> Width {
        match self {
            AnyFp::Bits64(_) => Width::Bits64,
            AnyFp::Bits128(_) => Width::Bits128,
            AnyFp::Bits256(_) => Width::Bits256,
        }
    }

    /// The fingerprint as the type `F`. Raises 22023 if it has another width.
    pub fn exactly<F: Fingerprint>(self) -> F {
        if self.width().bits() != F::BITS {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "fingerprint of {} bits does not match type fingerprint{}",
                    self.width().bits(),
                    F::BITS
                ),
                &format!("Compare it with a fingerprint{}.", self.width().bits()),
            )
        }
        F::from_be_bytes(&self.to_bytes())
    }

    /// The bytes in network order.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            AnyFp::Bits64(fp) => in_network_order(fp),
            AnyFp::Bits128(fp) => in_network_order(fp),
            AnyFp::Bits256(fp) => in_network_order(fp),
        }
    }

    /// Reads 8, 16 or 32 bytes in network order.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(match bytes.len() {
            8 => AnyFp::Bits64(Fingerprint::from_be_bytes(bytes)),
            16 => AnyFp::Bits128(Fingerprint::from_be_bytes(bytes)),
            32 => AnyFp::Bits256(Fingerprint::from_be_bytes(bytes)),
            _ => return None,
        })
    }

    /// Reads 16, 32 or 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        parse_prefixed_hex(text)
            .map(AnyFp::Bits64)
            .or_else(|| parse_prefixed_hex(text).map(AnyFp::Bits128))
            .or_else(|| parse_prefixed_hex(text).map(AnyFp::Bits256))
    }

    pub fn to_text(self) -> String {
        match self {
            AnyFp::Bits64(fp) => to_hex(fp),
            AnyFp::Bits128(fp) => to_hex(fp),
            AnyFp::Bits256(fp) => to_hex(fp),
        }
    }
}

impl Decode for AnyFp {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a simhash_fingerprint, which has a varlena header.
        let bytes = unsafe { packed_bytes(datum) };
        AnyFp::from_bytes(bytes).unwrap_or_else(|| {
            let message = "malformed simhash_fingerprint";
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, message.into(), "")
        })
    }
}

impl Encode for AnyFp {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&self.to_bytes()])
    }
}
