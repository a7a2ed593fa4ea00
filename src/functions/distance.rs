//! `hamming`, `hamming_within` and `~=`: how many bits differ, and whether few enough do.

use pgrx::pg_extern;
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::parse_prefixed_hex;

use crate::error::raise_invalid_text;
use crate::types::bits::BitString;
use crate::types::{Fp64, Fp128, Fp256, Text, Width};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_fingerprint64(a: Fp64, b: Fp64) -> i32 {
    a.0.hamming(b.0) as i32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_fingerprint128(a: Fp128, b: Fp128) -> i32 {
    a.0.hamming(b.0) as i32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_fingerprint256(a: Fp256, b: Fp256) -> i32 {
    a.0.hamming(b.0) as i32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_int8(a: i64, b: i64) -> i32 {
    (a as u64).hamming(b as u64) as i32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_bit(a: BitString<'_>, b: BitString<'_>) -> i32 {
    a.hamming(&b) as i32
}

/// For two quoted literals, which have no type: reads both as fingerprints in their text form.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_text(a: Text<'_>, b: Text<'_>) -> i32 {
    let (a, b) = (a.as_str(), b.as_str());
    let distance = distance_of_text::<u64>(a, b)
        .or_else(|| distance_of_text::<u128>(a, b))
        .or_else(|| distance_of_text::<B256>(a, b));
    let is_fingerprint = |text| {
        parse_prefixed_hex::<u64>(text).is_some()
            || parse_prefixed_hex::<u128>(text).is_some()
            || parse_prefixed_hex::<B256>(text).is_some()
    };
    distance.unwrap_or_else(|| {
        raise_invalid_text(
            "fingerprint64",
            if is_fingerprint(a) { b } else { a },
            "Give two fingerprints of 16, 32 or 64 hexadecimal digits each.",
        )
    }) as i32
}

/// The distance of two fingerprints of this width. `None` if a text is none.
fn distance_of_text<F: Fingerprint>(a: &str, b: &str) -> Option<u32> {
    Some(parse_prefixed_hex::<F>(a)?.hamming(parse_prefixed_hex(b)?))
}

/// `distance` is a bigint so that no limit of a rewritten clause can overflow.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_fingerprint64(a: Fp64, b: Fp64, distance: i64) -> bool {
    i64::from(a.0.hamming(b.0)) <= distance
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_fingerprint128(a: Fp128, b: Fp128, distance: i64) -> bool {
    i64::from(a.0.hamming(b.0)) <= distance
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_fingerprint256(a: Fp256, b: Fp256, distance: i64) -> bool {
    i64::from(a.0.hamming(b.0)) <= distance
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_int8(a: i64, b: i64, distance: i64) -> bool {
    i64::from((a as u64).hamming(b as u64)) <= distance
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_within_bit(a: BitString<'_>, b: BitString<'_>, distance: i64) -> bool {
    i64::from(a.hamming(&b)) <= distance
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_near(a: Fp64, b: Fp64) -> bool {
    a.0.hamming(b.0) <= Width::Bits64.near()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_near(a: Fp128, b: Fp128) -> bool {
    a.0.hamming(b.0) <= Width::Bits128.near()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint256_near(a: Fp256, b: Fp256) -> bool {
    a.0.hamming(b.0) <= Width::Bits256.near()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_int8_near(a: i64, b: i64) -> bool {
    (a as u64).hamming(b as u64) <= Width::Bits64.near()
}
