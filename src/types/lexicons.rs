//! `fingerprint64[]`, one fingerprint a lexicon, and `hamming_ball64[]`, one ball a lexicon.
//!
//! The distance of two arrays is the least over equal positions. Positions that only one array has,
//! or where either element is NULL, do not count.

use pgrx::pg_sys;
use simhash_core::Fingerprint;

use super::array::for_each_element;
use super::ball::{Ball, Ball64};
use super::datum::{Decode, argument, sql_type};
use super::fingerprint64::Fp64;
use super::returned_array::ReturnedArray;

/// A document's fingerprints under several lexicons.
pub struct Fingerprints(pub Vec<Option<u64>>);

/// What such a document is looked for by.
pub struct Balls(pub Vec<Option<Ball64>>);

sql_type!(Fingerprints, "fingerprint64[]");
argument!(Fingerprints);
sql_type!(Balls, "hamming_ball64[]");
argument!(Balls);

impl Decode for Fingerprints {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        let mut fingerprints = Vec::new();
        // SAFETY: as the trait's.
        unsafe { for_each_element(datum, |fp| fingerprints.push(fp.map(|fp| Fp64::decode(fp).0))) };
        Fingerprints(fingerprints)
    }
}

impl Decode for Balls {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        let mut balls = Vec::new();
        // SAFETY: as the trait's.
        unsafe {
            for_each_element(datum, |ball| balls.push(ball.map(|ball| Ball64::decode(ball))));
        }
        Balls(balls)
    }
}

impl Fingerprints {
    /// The least distance over equal positions; `None` when no position counts.
    pub fn hamming(&self, other: &Self) -> Option<u32> {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter_map(|(a, b)| Some((*a)?.hamming((*b)?))).min()
    }

    /// Whether one is in the ball at its position; `None` when no position counts.
    pub fn within(&self, balls: &Balls) -> Option<bool> {
        let pairs = self.0.iter().zip(&balls.0);
        pairs.filter_map(|(fp, ball)| Some((*ball)?.contains((*fp)?))).reduce(|any, one| any || one)
    }

    /// As a function returns them.
    pub fn returned(&self, fcinfo: pg_sys::FunctionCallInfo) -> ReturnedArray {
        ReturnedArray::new(self.0.iter().map(|fp| fp.map(u64::to_ne_bytes)), fcinfo)
    }

    /// Balls of one radius around the fingerprints, as a function returns them.
    pub fn balls(&self, radius: u32, fcinfo: pg_sys::FunctionCallInfo) -> ReturnedArray {
        let around = |center| Ball { center, radius }.to_bytes();
        ReturnedArray::new(self.0.iter().map(|fp| fp.map(around)), fcinfo)
    }
}
