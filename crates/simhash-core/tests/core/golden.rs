//! Golden vectors: stored fingerprints must never change, so these must not either.
//!
//! `golden.jsonl` has a vector on each line. `golden.py` checks the same file without this crate.
//! To add a vector, write its text and config, and take the rest from this test's message once
//! `golden.py` agrees. The words of a dictionary are pairs of a word and its frequency, or null.
//! The keys of a sketch are given by the XXH3-64 of their digits, for layouts of three
//! similarities. A config that names a model gets that of `golden_model.json`.

use std::sync::Arc;

use serde_json::{Value, json};
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::to_hex;
use simhash_core::base::hash::feature_hash;
use simhash_core::config::recipes::{near_recipe, recipe};
use simhash_core::features::model::Model;
use simhash_core::models::train::Trainer;
use simhash_core::sets::sketch::{Layout, Sketcher};
use simhash_core::sketches::minhash::MinHasher;
use simhash_core::words::lists::{Kind, WordList};
use simhash_core::{Config, Named, Simhasher};

/// The model that vectors name. It is trained on the corpus of `golden_model.json`, which also has
/// the model's bytes.
fn model() -> Arc<Model> {
    let given: Value = serde_json::from_str(include_str!("../golden_model.json")).unwrap();
    let mut trainer = Trainer::new(&given["config"].to_string().parse().unwrap()).unwrap();
    for text in given["corpus"].as_array().unwrap() {
        trainer.add(text.as_str().unwrap(), &mut || ()).unwrap();
    }
    let model = trainer.finish(None, &mut || ());
    let bytes: String = model.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(given["model"], bytes, "the model that is trained");
    Arc::new(model)
}

/// The list of words that a vector contains under the name of its kind.
fn list(kind: Kind, given: &Value) -> Option<Arc<WordList>> {
    let words = given[kind.name()].as_array()?.iter().map(|word| match kind {
        Kind::Dictionary => (word[0].as_str().unwrap().to_owned(), word[1].as_i64()),
        Kind::StopWords => (word.as_str().unwrap().to_owned(), None),
    });
    Some(Arc::new(WordList::new(kind, words, &mut || ()).unwrap()))
}

fn vector(given: &Value) -> Value {
    let text = given["text"].as_str().unwrap();
    let config: Config = given["config"].to_string().parse().unwrap();
    let named = Named {
        model: config.model.is_some().then(model),
        dictionary: list(Kind::Dictionary, given),
        stop_words: list(Kind::StopWords, given),
    };
    let sets = Named { model: None, ..named.clone() };
    let mut of_sets = Simhasher::with(recipe(&config), sets, &mut || ()).unwrap();
    let near = near_recipe(&config);
    let of_near =
        Named { model: named.model.clone().filter(|_| near.model.is_some()), ..named.clone() };
    let of_near = Simhasher::with(near, of_near, &mut || ()).unwrap();
    let mut simhasher = Simhasher::with(config, named, &mut || ()).unwrap();
    let nothing = &mut || ();
    let features = simhasher.features::<u64>(text, usize::MAX, nothing).unwrap();
    let [mut narrow, mut wide, mut quad] = [64, 128, 256].map(MinHasher::new);
    let mut vector = json!({
        "text": text,
        "config": given["config"],
        "normalized": simhasher.normalize(text, nothing),
        "tokens": simhasher.tokens(text, nothing),
        "weights": features.iter().map(|feature| feature.weight).collect::<Vec<_>>(),
        "simhash": simhasher.fingerprint::<u64>(text, nothing).map(to_hex),
        "simhash128": simhasher.fingerprint::<u128>(text, nothing).map(to_hex),
        "simhash256": simhasher.fingerprint::<B256>(text, nothing).map(to_hex),
        "minhash64": narrow.text_fingerprint::<u64>(&mut of_sets, text, nothing).map(to_hex),
        "minhash128": wide.text_fingerprint::<u128>(&mut of_sets, text, nothing).map(to_hex),
        "minhash256": quad.text_fingerprint::<B256>(&mut of_sets, text, nothing).map(to_hex),
    });
    for kind in Kind::ALL {
        if let Some(words) = given.get(kind.name()) {
            vector[kind.name()] = words.clone();
        }
    }
    let sketch = Sketcher::new(of_near).sketch(text, nothing);
    for similarity in [0.3, 0.5, 0.9] {
        vector["keys"][similarity.to_string()] = json!(sketch.as_ref().map(|sketch| {
            let keys = sketch.keys(Layout::of(similarity).unwrap());
            let digits: String = keys.map(|key| format!("{:010x}", key >> 24)).collect();
            to_hex(feature_hash::<u64>(digits.as_bytes()))
        }));
    }
    vector
}

#[test]
fn golden_vectors() {
    let mut wrong = Vec::new();
    for line in include_str!("../golden.jsonl").lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let found = vector(&expected);
        if found != expected {
            wrong.push(found.to_string());
        }
    }
    assert!(wrong.is_empty(), "vectors that differ, as they are now:\n{}", wrong.join("\n"));
}
