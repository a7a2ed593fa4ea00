//! A build without dictionaries refuses configurations that need them, and never cuts texts in
//! another way.

#![cfg(not(any(feature = "jieba", feature = "spaceless")))]

use simhash_core::{Config, Simhasher, SimhasherError};

fn made(config: &str) -> Result<Simhasher, SimhasherError> {
    Simhasher::new(config.parse::<Config>().unwrap())
}

#[test]
fn tokenizers_that_need_dictionaries_are_refused() {
    for config in ["{}", r#"{"tokenizer": "jieba"}"#, r#"{"tokenizer": "code"}"#] {
        assert_eq!(made(config).err(), Some(SimhasherError::NeedsFeature("jieba")));
    }
}

#[test]
fn the_others_give_their_golden_vectors() {
    let mut tried = 0;
    for line in include_str!("../golden.jsonl").lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let config = vector["config"].to_string();
        let Ok(mut simhasher) = made(&config) else { continue };
        let text = vector["text"].as_str().unwrap();
        let found: Option<u64> = simhasher.fingerprint(text, &mut || ());
        let expected = vector["simhash"].as_str();
        assert_eq!(found.map(|print| format!("{print:016x}")).as_deref(), expected, "{text}");
        tried += 1;
    }
    assert!(tried > 5);
}
