//! Functions of `fingerprint64[]` and `hamming_ball64[]`: distances and conditions. A distance is
//! the least over equal positions.

use pgrx::pg_extern;

use crate::call::Call;
use crate::types::Width;
use crate::types::ball::Ball;
use crate::types::lexicons::{Balls, Fingerprints};
use crate::types::returned_array::ReturnedArray;

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_fingerprint64_array(a: Fingerprints, b: Fingerprints) -> Option<i32> {
    a.hamming(&b).map(|distance| distance as i32)
}

/// `distance` is a bigint so that no limit of a rewritten clause can overflow.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_fingerprint64_array(
    a: Fingerprints,
    b: Fingerprints,
    distance: i64,
) -> Option<bool> {
    a.hamming(&b).map(|least| i64::from(least) <= distance)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_array_near(a: Fingerprints, b: Fingerprints) -> Option<bool> {
    a.hamming(&b).map(|distance| distance <= Width::Bits64.near())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_64_array(centers: Fingerprints, radius: i32, call: Call<'_>) -> ReturnedArray {
    centers.balls(Ball::new(0u64, radius).radius, &call)
}

/// The constructor in rewritten clauses, as that of single balls: NULL for a negative radius, and
/// the width for a radius that is greater.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_or_null_64_array(
    centers: Fingerprints,
    radius: i64,
    call: Call<'_>,
) -> Option<ReturnedArray> {
    Some(centers.balls(Ball::of_any_radius(0u64, radius)?.radius, &call))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_array_within(fingerprints: Fingerprints, balls: Balls) -> Option<bool> {
    fingerprints.within(&balls)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_array_contains(balls: Balls, fingerprints: Fingerprints) -> Option<bool> {
    fingerprints.within(&balls)
}
