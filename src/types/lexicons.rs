//! `fingerprint64[]`, one fingerprint a lexicon, and `hamming_ball64[]`, one ball a lexicon: distances and conditions are the
//! least over equal positions. Positions that only one array has, or where either is NULL, do not count.

use pgrx::{FromDatum, pg_extern, pg_sys};
use simhash_core::Fingerprint;

use super::array::{ReturnedArray, for_each_element};
use super::ball::{Ball, Ball64};
use super::{by_datum_argument, sql_type};
use crate::functions::distance::NEAR_64;

/// A document's fingerprints under several lexicons.
pub struct Fingerprints(pub Vec<Option<u64>>);

/// What such a document is looked for by.
pub struct Balls(pub Vec<Option<Ball64>>);

sql_type!(Fingerprints, "fingerprint64[]");
by_datum_argument!(Fingerprints);
sql_type!(Balls, "hamming_ball64[]");
by_datum_argument!(Balls);

impl FromDatum for Fingerprints {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        let mut fingerprints = Vec::new();
        // SAFETY: the caller passes a fingerprint64[], whose elements are eight bytes by value.
        (!is_null).then(|| unsafe {
            for_each_element(datum, |element| fingerprints.push(element.map(|fp| fp.value() as u64)));
            Fingerprints(fingerprints)
        })
    }
}

impl FromDatum for Balls {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        let mut balls = Vec::new();
        // SAFETY: the caller passes a hamming_ball64[].
        (!is_null).then(|| unsafe {
            for_each_element(datum, |element| {
                balls.push(element.and_then(|ball| Ball64::from_datum(ball, false)));
            });
            Balls(balls)
        })
    }
}

impl Fingerprints {
    /// The least distance over equal positions; `None` when no position counts.
    fn hamming(&self, other: &Self) -> Option<u32> {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter_map(|(a, b)| Some((*a)?.hamming((*b)?))).min()
    }

    /// Whether one is in the ball at its position; `None` when no position counts.
    fn within(&self, balls: &Balls) -> Option<bool> {
        let pairs = self.0.iter().zip(&balls.0);
        pairs.filter_map(|(fp, ball)| Some((*ball)?.contains((*fp)?))).reduce(|any, one| any || one)
    }

    /// Balls of one radius around the fingerprints.
    fn balls(&self, radius: u32, fcinfo: pg_sys::FunctionCallInfo) -> ReturnedArray {
        ReturnedArray::new(self.0.iter().map(|fp| Some(Ball { center: (*fp)?, radius }.to_bytes())), fcinfo)
    }
}

/// For a function that returns a fingerprint64[].
pub fn returned(fingerprints: &[Option<u64>], fcinfo: pg_sys::FunctionCallInfo) -> ReturnedArray {
    ReturnedArray::new(fingerprints.iter().map(|fp| fp.map(u64::to_ne_bytes)), fcinfo)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_fingerprint64_array(a: Fingerprints, b: Fingerprints) -> Option<i32> {
    a.hamming(&b).map(|distance| distance as i32)
}

/// `distance` is a bigint so that no limit of a rewritten clause can overflow.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_fingerprint64_array(a: Fingerprints, b: Fingerprints, distance: i64) -> Option<bool> {
    a.hamming(&b).map(|least| i64::from(least) <= distance)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_array_near(a: Fingerprints, b: Fingerprints) -> Option<bool> {
    a.hamming(&b).map(|distance| distance <= NEAR_64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_64_array(
    centers: Fingerprints,
    radius: i32,
    fcinfo: pg_sys::FunctionCallInfo,
) -> ReturnedArray {
    centers.balls(Ball::new(0u64, radius).radius, fcinfo)
}

/// The planner's constructor, as that of single balls: NULL for a negative radius, the width for a greater one.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_or_null_64_array(
    centers: Fingerprints,
    radius: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Option<ReturnedArray> {
    u64::try_from(radius).ok().map(|radius| centers.balls(radius.min(64) as u32, fcinfo))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_array_within(fingerprints: Fingerprints, balls: Balls) -> Option<bool> {
    fingerprints.within(&balls)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_array_contains(balls: Balls, fingerprints: Fingerprints) -> Option<bool> {
    fingerprints.within(&balls)
}
