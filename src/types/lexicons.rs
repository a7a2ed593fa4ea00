//! `fingerprint64[]`, one fingerprint per lexicon, and `hamming_ball64[]`, one ball per lexicon.
//!
//! The distance of two arrays is the minimum over equal positions. A position that only one array
//! has, or where either element is NULL, does not count.

use pgrx::pg_sys;
use simhash_core::Fingerprint;

use super::array::for_each_element;
use super::ball::{Ball, Ball64};
use super::datum::{Decode, argument, sql_type};
use super::fingerprint64::Fp64;
use super::returned_array::ReturnedArray;
use crate::call::Call;

/// A document's fingerprints under several lexicons.
pub struct Fingerprints(pub Vec<Option<u64>>);

/// The balls by which such a document is searched.
pub struct Balls(pub Vec<Option<Ball64>>);

sql_type!(Fingerprints, "fingerprint64[]");
argument!(Fingerprints);
sql_type!(Balls, "hamming_ball64[]");
argument!(Balls);

impl Decode for Fingerprints {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        let mut fingerprints = Vec::new();
        // SAFETY: `datum` is a fingerprint64[]; its elements have a fixed length of eight bytes.
        unsafe { for_each_element(datum, |fp| fingerprints.push(fp.map(|fp| Fp64::decode(fp).0))) };
        Fingerprints(fingerprints)
    }
}

impl Decode for Balls {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        let mut balls = Vec::new();
        // SAFETY: an element is a hamming_ball64.
        let push = |ball: Option<_>| balls.push(ball.map(|ball| unsafe { Ball64::decode(ball) }));
        // SAFETY: `datum` is a hamming_ball64[]; its elements have a fixed length of 16 bytes.
        unsafe { for_each_element(datum, push) };
        Balls(balls)
    }
}

impl Fingerprints {
    /// The minimal distance over equal positions; `None` if no position counts.
    pub fn hamming(&self, other: &Self) -> Option<u32> {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter_map(|(a, b)| Some((*a)?.hamming((*b)?))).min()
    }

    /// Whether any fingerprint is in the ball at its position; `None` if no position counts.
    pub fn within(&self, balls: &Balls) -> Option<bool> {
        let pairs = self.0.iter().zip(&balls.0);
        pairs.filter_map(|(fp, ball)| Some((*ball)?.contains((*fp)?))).reduce(|any, one| any || one)
    }

    /// The array as a function result.
    pub fn returned(&self, call: &Call<'_>) -> ReturnedArray {
        ReturnedArray::new(self.0.iter().map(|fp| fp.map(u64::to_ne_bytes)), call)
    }

    /// Balls of one radius around the fingerprints, as a function result.
    pub fn balls(&self, radius: u32, call: &Call<'_>) -> ReturnedArray {
        let around = |center| Ball { center, radius }.to_bytes();
        ReturnedArray::new(self.0.iter().map(|fp| fp.map(around)), call)
    }
}
