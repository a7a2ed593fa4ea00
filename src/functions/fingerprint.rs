//! `simhash` and its relatives: text, features or lexemes in, a fingerprint out.

use pgrx::iter::TableIterator;
use pgrx::{Array, PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::simhash::{Feature, WeightError, from_features};

use super::call_site::{interrupts, new_simhasher, simhasher};
use crate::error::{raise, shown_number};
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
    let check = |place: usize| {
        if place.is_multiple_of(1 << 12) {
            pgrx::check_for_interrupts!();
        }
    };
    let refuse_null = |place: usize, is_null: bool, argument: &str| {
        check(place);
        if is_null {
            raise_null_element(argument, place)
        }
    };
    if features.contains_nulls() {
        features.iter().enumerate().for_each(|(i, feature)| refuse_null(i, feature.is_none(), "features"));
    }
    if let Some(weights) = &weights {
        weights.iter().enumerate().for_each(|(i, weight)| refuse_null(i, weight.is_none(), "weights"));
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

fn raise_null_element(argument: &str, index: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("{argument} must not contain NULL: element {} does", index + 1),
        "",
    )
}
