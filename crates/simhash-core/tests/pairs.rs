//! Pairs of texts that a reader judged before the code was written: `tests/pairs` of the project.

use serde_json::{Value, json};
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::sketch::{Sketcher, near};
use simhash_core::{Config, Simhasher};

const SIMILARITY: f64 = 0.7;

/// Steps that a pair needs and the default lacks.
const STEPS: [&str; 3] = ["german", "confusables", "html"];

/// Pairs for which the answer is not the reader's. The manual describes each kind.
const SURPRISES: [(&str, &str); 17] = [
    ("cs-numbers-2", "the month is a word, 7.45 a time"),
    ("da-marks-1", "aa is no å"),
    ("de-numbers-5", "8 Uhr is 8:00, a day has no year"),
    ("en-code-2", "signs are no words: C++ and C# are both c"),
    ("en-code-6", "short, and four names in half of its lines are others: 0.59"),
    ("en-hyphens-4", "a line ends at a hyphen that belongs to the word"),
    ("en-numbers-13", "numbers are words: three thousand, five thousand"),
    ("es-numbers-2", "a time is words: las nueve y media"),
    ("fi-plain-4", "short, and four of its word pairs are others: 0.68"),
    ("fr-numbers-3", "14 h is 14h00"),
    ("hy-case-1", "a ligature has two spellings in capitals"),
    ("ja-numbers-2", "one hour is written in one character"),
    ("kk-marks-1", "letters of Kazakh that a Russian keyboard has not"),
    ("ko-korean-1", "endings are part of the word: 0.59"),
    ("ko-korean-5", "endings are part of the word: 0.66"),
    ("ko-numbers-2", "short, and 3 in the afternoon is 15:00: 0.59"),
    ("zh-numbers-3", "words of the numerals are others: 0.68"),
];

/// The config of a pair. `None` if it needs a model, which this test lacks.
fn config(pair: &Value) -> Option<Config> {
    let mut config = pair["config"].as_object().cloned().unwrap_or_default();
    let needs = pair["needs"].as_array().cloned().unwrap_or_default();
    let mut steps: Vec<String> =
        Config::default().normalize.iter().map(|step| step.name().to_owned()).collect();
    for need in needs.iter().filter_map(Value::as_str) {
        if !STEPS.contains(&need) {
            return None;
        }
        steps.push(need.to_owned());
    }
    // The tokenizer for code has its own steps.
    if config.get("tokenizer") != Some(&json!("code")) {
        config.insert("normalize".into(), json!(steps));
    }
    Some(Value::Object(config).to_string().parse().unwrap())
}

#[test]
fn pairs_are_near_or_not_as_a_reader_says() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("../../../tests/pairs/pairs.jsonl").lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let Some(config) = config(&pair) else { continue };
        count += 1;
        let simhasher = Simhasher::new(near_recipe(&config)).unwrap();
        let mut sketcher = Sketcher::new(simhasher);
        let mut sketch = |key: &str| sketcher.sketch(pair[key].as_str().unwrap(), &mut || ());
        let (a, b) = (sketch("a").unwrap(), sketch("b").unwrap());
        let is_near = near(&a, &b, SIMILARITY);
        if pair["same"] != is_near {
            let jaccard = a.set().jaccard(b.set()).unwrap();
            let id = pair["id"].as_str().unwrap().to_owned();
            println!("{id}: {} ({jaccard:.2})", if is_near { "near" } else { "not near" });
            wrong.push(id);
        }
    }
    println!("{} of {count} surprise", wrong.len());
    wrong.sort_unstable();
    assert_eq!(wrong, SURPRISES.map(|(id, _)| id));
}
