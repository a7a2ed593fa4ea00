//! The widths of fingerprints, with readers and writers for code that learns the width only at run
//! time.

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;

use super::ball::{Ball, Ball64, Ball128, Ball256};
use super::code::Code;
use super::datum::{Decode, Encode};
use super::fingerprint64::Fp64;
use super::fingerprint128::Fp128;
use super::fingerprint256::Fp256;
use crate::catalog::Schema;

/// The number of bits of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Bits64,
    Bits128,
    Bits256,
}

impl Width {
    pub const fn bits(self) -> u32 {
        match self {
            Width::Bits64 => 64,
            Width::Bits128 => 128,
            Width::Bits256 => 256,
        }
    }

    /// The greatest distance at which two fingerprints are near-duplicates for `~=`. At 64 bits:
    /// Manku, Jain, Das Sarma, WWW 2007, section 1. At 128 bits: Zhang, Sheng, Zhang, Yang 2020
    /// (E-Simhash). At 256 bits: the threshold of PDQ, a hash of images (ThreatExchange, Facebook
    /// 2019).
    pub const fn near(self) -> u32 {
        match self {
            Width::Bits64 => 3,
            Width::Bits128 => 10,
            Width::Bits256 => 31,
        }
    }

    /// The width of a type that holds one fingerprint. `schema` is the extension's.
    pub fn of_type(type_oid: pg_sys::Oid, schema: Schema) -> Option<Width> {
        let is = |name| schema.type_named(name) == Some(type_oid);
        if type_oid == pg_sys::INT8OID || is(c"fingerprint64") {
            Some(Width::Bits64)
        } else if is(c"fingerprint128") {
            Some(Width::Bits128)
        } else {
            is(c"fingerprint256").then_some(Width::Bits256)
        }
    }

    /// A stored fingerprint as a type `F` of the same width.
    ///
    /// # Safety
    /// `datum` is a fingerprint of this width, or of a type with the same representation (bigint,
    /// uuid), and not NULL.
    #[inline]
    pub unsafe fn fingerprint<F: Fingerprint>(self, datum: pg_sys::Datum) -> F {
        // SAFETY: `datum` has the representation of a fingerprint of this width.
        unsafe {
            match self {
                Width::Bits64 => same(Fp64::decode(datum).0),
                Width::Bits128 => same(Fp128::decode(datum).0),
                Width::Bits256 => same(Fp256::decode(datum).0),
            }
        }
    }

    /// A stored ball with a centre of type `F`, of the same width.
    ///
    /// # Safety
    /// `datum` is a ball of this width and not NULL.
    #[inline]
    pub unsafe fn ball<F: Fingerprint>(self, datum: pg_sys::Datum) -> Ball<F> {
        // SAFETY: `datum` is a ball of this width.
        unsafe {
            match self {
                Width::Bits64 => Ball64::decode(datum).map(same),
                Width::Bits128 => Ball128::decode(datum).map(same),
                Width::Bits256 => Ball256::decode(datum).map(same),
            }
        }
    }

    /// A stored fingerprint as a code.
    ///
    /// # Safety
    /// As [`Width::fingerprint`].
    #[inline]
    pub unsafe fn code(self, datum: pg_sys::Datum) -> Code {
        // SAFETY: `datum` has the representation of a fingerprint of this width.
        unsafe {
            match self {
                Width::Bits64 => Code::new(Fp64::decode(datum).0),
                Width::Bits128 => Code::new(Fp128::decode(datum).0),
                Width::Bits256 => Code::new(Fp256::decode(datum).0),
            }
        }
    }

    /// A stored ball with a code as its centre.
    ///
    /// # Safety
    /// As [`Width::ball`].
    pub unsafe fn ball_code(self, datum: pg_sys::Datum) -> Ball<Code> {
        // SAFETY: `datum` is a ball of this width.
        unsafe {
            match self {
                Width::Bits64 => Ball64::decode(datum).map(Code::new),
                Width::Bits128 => Ball128::decode(datum).map(Code::new),
                Width::Bits256 => Ball256::decode(datum).map(Code::new),
            }
        }
    }

    /// Encodes a fingerprint as the type of this width.
    pub fn fingerprint_datum(self, fp: Code) -> pg_sys::Datum {
        match self {
            Width::Bits64 => Fp64(fp.fingerprint()).encode(),
            Width::Bits128 => Fp128(fp.fingerprint()).encode(),
            Width::Bits256 => Fp256(fp.fingerprint()).encode(),
        }
    }

    /// Encodes a ball as the type of this width.
    pub fn ball_datum(self, ball: Ball<Code>) -> pg_sys::Datum {
        match self {
            Width::Bits64 => ball.map(|center| center.fingerprint::<u64>()).encode(),
            Width::Bits128 => ball.map(|center| center.fingerprint::<u128>()).encode(),
            Width::Bits256 => ball.map(|center| center.fingerprint::<B256>()).encode(),
        }
    }
}

/// Converts a fingerprint to another type of the same width.
#[inline(always)]
fn same<A: Fingerprint, B: Fingerprint>(fp: A) -> B {
    debug_assert_eq!(A::BITS, B::BITS);
    let count = A::BITS as usize / 64;
    B::from_words(|index| if index < count { fp.word(index) } else { 0 })
}
