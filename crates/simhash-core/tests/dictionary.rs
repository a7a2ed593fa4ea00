//! Han characters load the dictionary, and nothing else does. This is one test, because a process
//! loads the dictionary only once.

use simhash_core::Simhasher;
use simhash_core::words::dictionary;

#[test]
fn only_han_text_loads_the_dictionary() {
    let fingerprint = |config: &str, text: &str| {
        let mut simhasher = Simhasher::new(config.parse().unwrap()).unwrap();
        simhasher.fingerprint::<u64>(text, &mut || ())
    };
    let texts = ["Привет 😀 hello", "ソース カタカナ", "한국어", "", "…，。"];
    for text in texts {
        for config in
            ["{}", r#"{"stopwords": "auto"}"#, r#"{"weight": "level"}"#, r#"{"tokenizer": "word"}"#]
        {
            fingerprint(config, text);
        }
    }
    for config in [r#"{"tokenizer": "word"}"#, r#"{"tokenizer": "char"}"#] {
        assert!(fingerprint(config, "萬國碼").is_some());
    }
    assert!(!dictionary::is_loaded());
    assert!(fingerprint("{}", "hello 世界").is_some());
    assert!(dictionary::is_loaded());
}
