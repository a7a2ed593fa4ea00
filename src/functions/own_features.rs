//! Fingerprints of the caller's own features: `simhash_from`, `minhash64_from` and their relatives.

use pgrx::{Array, PgSqlErrorCode, pg_extern};
use simhash_core::Fingerprint;
use simhash_core::base::hash::feature_hash;
use simhash_core::sketches::minhash::MinHasher;
use simhash_core::sketches::simhash::{WeightError, from_features};

use crate::error::{raise, shown_number};
use crate::types::{Fp64, Fp128, Fp256, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash64_from(features: Array<'_, Text<'_>>) -> Option<Fp64> {
    minhash_from(features).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash128_from(features: Array<'_, Text<'_>>) -> Option<Fp128> {
    minhash_from(features).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash256_from(features: Array<'_, Text<'_>>) -> Option<Fp256> {
    minhash_from(features).map(Fp256)
}

fn minhash_from<F: Fingerprint>(features: Array<'_, Text<'_>>) -> Option<F> {
    refuse_null_features(&features);
    let hashes = features.iter().flatten().enumerate().map(|(i, feature)| {
        check(i);
        feature_hash(feature.as_str().as_bytes())
    });
    MinHasher::new(F::BITS as usize).fingerprint(hashes)
}

/// Not STRICT, since `weights` may be left out.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_from(
    features: Option<Array<'_, Text<'_>>>,
    weights: Option<Array<'_, f32>>,
) -> Option<Fp64> {
    fingerprint_from(features?, weights).map(Fp64)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash128_from(
    features: Option<Array<'_, Text<'_>>>,
    weights: Option<Array<'_, f32>>,
) -> Option<Fp128> {
    fingerprint_from(features?, weights).map(Fp128)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash256_from(
    features: Option<Array<'_, Text<'_>>>,
    weights: Option<Array<'_, f32>>,
) -> Option<Fp256> {
    fingerprint_from(features?, weights).map(Fp256)
}

fn fingerprint_from<F: Fingerprint>(
    features: Array<'_, Text<'_>>,
    weights: Option<Array<'_, f32>>,
) -> Option<F> {
    refuse_null_features(&features);
    if let Some(weights) = &weights {
        refuse_nulls(weights.iter().map(|weight| weight.is_none()), "weights");
        if features.len() != weights.len() {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "number of features, {}, does not match number of weights, {}",
                    features.len(),
                    weights.len()
                ),
                "Give one weight for each feature, or omit the weights.",
            )
        }
    }
    let mut weights = weights.as_ref().map(|weights| weights.iter());
    let pairs = features.iter().flatten().enumerate().map(|(i, feature)| {
        check(i);
        let weight = weights.as_mut().and_then(|weights| weights.next().flatten()).unwrap_or(1.0);
        (feature, weight)
    });
    from_features(pairs).unwrap_or_else(|error| {
        let (index, weight) = match error {
            WeightError::NotFinite { index, weight } | WeightError::Negative { index, weight } => {
                (index, weight)
            }
        };
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("weight {} of feature {} is out of range", shown_number(weight), index + 1),
            "A weight must be a finite number, 0 or greater.",
        )
    })
}

/// Checks for interrupts at every 4096th element of an array.
fn check(place: usize) {
    if place.is_multiple_of(1 << 12) {
        pgrx::check_for_interrupts!();
    }
}

fn refuse_null_features(features: &Array<'_, Text<'_>>) {
    if features.contains_nulls() {
        refuse_nulls(features.iter().map(|feature| feature.is_none()), "features");
    }
}

/// Raises an ERROR if an element is NULL. `are_null` yields for each element whether it is.
fn refuse_nulls(are_null: impl Iterator<Item = bool>, argument: &str) {
    for (place, is_null) in are_null.enumerate() {
        check(place);
        if is_null {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("{argument} must not contain NULL: element {} does", place + 1),
                "Omit the feature and its weight.",
            )
        }
    }
}
