//! `simhash` and its relatives: text, features or lexemes in, a fingerprint out.

use pgrx::iter::TableIterator;
use pgrx::{Array, PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::config::Method;
use simhash_core::hash::feature_hash;
use simhash_core::sets::minhash::{Fingerprinter, MinHasher};
use simhash_core::simhash::{Feature, WeightError, from_features};

use super::call_site::{fingerprinter, interrupts, keep, new_simhasher, simhasher};
use crate::error::{raise, shown_number};
use crate::models::Schema;
use crate::types::array::TextArray;
use crate::types::{ConfigText, Fp64, Fp128, LARGEST_VALUE, Text, raise_too_large};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash(body: Text<'_>, config: ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> Option<Fp64> {
    simhasher(fcinfo, &config).fingerprint(body.as_str(), &mut interrupts()).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash128(body: Text<'_>, config: ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> Option<Fp128> {
    simhasher(fcinfo, &config).fingerprint(body.as_str(), &mut interrupts()).map(Fp128)
}

/// The call site's maker of one-bit MinHash fingerprints.
fn minhasher<'a>(
    fcinfo: pg_sys::FunctionCallInfo,
    config: &ConfigText<'_>,
    bits: u32,
) -> &'a mut Fingerprinter {
    keep(
        fcinfo,
        |made_for: &String| made_for == config.as_str(),
        || {
            let schema = Schema::of_call(fcinfo);
            (config.as_str().to_owned(), fingerprinter(Method::Minhash, config.config(), schema, bits))
        },
    )
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash64(body: Text<'_>, config: ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> Option<Fp64> {
    minhasher(fcinfo, &config, 64).fingerprint(body.as_str(), &mut interrupts()).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash128(body: Text<'_>, config: ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> Option<Fp128> {
    minhasher(fcinfo, &config, 128).fingerprint(body.as_str(), &mut interrupts()).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash64_from(features: Array<'_, Text<'_>>) -> Option<Fp64> {
    minhash_from(features).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash128_from(features: Array<'_, Text<'_>>) -> Option<Fp128> {
    minhash_from(features).map(Fp128)
}

fn minhash_from<F: Fingerprint>(features: Array<'_, Text<'_>>) -> Option<F> {
    refuse_null_features(&features);
    let hashes = features.iter().flatten().enumerate().map(|(i, feature)| {
        check(i);
        feature_hash(feature.as_str().as_bytes())
    });
    MinHasher::new(F::BITS as usize).fingerprint(hashes)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_normalize(
    body: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Text<'static> {
    let normalized = simhasher(fcinfo, &config).normalize(body.as_str(), &mut interrupts());
    Text::from(normalized)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_tokens(body: Text<'_>, config: ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> TextArray {
    let mut tokens = TextArray::new();
    simhasher(fcinfo, &config).for_each_token(body.as_str(), &mut interrupts(), |token| tokens.push(token));
    tokens
}

/// What a row of `simhash_features` is made of.
fn features<F: Fingerprint>(
    body: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Vec<Feature<F>> {
    new_simhasher(&config, fcinfo)
        .features(body.as_str(), LARGEST_VALUE, &mut interrupts())
        .unwrap_or_else(|| raise_too_large("the features of this text are too long together"))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_features(
    body: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<'static, (name!(feature, Text<'static>), name!(weight, f32), name!(hash, Fp64))> {
    TableIterator::new(
        features::<u64>(body, config, fcinfo)
            .into_iter()
            .map(|f| (Text::from(f.text), f.weight, Fp64(f.hash))),
    )
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash128_features(
    body: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<'static, (name!(feature, Text<'static>), name!(weight, f32), name!(hash, Fp128))> {
    TableIterator::new(
        features::<u128>(body, config, fcinfo)
            .into_iter()
            .map(|f| (Text::from(f.text), f.weight, Fp128(f.hash))),
    )
}

/// The caller's own features: not STRICT, for `weights` may be left out.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_from(features: Option<Array<'_, Text<'_>>>, weights: Option<Array<'_, f32>>) -> Option<Fp64> {
    fingerprint_from(features?, weights).map(Fp64)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash128_from(features: Option<Array<'_, Text<'_>>>, weights: Option<Array<'_, f32>>) -> Option<Fp128> {
    fingerprint_from(features?, weights).map(Fp128)
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
                format!("{} features do not go with {} weights", features.len(), weights.len()),
                "Give one weight for each feature, or leave the weights out.",
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
            format!("weight {} of feature {} is not allowed", shown_number(weight), index + 1),
            "A weight is a finite number, 0 or greater.",
        )
    })
}

/// Checks for interrupts, at the element of an array, now and then.
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

/// Raises when an element is NULL; `are_null` says of every one whether it is.
fn refuse_nulls(are_null: impl Iterator<Item = bool>, argument: &str) {
    for (place, is_null) in are_null.enumerate() {
        check(place);
        if is_null {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("{argument} must not contain NULL: element {} does", place + 1),
                "",
            )
        }
    }
}
