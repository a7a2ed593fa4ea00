//! Fingerprints of texts: `simhash`, `minhash64` and their relatives, and the normalized texts,
//! tokens and features that they are made of.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern};
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::sketches::simhash::Features;

use super::hashers::{minhasher, new_simhasher, simhasher};
use crate::call::{Call, interrupts};
use crate::types::returned_array::TextArray;
use crate::types::varlena::{LARGEST_VALUE, raise_too_large};
use crate::types::{ConfigText, Fp64, Fp128, Fp256, Shown, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Option<Fp64> {
    simhasher(&mut call, &config).fingerprint(body.as_str(), &mut interrupts()).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash128(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Option<Fp128> {
    simhasher(&mut call, &config).fingerprint(body.as_str(), &mut interrupts()).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash256(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Option<Fp256> {
    simhasher(&mut call, &config).fingerprint(body.as_str(), &mut interrupts()).map(Fp256)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash64(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Option<Fp64> {
    minhasher(&mut call, &config, 64).fingerprint(body.as_str(), &mut interrupts()).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash128(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Option<Fp128> {
    minhasher(&mut call, &config, 128).fingerprint(body.as_str(), &mut interrupts()).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash256(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Option<Fp256> {
    minhasher(&mut call, &config, 256).fingerprint(body.as_str(), &mut interrupts()).map(Fp256)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_normalize(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> Shown {
    let normalized = simhasher(&mut call, &config).normalize(body.as_str(), &mut interrupts());
    Shown::from(normalized)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_tokens(body: Text<'_>, config: ConfigText<'_>, mut call: Call<'_>) -> TextArray {
    let mut tokens = TextArray::new();
    simhasher(&mut call, &config)
        .for_each_token(body.as_str(), &mut interrupts(), |token| tokens.push_shown(token));
    tokens
}

/// The features behind the rows of `simhash_features`.
fn features<F: Fingerprint>(body: Text<'_>, config: ConfigText<'_>, call: Call<'_>) -> Features<F> {
    new_simhasher(&config, &call)
        .features(body.as_str(), LARGEST_VALUE, &mut interrupts())
        .unwrap_or_else(|| raise_too_large("the features of this text are too long in total"))
}

macro_rules! features_of {
    ($name:ident: $type:ident($bits:ident)) => {
        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $name(
            body: Text<'_>,
            config: ConfigText<'_>,
            call: Call<'_>,
        ) -> TableIterator<'static, (name!(feature, Shown), name!(weight, f32), name!(hash, $type))>
        {
            let features = features::<$bits>(body, config, call);
            TableIterator::new((0..features.len()).map(move |place| {
                let feature = features.get(place);
                (Shown::from(feature.text.to_owned()), feature.weight, $type(feature.hash))
            }))
        }
    };
}
features_of!(simhash_features: Fp64(u64));
features_of!(simhash128_features: Fp128(u128));
features_of!(simhash256_features: Fp256(B256));
