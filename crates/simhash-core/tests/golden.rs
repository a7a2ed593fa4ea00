//! Golden vectors: stored fingerprints must never change, so these must not either.
//!
//! `golden.jsonl` holds a vector on each line. `golden.py` checks the same file without this crate.
//! To add a vector, write its text and config, and take the rest from this test's message once
//! `golden.py` agrees.

use serde_json::{Value, json};
use simhash_core::bits::B256;
use simhash_core::fingerprint::to_hex;
use simhash_core::sets::minhash::MinHasher;
use simhash_core::{Config, Simhasher};

fn vector(text: &str, config: &str) -> Value {
    let mut simhasher = Simhasher::new(config.parse::<Config>().unwrap()).unwrap();
    let nothing = &mut || ();
    let features = simhasher.features::<u64>(text, usize::MAX, nothing).unwrap();
    let [mut narrow, mut wide, mut quad] = [64, 128, 256].map(MinHasher::new);
    json!({
        "text": text,
        "config": serde_json::from_str::<Value>(config).unwrap(),
        "normalized": simhasher.normalize(text, nothing),
        "tokens": simhasher.tokens(text, nothing),
        "weights": features.iter().map(|feature| feature.weight).collect::<Vec<_>>(),
        "simhash": simhasher.fingerprint::<u64>(text, nothing).map(to_hex),
        "simhash128": simhasher.fingerprint::<u128>(text, nothing).map(to_hex),
        "simhash256": simhasher.fingerprint::<B256>(text, nothing).map(to_hex),
        "minhash64": narrow.text_fingerprint::<u64>(&mut simhasher, text, nothing).map(to_hex),
        "minhash128": wide.text_fingerprint::<u128>(&mut simhasher, text, nothing).map(to_hex),
        "minhash256": quad.text_fingerprint::<B256>(&mut simhasher, text, nothing).map(to_hex),
    })
}

#[test]
fn golden_vectors() {
    let mut wrong = Vec::new();
    for line in include_str!("golden.jsonl").lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let found = vector(expected["text"].as_str().unwrap(), &expected["config"].to_string());
        if found != expected {
            wrong.push(found.to_string());
        }
    }
    assert!(wrong.is_empty(), "vectors that differ, as they are now:\n{}", wrong.join("\n"));
}
