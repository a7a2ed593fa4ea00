//! Sound inputs of each target, with which fuzzing begins.

use simhash_core::Config;
use simhash_core::models::train::Trainer;

/// The targets with their seeds.
pub fn seeds() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let lines = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    vec![
        ("config", lines(CONFIGS)),
        ("fingerprint", lines(FINGERPRINTS)),
        ("model", models()),
        ("pages", (0..=u8::MAX).flat_map(pages).collect()),
        ("text", lines(TEXTS)),
    ]
}

/// Inputs for an index of block tables and for one of postings, with a few damaged places.
fn pages(choice: u8) -> [Vec<u8>; 2] {
    [0, 128].map(|kind| vec![choice, kind + choice % 3, 2, 0, 5, 1, 9])
}

const CONFIGS: &[&str] = &[
    "{}",
    r#"{"tokenizer": "char", "shingle": [1, 3], "weight": "tf", "position": "lead"}"#,
    r#"{"normalize": ["nfkc", "casefold"], "stopwords": "auto", "hmm": false, "cap": 3}"#,
    r#"{"model": "news", "weight": "tfidf", "dictionary": "shop", "cap": "p90"}"#,
];

const FINGERPRINTS: &[&str] = &[
    "0123456789abcdef",
    "0x00ff00ff00ff00ff",
    "\\x0123456789abcdef0123456789ABCDEF",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
];

const TEXTS: &[&str] = &[
    "{}\nthe quick brown fox\0the quick red fox",
    "{\"shingle\": 2}\n床前明月光，疑是地上霜\0舉頭望明月",
    "{\"tokenizer\": \"char\", \"weight\": \"tf\"}\n<p>a&amp;b</p> e\u{301}\0a & b é",
    "{\"normalize\": [\"html\", \"nfkc\"]}\n<b>①</b> \u{1f468}\u{200d}\u{1f469}\0ﬁne",
];

/// Unfinished training, and a model.
fn models() -> Vec<Vec<u8>> {
    let none = &mut || ();
    let Ok(mut trainer) = Trainer::new(&Config::default()) else { return Vec::new() };
    for text in ["the quick brown fox", "a lazy dog", "the fox and the dog", "床前明月光"] {
        trainer.add(text, none).expect("few texts");
    }
    let unfinished = trainer.to_bytes(none);
    vec![unfinished, trainer.finish(None, none).as_bytes().to_vec()]
}
