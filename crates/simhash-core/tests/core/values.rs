//! [`VALUES`] identifies what determines values: another dictionary, or another version of a table
//! of characters, changes it. If this test fails after an update of a crate, stored values change.
//!
//! A step of normalisation that is added later is not in [`STEPS`]: no stored value was made by it,
//! so those that exist stay valid. It joins the list when `VALUES` changes for another reason.

#![cfg(all(feature = "jieba", feature = "spaceless"))]

use simhash_core::{Simhasher, VALUES};
use xxhash_rust::xxh3::Xxh3;

/// The steps that [`VALUES`] covers, in the order in which they are hashed.
const STEPS: &str = "html data mojibake hyphens confusables nfkc german marks lower simplified \
     digits punctuation space";

/// Adds a string, so that no two lists of strings give the same bytes.
fn add(digest: &mut Xxh3, text: &str) {
    digest.update(&text.len().to_le_bytes());
    digest.update(text.as_bytes());
}

#[test]
fn values_are_made_by_what_they_say() {
    let mut digest = Xxh3::new();
    add(&mut digest, include_str!("../../data/zh_dictionary.txt"));
    add(&mut digest, include_str!("../../data/zh_word_levels.txt"));
    for language in ["en", "zh"] {
        stop_words::lookup(language).unwrap().iter().for_each(|word| add(&mut digest, word));
    }
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    for step in STEPS.split_whitespace() {
        let config = format!(r#"{{"normalize": ["{step}"]}}"#);
        let mut simhasher = Simhasher::new(config.parse().unwrap()).unwrap();
        for some in all.chunks(64) {
            let apart: Vec<String> = some.iter().map(|c| format!("a{c}b")).collect();
            add(&mut digest, &simhasher.normalize(&apart.join(" . "), &mut || ()));
        }
    }
    let mut simhasher = Simhasher::new("{}".parse().unwrap()).unwrap();
    for some in all.chunks(64) {
        let text: String = some.iter().collect();
        for token in simhasher.tokens(&text, &mut || ()) {
            add(&mut digest, &token);
        }
    }
    assert_eq!(VALUES, format!("1-{:016x}", digest.digest()));
}
