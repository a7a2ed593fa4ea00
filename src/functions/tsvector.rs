//! `simhash(tsvector)` and `minhash64(tsvector)`: fingerprints of lexemes, for any text search
//! configuration.

use pgrx::pg_extern;
use simhash_core::Fingerprint;
use simhash_core::base::hash::feature_hash;
use simhash_core::sketches::minhash::MinHasher;
use simhash_core::sketches::simhash::from_features;

use crate::types::tsvector::TsVector;
use crate::types::{Fp64, Fp128, Fp256};

fn fingerprint<F: Fingerprint>(document: TsVector<'_>) -> Option<F> {
    // SAFETY: lexemes are used within this call, as long as the document and the current memory
    // context.
    let lexemes = unsafe { document.lexemes() };
    // A weight is a sum of label weights, so it is finite and positive.
    from_features(lexemes.map(|(lexeme, weight)| (lexeme.as_bytes(), weight))).ok().flatten()
}

/// One bit of each MinHash component of the set of lexemes. Positions and labels have no influence.
fn minhash<F: Fingerprint>(document: TsVector<'_>) -> Option<F> {
    // SAFETY: lexemes are used within this call, as long as the document and the current memory
    // context.
    let lexemes = unsafe { document.lexemes() };
    let hashes = lexemes.map(|(lexeme, _)| feature_hash(lexeme.as_bytes()));
    MinHasher::new(F::BITS as usize).fingerprint(hashes)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash64_tsvector(document: TsVector<'_>) -> Option<Fp64> {
    minhash(document).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash128_tsvector(document: TsVector<'_>) -> Option<Fp128> {
    minhash(document).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash256_tsvector(document: TsVector<'_>) -> Option<Fp256> {
    minhash(document).map(Fp256)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_tsvector(document: TsVector<'_>) -> Option<Fp64> {
    fingerprint(document).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash128_tsvector(document: TsVector<'_>) -> Option<Fp128> {
    fingerprint(document).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash256_tsvector(document: TsVector<'_>) -> Option<Fp256> {
    fingerprint(document).map(Fp256)
}
