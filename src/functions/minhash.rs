//! `minhash`, `jaccard` and the band operator `&&`, which cuts signatures as
//! [`Banding::default_for`] says.

use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::Simhasher;
use simhash_core::sets::bands::{Banding, keys, share_a_band};
use simhash_core::sets::minhash::{MAX_COMPONENTS, MinHasher, jaccard as estimate};
use simhash_core::sets::recipe;

use crate::call::{interrupts, keep};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::minhash::{Signature, origin};
use crate::types::{ConfigText, Text};

/// What a call site of `minhash` keeps.
struct Maker {
    simhasher: Simhasher,
    minhasher: MinHasher,
    origin: u64,
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash(
    body: Text<'_>,
    permutations: i32,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Option<Signature> {
    let serves =
        |made_for: &(i32, String)| made_for.0 == permutations && made_for.1 == config.as_str();
    let maker = keep(fcinfo, serves, || {
        let components = components(permutations);
        let config_of_set = recipe(&config.config());
        let origin = origin(&config_of_set);
        let maker = Maker {
            simhasher: simhasher_for(config_of_set, Schema::of_call(fcinfo)),
            minhasher: MinHasher::new(components),
            origin,
        };
        ((permutations, config.as_str().to_owned()), maker)
    });
    let components =
        maker.minhasher.text_signature(&mut maker.simhasher, body.as_str(), &mut interrupts())?;
    Some(Signature { origin: maker.origin, components })
}

fn components(permutations: i32) -> usize {
    usize::try_from(permutations).ok().filter(|n| (1..=MAX_COMPONENTS).contains(n)).unwrap_or_else(
        || {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("a signature cannot have {permutations} components"),
                &format!("Allowed: 1 to {MAX_COMPONENTS}."),
            )
        },
    )
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_jaccard(a: Signature, b: Signature) -> f32 {
    if a.components.len() != b.components.len() {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "cannot compare signatures of {} and {} components",
                a.components.len(),
                b.components.len()
            ),
            "Make both with the same number of permutations.",
        )
    }
    if a.origin != b.origin {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "cannot compare signatures that were made by different configs".into(),
            "Tokenizer, shingle, normalize, dictionary, stopwords, spots and hmm must be the same.",
        )
    }
    estimate(&a.components, &b.components) as f32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_share_band(a: Signature, b: Signature) -> bool {
    a.origin == b.origin
        && a.components.len() == b.components.len()
        && share_a_band(&a.components, &b.components, Banding::default_for(a.components.len()))
}

/// The keys under which similar signatures meet.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_bands(signature: Signature, bands: i32, rows: i32) -> Vec<i64> {
    let banding = match (usize::try_from(bands), usize::try_from(rows)) {
        (Ok(bands @ 1..), Ok(rows @ 1..)) => Banding { bands, rows },
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{bands} bands of {rows} rows are no bands"),
            "There must be at least one band of one row.",
        ),
    };
    checked_keys(&signature, banding)
}

/// The keys of a signature; raises 22023 where it is too short for the bands.
pub fn checked_keys(signature: &Signature, banding: Banding) -> Vec<i64> {
    let components = signature.components.len();
    if banding.components() > components {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "{} bands of {} rows do not fit a signature of {components} components",
                banding.bands, banding.rows
            ),
            "The signature must have bands times rows components, or more.",
        )
    }
    keys(signature.origin, &signature.components, banding).map(|key| key as i64).collect()
}
