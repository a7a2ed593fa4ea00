//! `near_duplicate`, `text_similarity`, and `simhash_reach`: the distance up to which fingerprints
//! of near texts may differ.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::sketches::minhash::reach;

use super::compared::{Sets, Sketches};
use crate::call::Call;
use crate::error::raise;
use crate::types::near_text::check_similarity;
use crate::types::{ConfigText, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_duplicate(
    a: Text<'_>,
    b: Text<'_>,
    similarity: f64,
    config: ConfigText<'_>,
    mut call: Call<'_>,
) -> bool {
    check_similarity(similarity);
    Sketches::of_site(&mut call, &config).near([a.as_str(), b.as_str()], similarity)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_similarity(a: Text<'_>, b: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> f64 {
    Sets::of_site(&mut call, &config).similarity([a.as_str(), b.as_str()])
}

/// The widths in bits that `reach` supports.
const BITS: std::ops::RangeInclusive<u32> = 8..=1024;

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_reach(similarity: f64, bits: i32) -> i32 {
    check_similarity(similarity);
    match u32::try_from(bits) {
        Ok(bits) if BITS.contains(&bits) => reach(similarity, bits) as i32,
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("number of bits {bits} is out of range for a fingerprint"),
            &format!("Allowed: {} to {}.", BITS.start(), BITS.end()),
        ),
    }
}
