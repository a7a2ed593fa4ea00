//! Unicode's own tests of normalisation, grapheme clusters and words. Their expected values are in
//! the files, so nothing here uses the crates that the code uses.

use simhash_core::config::{NormalizeStep, NormalizeSteps};
use simhash_core::texts::normalize::normalize;
use simhash_core::{Config, Simhasher};

const NORMALIZATION: &str = include_str!("../data/unicode/NormalizationTest.txt");
const GRAPHEMES: &str = include_str!("../data/unicode/GraphemeBreakTest.txt");
const WORDS: &str = include_str!("../data/unicode/WordBreakTest.txt");

fn tests(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter(|line| !line.starts_with(['#', '@']))
}

fn string(code_points: &str) -> String {
    let char = |hex: &str| char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap();
    code_points.split_whitespace().map(char).collect()
}

/// The texts between the boundaries of a line such as `÷ 0061 × 0308 ÷ 0062 ÷`.
fn segments(line: &str) -> Vec<String> {
    let parts = line.split('÷').map(|part| string(&part.replace('×', " ")));
    parts.filter(|part| !part.is_empty()).collect()
}

fn tokens(text: &str, config: &str) -> Vec<String> {
    Simhasher::new(config.parse::<Config>().unwrap()).unwrap().tokens(text, &mut || ())
}

/// All five forms of a line have the fourth as their NFKC.
#[test]
fn nfkc_is_that_of_unicode() {
    let nfkc: NormalizeSteps = [NormalizeStep::Nfkc].into_iter().collect();
    let mut count = 0;
    for line in tests(NORMALIZATION) {
        let forms: Vec<String> = line.split(';').map(string).collect();
        for form in &forms {
            assert_eq!(normalize(form, nfkc, &mut || ()), forms[3], "{line}");
        }
        count += forms.len();
    }
    assert!(count > 90_000, "{count}");
}

/// White space and controls separate tokens, and are none.
#[test]
fn characters_are_the_grapheme_clusters_of_unicode() {
    let parts = |c: char| c.is_whitespace() || c.is_control();
    let mut count = 0;
    for line in tests(GRAPHEMES) {
        let clusters = segments(line);
        let seen = clusters.iter().map(|cluster| cluster.trim_matches(parts));
        let seen: Vec<&str> = seen.filter(|cluster| !cluster.is_empty()).collect();
        let config = r#"{"tokenizer": "char", "normalize": []}"#;
        assert_eq!(tokens(&clusters.concat(), config), seen, "{line}");
        count += 1;
    }
    assert!(count > 700, "{count}");
}

/// A token is within one of Unicode's words. A word of only letters, or of only digits, is one
/// token.
#[test]
fn tokens_are_the_words_of_unicode() {
    let mut count = 0;
    for line in tests(WORDS) {
        let words = segments(line);
        let mut tokens = tokens(&words.concat(), r#"{"tokenizer": "word", "normalize": []}"#);
        tokens.reverse();
        for word in words {
            let mut of_word = Vec::new();
            let mut rest = word.as_str();
            while let Some(token) = tokens.last()
                && let Some(at) = rest.find(token.as_str())
            {
                rest = &rest[at + token.len()..];
                of_word.extend(tokens.pop());
            }
            let has = |test: fn(char) -> bool| word.chars().any(test);
            let (letters, digits) = (has(char::is_alphabetic), has(char::is_numeric));
            if letters != digits && !word.contains(':') {
                assert_eq!(of_word, [word], "{line}");
            }
        }
        assert!(tokens.is_empty(), "{tokens:?} of no word: {line}");
        count += 1;
    }
    assert!(count > 1_800, "{count}");
}
