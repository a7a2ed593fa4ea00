//! The two widths of fingerprints, and how values of a width are read and made where it is known
//! only at run time.

use pgrx::pg_sys;

use super::ball::{Ball, Ball64, Ball128};
use super::datum::{Decode, Encode};
use super::fingerprint64::Fp64;
use super::fingerprint128::Fp128;
use crate::catalog::Schema;

/// How many bits a fingerprint has. Fingerprints of a width are handed on as `u128`, 64-bit ones in
/// the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Bits64,
    Bits128,
}

impl Width {
    pub const fn bits(self) -> u32 {
        match self {
            Width::Bits64 => u64::BITS,
            Width::Bits128 => u128::BITS,
        }
    }

    /// The greatest distance of near-duplicates, by which `~=` goes. At 64 bits: Manku, Jain, Das
    /// Sarma, WWW 2007, section 1. At 128 bits: Zhang, Sheng, Zhang, Yang 2020 (E-Simhash).
    pub const fn near(self) -> u32 {
        match self {
            Width::Bits64 => 3,
            Width::Bits128 => 10,
        }
    }

    /// The width of a type that holds one fingerprint. `schema` is the extension's.
    pub fn of_type(type_oid: pg_sys::Oid, schema: Schema) -> Option<Width> {
        let is = |name| schema.type_named(name) == Some(type_oid);
        if type_oid == pg_sys::INT8OID || is(c"fingerprint64") {
            Some(Width::Bits64)
        } else {
            is(c"fingerprint128").then_some(Width::Bits128)
        }
    }

    /// A stored fingerprint.
    ///
    /// # Safety
    /// `datum` is a fingerprint of this width, or of a type with its representation (bigint, uuid),
    /// not NULL.
    #[inline]
    pub unsafe fn fingerprint(self, datum: pg_sys::Datum) -> u128 {
        // SAFETY: as this function's.
        unsafe {
            match self {
                Width::Bits64 => Fp64::decode(datum).0.into(),
                Width::Bits128 => Fp128::decode(datum).0,
            }
        }
    }

    /// A stored ball.
    ///
    /// # Safety
    /// `datum` is a ball of this width, not NULL.
    #[inline]
    pub unsafe fn ball(self, datum: pg_sys::Datum) -> Ball<u128> {
        // SAFETY: as this function's.
        unsafe {
            match self {
                Width::Bits64 => {
                    let Ball { center, radius } = Ball64::decode(datum);
                    Ball { center: center.into(), radius }
                }
                Width::Bits128 => Ball128::decode(datum),
            }
        }
    }

    /// A fingerprint as its type stores it.
    pub fn fingerprint_datum(self, fp: u128) -> pg_sys::Datum {
        match self {
            Width::Bits64 => Fp64(fp as u64).encode(),
            Width::Bits128 => Fp128(fp).encode(),
        }
    }

    /// A ball as its type stores it.
    pub fn ball_datum(self, Ball { center, radius }: Ball<u128>) -> pg_sys::Datum {
        match self {
            Width::Bits64 => Ball { center: center as u64, radius }.encode(),
            Width::Bits128 => Ball { center, radius }.encode(),
        }
    }
}
