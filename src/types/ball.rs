//! `hamming_ball64`, `hamming_ball128` and `hamming_ball256`: all fingerprints within a radius of a
//! centre.
//!
//! On disk a ball is its centre, laid out like the fingerprint type, followed by the radius as a
//! four-byte integer. A [`Ball64`] is padded to 16 bytes, because its centre is aligned to eight.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::{parse_prefixed_hex, to_hex};

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::fingerprint256::Fp256;
use super::varlena::palloc_parts;
use crate::error::{raise, raise_invalid_text, shown};

/// The fingerprints within `radius` of `center`. The radius is from 0 to the width. Balls are
/// ordered by centre, then by radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ball<F> {
    pub center: F,
    pub radius: u32,
}

pub type Ball64 = Ball<u64>;
pub type Ball128 = Ball<u128>;
pub type Ball256 = Ball<B256>;

impl<F> Ball<F> {
    /// The ball of the same radius around `map(center)`.
    #[inline]
    pub fn map<T>(self, map: impl FnOnce(F) -> T) -> Ball<T> {
        Ball { center: map(self.center), radius: self.radius }
    }
}

impl<F: Fingerprint> Ball<F> {
    /// Raises 22003 (out of range) if no pair of fingerprints can have this distance.
    pub fn new(center: F, radius: i32) -> Self {
        match u32::try_from(radius) {
            Ok(radius) if radius <= F::BITS => Ball { center, radius },
            _ => raise(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("radius {radius} is out of range for a ball of {} bits", F::BITS),
                &format!("A radius must be a Hamming distance, 0 to {}.", F::BITS),
            ),
        }
    }

    /// A ball of any radius. With a negative radius no fingerprint is within it: `None`. A radius
    /// beyond the width is reduced to the width.
    pub fn of_any_radius(center: F, radius: i64) -> Option<Self> {
        let radius = u64::try_from(radius).ok()?;
        Some(Ball { center, radius: radius.min(F::BITS.into()) as u32 })
    }

    /// A ball with a stored radius, which was checked on input. The radius is limited to the width,
    /// so that damaged storage does not cause a panic later.
    fn stored(center: F, radius: [u8; 4]) -> Self {
        Ball { center, radius: u32::from_ne_bytes(radius).min(F::BITS) }
    }

    pub fn contains(&self, fp: F) -> bool {
        self.center.hamming(fp) <= self.radius
    }

    /// Whether each ball contains the other's centre.
    pub fn near(&self, other: &Self) -> bool {
        self.center.hamming(other.center) <= self.radius.min(other.radius)
    }

    /// Reads `<center,radius>`; white space is allowed around each part.
    pub fn parse(type_name: &str, text: &CStr) -> Self {
        let shown = shown(text);
        let parts = shown
            .trim()
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
            .and_then(|inside| inside.split_once(','))
            .and_then(|(center, radius)| {
                Some((parse_prefixed_hex(center.trim())?, radius.trim().parse().ok()?))
            });
        let Some((center, radius)) = parts else {
            let zeros = "0".repeat(F::BITS as usize / 4);
            raise_invalid_text(
                type_name,
                &shown,
                &format!("A {type_name} is written as <fingerprint,radius>, such as <{zeros},3>."),
            )
        };
        Self::new(center, radius)
    }

    pub fn to_text(self) -> CString {
        CString::new(format!("<{},{}>", to_hex(self.center), self.radius)).unwrap_or_default()
    }
}

sql_type!(Ball64, "hamming_ball64");
argument!(Ball64);
result!(Ball64);
sql_type!(Ball128, "hamming_ball128");
argument!(Ball128);
result!(Ball128);
sql_type!(Ball256, "hamming_ball256");
argument!(Ball256);
result!(Ball256);

impl Decode for Ball64 {
    #[inline]
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a hamming_ball64: 16 bytes, of any alignment.
        let (center, radius) =
            unsafe { datum.cast_mut_ptr::<([u8; 8], [u8; 4])>().read_unaligned() };
        Ball::stored(u64::from_ne_bytes(center), radius)
    }
}

impl Decode for Ball128 {
    #[inline]
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a hamming_ball128: 20 bytes, of any alignment.
        let (center, radius) =
            unsafe { datum.cast_mut_ptr::<([u8; 16], [u8; 4])>().read_unaligned() };
        Ball::stored(u128::from_be_bytes(center), radius)
    }
}

impl Decode for Ball256 {
    #[inline]
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a hamming_ball256: 36 bytes, of any alignment.
        let (center, radius) =
            unsafe { datum.cast_mut_ptr::<([u8; 32], [u8; 4])>().read_unaligned() };
        Ball::stored(B256::from_be_bytes(&center), radius)
    }
}

impl Ball64 {
    /// The bytes as stored.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.center.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.radius.to_ne_bytes());
        bytes
    }
}

impl Encode for Ball64 {
    fn encode(self) -> pg_sys::Datum {
        palloc_parts(&[&self.to_bytes()])
    }
}

impl Encode for Ball128 {
    fn encode(self) -> pg_sys::Datum {
        palloc_parts(&[&self.center.to_be_bytes(), &self.radius.to_ne_bytes()])
    }
}

impl Encode for Ball256 {
    fn encode(self) -> pg_sys::Datum {
        palloc_parts(&[&Fp256(self.center).to_bytes(), &self.radius.to_ne_bytes()])
    }
}
