//! `shingles` and the two measures over sets of them.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::Simhasher;
use simhash_core::config::recipes::set_config;
use simhash_core::config::{Config, MAX_SHINGLE, Shingles};
use simhash_core::sets::shingles::ShingleSet;

use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::returned_array::TextArray;
use crate::types::{ConfigText, Text};

/// The call site's maker of shingles of `k` tokens, or of the sizes that the config names if `k` is
/// 0.
fn shingler<'a>(call: &'a mut Call<'_>, k: i32, config: &ConfigText<'_>) -> &'a mut Simhasher {
    let serves = |made_for: &(i32, String)| made_for.0 == k && made_for.1 == config.as_str();
    call.keep(serves, |call| {
        let config_of_call = config.config();
        let sizes = match k {
            0 => config_of_call.set_shingles(),
            _ => shingles_instead(k, &config_of_call),
        };
        (
            (k, config.as_str().to_owned()),
            simhasher_for(set_config(&config_of_call, sizes), Schema::of_call(call)),
        )
    })
}

/// Shingles of `k` tokens, which is not 0, in place of those of the config.
pub fn shingles_instead(k: i32, config: &Config) -> Shingles {
    let shingles = shingles_of(k, "0, which takes those of the config, and ");
    if config.spots.is_some() {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("shingles of {k} tokens cannot be used with \"spots\" in the config"),
            "Features are either spots or shingles: use 0 tokens, or omit the spots.",
        )
    }
    shingles
}

/// Shingles of `k` tokens. `also` names in the hint what else is allowed.
pub fn shingles_of(k: i32, also: &str) -> Shingles {
    usize::try_from(k).ok().and_then(|k| Shingles::new([k])).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("number of tokens {k} is out of range for a shingle"),
            &format!("Allowed: {also}1 to {MAX_SHINGLE}."),
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn shingles(body: Text<'_>, k: i32, config: ConfigText<'_>, mut call: Call<'_>) -> TextArray {
    let mut shingles = TextArray::new();
    shingler(&mut call, k, &config).for_each_distinct_feature(
        body.as_str(),
        &mut interrupts(),
        |shingle| shingles.push_shown(shingle),
    );
    shingles
}

/// The `measure` of the sets of two texts.
fn measured(
    [a, b]: [Text<'_>; 2],
    shingler: &mut Simhasher,
    measure: impl FnOnce(&ShingleSet, &ShingleSet) -> Option<f64>,
) -> Option<f32> {
    let mut set = |text: Text<'_>| ShingleSet::new(shingler, text.as_str(), &mut interrupts());
    let (a, b) = (set(a), set(b));
    measure(&a, &b).map(|share| share as f32)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn shingle_similarity(
    a: Text<'_>,
    b: Text<'_>,
    k: i32,
    config: ConfigText<'_>,
    mut call: Call<'_>,
) -> Option<f32> {
    measured([a, b], shingler(&mut call, k, &config), ShingleSet::jaccard)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn shingle_containment(
    a: Text<'_>,
    b: Text<'_>,
    k: i32,
    config: ConfigText<'_>,
    mut call: Call<'_>,
) -> Option<f32> {
    measured([a, b], shingler(&mut call, k, &config), ShingleSet::containment)
}
