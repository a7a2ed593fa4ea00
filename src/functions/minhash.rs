//! `minhash`, `jaccard`, the union `|` of two signatures, and the band operator `&&`, which cuts
//! signatures as [`Banding::default_for`] says. Aggregates are in `minhash_aggregate`.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::Simhasher;
use simhash_core::config::recipes::recipe;
use simhash_core::sketches::bands::{Banding, keys, share_a_band};
use simhash_core::sketches::minhash::{MAX_COMPONENTS, MinHasher, Union, jaccard as estimate};

use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::minhash::{Signature, origin};
use crate::types::{ConfigText, Text};

/// Makes the signatures of a call site's texts.
pub(super) struct Maker {
    pub simhasher: Simhasher,
    pub minhasher: MinHasher,
    pub origin: u64,
}

impl Maker {
    /// The maker that the call site keeps, for `permutations` components and the stored text of a
    /// config.
    pub fn of_site<'a>(call: &'a mut Call<'_>, permutations: i32, config: &str) -> &'a mut Maker {
        let serves = |made_for: &(i32, String)| made_for.0 == permutations && made_for.1 == config;
        call.keep(serves, |call| {
            let components = components(permutations);
            let config_of_set = recipe(&ConfigText::config_of(config));
            let origin = origin(&config_of_set);
            let maker = Maker {
                simhasher: simhasher_for(config_of_set, Schema::of_call(call)),
                minhasher: MinHasher::new(components),
                origin,
            };
            ((permutations, config.to_owned()), maker)
        })
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash(
    body: Text<'_>,
    permutations: i32,
    config: ConfigText<'_>,
    mut call: Call<'_>,
) -> Option<Signature> {
    let Maker { simhasher, minhasher, origin } =
        Maker::of_site(&mut call, permutations, config.as_str());
    let components = minhasher.text_signature(simhasher, body.as_str(), &mut interrupts())?;
    Some(Signature { origin: *origin, components })
}

fn components(permutations: i32) -> usize {
    usize::try_from(permutations).ok().filter(|n| (1..=MAX_COMPONENTS).contains(n)).unwrap_or_else(
        || {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("number of components {permutations} is out of range for a signature"),
                &format!("Allowed: 1 to {MAX_COMPONENTS}."),
            )
        },
    )
}

/// Raises 22023 unless two signatures were made alike. Each is given by its origin and the number
/// of its components. `verb` names the failed operation in the message.
pub(super) fn check_alike(verb: &str, a: (u64, usize), b: (u64, usize)) {
    if a.1 != b.1 {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("cannot {verb} signatures of {} and {} components", a.1, b.1),
            "Make both with the same number of permutations.",
        )
    }
    if a.0 != b.0 {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("cannot {verb} signatures that were made by different configs"),
            "Tokenizer, shingle, normalize, dictionary, stopwords, spots, hmm, comments and \
             whitespace must be the same.",
        )
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_jaccard(a: Signature, b: Signature) -> f32 {
    check_alike("compare", a.kind(), b.kind());
    estimate(&a.components, &b.components) as f32
}

/// The signature of the union of two sets.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_or(a: Signature, b: Signature) -> Signature {
    check_alike("unite", a.kind(), b.kind());
    let mut least = vec![0; a.components.len()];
    let mut union = Union::of_nothing(&mut least);
    union.add(&a.components);
    union.add(&b.components);
    Signature { origin: a.origin, components: union.signature() }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_share_band(a: Signature, b: Signature) -> bool {
    a.kind() == b.kind()
        && share_a_band(&a.components, &b.components, Banding::default_for(a.components.len()))
}

/// A key for each band. Similar signatures are likely to have some in common.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_bands(signature: Signature, bands: i32, rows: i32) -> Vec<i64> {
    let banding = match (usize::try_from(bands), usize::try_from(rows)) {
        (Ok(bands @ 1..), Ok(rows @ 1..)) => Banding { bands, rows },
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("cannot make {bands} bands of {rows} rows"),
            "There must be at least one band of one row.",
        ),
    };
    checked_keys(&signature, banding)
}

/// The keys of a signature. Raises 22023 if it is too short for the bands.
pub fn checked_keys(signature: &Signature, banding: Banding) -> Vec<i64> {
    let components = signature.components.len();
    if banding.components() > components {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "cannot make {} bands of {} rows of a signature of {components} components",
                banding.bands, banding.rows
            ),
            "The signature must have at least bands times rows components.",
        )
    }
    keys(signature.origin, &signature.components, banding).map(|key| key as i64).collect()
}
