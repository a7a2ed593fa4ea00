//! `hamming_ball64` and `hamming_ball128`: every fingerprint within a radius of a centre.
//!
//! On disk a ball is its centre, laid out as the fingerprint type is, followed by the radius as a
//! four-byte integer; [`Ball64`] is padded to 16 bytes by the alignment of its centre.

use std::ffi::{CStr, CString};

use pgrx::{FromDatum, Internal, IntoDatum, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::fingerprint::{parse_hex, to_hex};

use super::{Fp64, Fp128, Text, by_datum, message_buffer, palloc_bytes, receive, sql_type};
use crate::error::{raise, raise_invalid_text, shown};

/// The fingerprints within `radius` of `center`; the radius is 0 to `F::BITS`. Ordered by the one,
/// then the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ball<F> {
    pub center: F,
    pub radius: u32,
}

pub type Ball64 = Ball<u64>;
pub type Ball128 = Ball<u128>;

impl<F: Fingerprint> Ball<F> {
    /// Raises 22003 (out of range) for a radius that no pair of fingerprints can have.
    pub fn new(center: F, radius: i32) -> Self {
        match u32::try_from(radius) {
            Ok(radius) if radius <= F::BITS => Ball { center, radius },
            _ => raise(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("radius {radius} is out of range for a ball of {} bits", F::BITS),
                &format!("A radius is a Hamming distance: 0 to {}.", F::BITS),
            ),
        }
    }

    pub fn contains(&self, fp: F) -> bool {
        self.center.hamming(fp) <= self.radius
    }

    /// Each holds the other's centre.
    pub fn near(&self, other: &Self) -> bool {
        self.center.hamming(other.center) <= self.radius.min(other.radius)
    }

    /// Reads `<center,radius>`; white space is allowed around each part.
    fn parse(type_name: &str, text: &CStr) -> Self {
        let shown = shown(text);
        let parts = shown
            .trim()
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
            .and_then(|inside| inside.split_once(','))
            .and_then(|(center, radius)| Some((parse_hex(center.trim())?, radius.trim().parse().ok()?)));
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

    fn to_text(self) -> CString {
        CString::new(format!("<{},{}>", to_hex(self.center), self.radius)).unwrap_or_default()
    }

    /// The binary form: the centre in network order, then the radius as an int4.
    fn to_message(self, center: &[u8]) -> Vec<u8> {
        [center, &self.radius.to_be_bytes()].concat()
    }
}

sql_type!(Ball64, "hamming_ball64");
by_datum!(Ball64);
sql_type!(Ball128, "hamming_ball128");
by_datum!(Ball128);

/// Stored radii were checked on input; a damaged one must not become a panic later.
fn stored_radius(bytes: [u8; 4], bits: u32) -> u32 {
    u32::from_ne_bytes(bytes).min(bits)
}

impl FromDatum for Ball64 {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the caller passes a hamming_ball64: 16 bytes.
        let (center, radius) =
            unsafe { std::ptr::read_unaligned(datum.cast_mut_ptr::<([u8; 8], [u8; 4])>()) };
        Some(Ball { center: u64::from_ne_bytes(center), radius: stored_radius(radius, 64) })
    }
}

impl Ball64 {
    /// As it is stored.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.center.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.radius.to_ne_bytes());
        bytes
    }
}

impl IntoDatum for Ball64 {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(palloc_bytes(&self.to_bytes()))
    }
    /// Unknown at compile time; nothing here builds arrays of the type through pgrx.
    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

impl FromDatum for Ball128 {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the caller passes a hamming_ball128: 20 bytes.
        let (center, radius) =
            unsafe { std::ptr::read_unaligned(datum.cast_mut_ptr::<([u8; 16], [u8; 4])>()) };
        Some(Ball { center: u128::from_be_bytes(center), radius: stored_radius(radius, 128) })
    }
}

impl IntoDatum for Ball128 {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&self.center.to_be_bytes());
        bytes[16..].copy_from_slice(&self.radius.to_ne_bytes());
        Some(palloc_bytes(&bytes))
    }
    /// Unknown at compile time; nothing here builds arrays of the type through pgrx.
    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_in(text: &CStr) -> Ball64 {
    Ball::parse("hamming_ball64", text)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_out(ball: Ball64) -> CString {
    ball.to_text()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_recv(buffer: Internal) -> Ball64 {
    let buffer = message_buffer(buffer);
    let center = u64::from_be_bytes(receive(buffer));
    Ball::new(center, i32::from_be_bytes(receive(buffer)))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_send(ball: Ball64) -> Vec<u8> {
    ball.to_message(&ball.center.to_be_bytes())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_in(text: &CStr) -> Ball128 {
    Ball::parse("hamming_ball128", text)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_out(ball: Ball128) -> CString {
    ball.to_text()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_recv(buffer: Internal) -> Ball128 {
    let buffer = message_buffer(buffer);
    let center = u128::from_be_bytes(receive(buffer));
    Ball::new(center, i32::from_be_bytes(receive(buffer)))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_send(ball: Ball128) -> Vec<u8> {
    ball.to_message(&ball.center.to_be_bytes())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_64(center: Fp64, radius: i32) -> Ball64 {
    Ball::new(center.0, radius)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_128(center: Fp128, radius: i32) -> Ball128 {
    Ball::new(center.0, radius)
}

/// The planner's constructor: a clause `hamming(x, y) <= k` may have any `k`. A negative one holds for
/// nothing, which NULL says; one beyond the width holds for everything, as the width does.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_or_null_64(center: Fp64, radius: i64) -> Option<Ball64> {
    u64::try_from(radius).ok().map(|radius| Ball { center: center.0, radius: radius.min(64) as u32 })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_or_null_128(center: Fp128, radius: i64) -> Option<Ball128> {
    u64::try_from(radius).ok().map(|radius| Ball { center: center.0, radius: radius.min(128) as u32 })
}

/// A quoted literal says nothing of its width, and of the two the shorter is the usual one.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_text(center: Text<'_>, radius: i32) -> Ball64 {
    let shown = center.as_str();
    let center = parse_hex(shown).unwrap_or_else(|| {
        raise_invalid_text(
            "fingerprint64",
            shown,
            "A fingerprint64 is written as 16 hexadecimal digits; write '...'::fingerprint128 for one of 32.",
        )
    });
    Ball::new(center, radius)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_within(fp: Fp64, ball: Ball64) -> bool {
    ball.contains(fp.0)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_within(fp: Fp128, ball: Ball128) -> bool {
    ball.contains(fp.0)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_contains(ball: Ball64, fp: Fp64) -> bool {
    ball.contains(fp.0)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_contains(ball: Ball128, fp: Fp128) -> bool {
    ball.contains(fp.0)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_near(a: Ball64, b: Ball64) -> bool {
    a.near(&b)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_near(a: Ball128, b: Ball128) -> bool {
    a.near(&b)
}
