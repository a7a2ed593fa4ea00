//! The functions that read a model by name: `esimhash`, `simhash_lexicons`, `imatch`,
//! `imatch_keys`, `simhash_model_term`.

use std::sync::Arc;

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern};
use simhash_core::Simhasher;
use simhash_core::base::hash::feature_hash;
use simhash_core::config::{Cap, Config, Position, Shingles, Weight};
use simhash_core::features::model::Model;
use simhash_core::methods::imatch as core_imatch;
use simhash_core::methods::lexicons::fingerprints;

use super::shingles::shingles_of;
use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::error::{raise, shown_number};
use crate::models::{find, simhasher_for};
use crate::types::lexicons::Fingerprints;
use crate::types::returned_array::ReturnedArray;
use crate::types::{Fp128, Text};

/// E-Simhash's choices: weights are capped at the 90th percentile, and the position of a feature
/// counts. With the position `paper`, one or two bits that seldom change would encode the order of
/// a short text. `spread` costs more recall, but distinguishes orders (docs/methods/esimhash.md).
fn esimhash_config(model: &Model, name: &str) -> Config {
    Config {
        weight: Weight::Entropy,
        model: Some(name.to_owned()),
        position: Position::Spread,
        cap: Some(Cap::Percentile(90)),
        ..model.config().clone()
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn esimhash(body: Text<'_>, model: Text<'_>, mut call: Call<'_>) -> Option<Fp128> {
    let simhasher = call.keep(
        |name: &String| name == model.as_str(),
        |call| {
            let schema = Schema::of_call(call);
            let config = esimhash_config(&find(schema, model.as_str()), model.as_str());
            (model.as_str().to_owned(), simhasher_for(config, schema))
        },
    );
    simhasher.fingerprint(body.as_str(), &mut interrupts()).map(Fp128)
}

/// A model, and the hasher that cuts texts into its features.
struct Lexicon {
    model: Arc<Model>,
    simhasher: Simhasher,
}

fn lexicon<'a>(call: &'a mut Call<'_>, name: &Text<'_>) -> &'a mut Lexicon {
    call.keep(
        |kept: &String| kept == name.as_str(),
        |call| {
            let schema = Schema::of_call(call);
            let model = find(schema, name.as_str());
            let simhasher = simhasher_for(model.config().clone(), schema);
            (name.as_str().to_owned(), Lexicon { model, simhasher })
        },
    )
}

/// The number of random parts of a lexicon in a call, checked.
fn parts_of(lexicons: i32) -> usize {
    const MOST: usize = 100;
    usize::try_from(lexicons).ok().filter(|&parts| parts <= MOST).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("number of lexicons {lexicons} is out of range"),
            &format!("Allowed: 0 to {MOST}, beside the whole one."),
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_lexicons(
    body: Text<'_>,
    model: Text<'_>,
    lexicons: i32,
    shingle: i32,
    mut call: Call<'_>,
) -> ReturnedArray {
    let parts = parts_of(lexicons);
    let shingle = shingles_of(shingle, "").longest();
    let lexicon = lexicon(&mut call, &model);
    let config = lexicon.model.config();
    if config.spots.is_some() || config.shingles() != Shingles::TOKENS {
        let trained_on = match config.spots {
            Some(_) => "spots".to_owned(),
            None => format!("shingles of {} tokens", config.shingles()),
        };
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("model \"{}\" was trained on {trained_on}", model.as_str()),
            "A lexicon requires a model of single tokens: train one with shingle 1.",
        )
    }
    let simhasher = &mut lexicon.simhasher;
    let found =
        fingerprints(&lexicon.model, simhasher, body.as_str(), parts, shingle, &mut interrupts());
    Fingerprints(found).returned(&call)
}

fn check_band(low: f32, high: f32) {
    if low.is_nan() || high.is_nan() || low > high {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "range {} to {} of inverse document frequencies is invalid",
                shown_number(low),
                shown_number(high)
            ),
            "The argument low must not be greater than high. IDF is ln(|D| / (df + 1)).",
        )
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn imatch(
    body: Text<'_>,
    model: Text<'_>,
    low: f32,
    high: f32,
    mut call: Call<'_>,
) -> Option<Fp128> {
    check_band(low, high);
    let Lexicon { model, simhasher } = lexicon(&mut call, &model);
    core_imatch::imatch(model, simhasher, body.as_str(), low.into(), high.into(), &mut interrupts())
        .map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn imatch_keys(
    body: Text<'_>,
    model: Text<'_>,
    lexicons: i32,
    low: f32,
    high: f32,
    mut call: Call<'_>,
) -> Option<ReturnedArray> {
    let parts = parts_of(lexicons);
    check_band(low, high);
    let Lexicon { model, simhasher } = lexicon(&mut call, &model);
    let (low, high, body) = (low.into(), high.into(), body.as_str());
    let keys = core_imatch::keys(model, simhasher, body, parts, low, high, &mut interrupts())?;
    let elements = keys.into_iter().map(|key| Some(key.to_ne_bytes()));
    Some(ReturnedArray::new(elements, &call))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_model_term(
    model: Text<'_>,
    term: Text<'_>,
    call: Call<'_>,
) -> TableIterator<'static, (name!(documents, i64), name!(idf, f64), name!(entropy, f64))> {
    let model = find(Schema::of_call(&call), model.as_str());
    let known = model.term(feature_hash(term.as_str().as_bytes()));
    TableIterator::new(
        known.into_iter().map(|(documents, term)| (i64::from(documents), term.idf, term.entropy)),
    )
}
