//! Passages that texts have in common, compared with brute force over their tokens; and their
//! places in the original texts, compared with places written by hand.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;
use simhash_core::base::hash::feature_hash;
use simhash_core::passages::{self, Kept, Passage, Span, WORDS, Window, Winnower};
use simhash_core::words::lists::{Kind, WordList};
use simhash_core::{Config, Named, Simhasher};
use unicode_normalization::char::is_combining_mark;

use super::common;

fn simhasher(config: &str) -> Simhasher {
    Simhasher::new(config.parse().unwrap()).unwrap()
}

fn shared(simhasher: &mut Simhasher, texts: [&str; 2], words: usize) -> Vec<Passage> {
    let mut found = passages::shared(simhasher, texts, words, &mut || ());
    std::iter::from_fn(|| found.next(&mut || ())).collect()
}

fn substr(text: &str, span: Span) -> String {
    text.chars().skip(span.start as usize - 1).take(span.length as usize).collect()
}

/// The starts and lengths of the maximal common runs, by dynamic programming.
fn runs<T: PartialEq>(a: &[T], b: &[T], words: usize) -> Vec<(usize, usize, usize)> {
    // How many tokens are equal from each two places on.
    let mut lengths = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] = if a[i] == b[j] { lengths[i + 1][j + 1] + 1 } else { 0 };
        }
    }
    let mut runs = Vec::new();
    for i in 0..a.len() {
        for j in 0..b.len() {
            let goes_on = i > 0 && j > 0 && a[i - 1] == b[j - 1];
            if lengths[i][j] >= words && !goes_on {
                runs.push((i, j, lengths[i][j]));
            }
        }
    }
    runs
}

fn share_of(tokens: usize, runs: &[(usize, usize, usize)]) -> f64 {
    let covered: HashSet<usize> = runs.iter().flat_map(|&(i, _, l)| i..i + l).collect();
    if tokens == 0 { 0.0 } else { covered.len() as f64 / tokens as f64 }
}

/// A text of words, given by their numbers, and the place of each word, counted from 1.
fn written(numbers: &[usize]) -> (String, Vec<Span>) {
    const WRITTEN: [&str; 8] = ["a", "été", "ccc", "dddd", "Éte", "f", "ggg", "h"];
    const BETWEEN: [&str; 3] = [" ", ", ", " “ "];
    let (mut text, mut spans) = (String::from("— "), Vec::new());
    for (place, &number) in numbers.iter().enumerate() {
        let word = WRITTEN[number % WRITTEN.len()];
        let start = text.chars().count() as u32 + 1;
        spans.push(Span { start, length: word.chars().count() as u32 });
        text.push_str(word);
        text.push_str(BETWEEN[place % BETWEEN.len()]);
    }
    (text, spans)
}

fn check_numbers(a: &[usize], b: &[usize], words: usize) -> Result<(), TestCaseError> {
    // The fifth word is the second one, apart from case and marks.
    let folded = |numbers: &[usize]| -> Vec<usize> {
        numbers.iter().map(|&number| if number == 4 { 1 } else { number }).collect()
    };
    let [(text_a, spans_a), (text_b, spans_b)] = [a, b].map(written);
    let expected = runs(&folded(a), &folded(b), words);
    let texts = [text_a.as_str(), text_b.as_str()];
    let mut simhasher = simhasher("{}");
    let span = |spans: &[Span], first: usize, length: usize| {
        let (start, last) = (spans[first].start, spans[first + length - 1]);
        Span { start, length: last.start + last.length - start }
    };
    let spans: Vec<Passage> = expected
        .iter()
        .map(|&(i, j, length)| Passage {
            a: span(&spans_a, i, length),
            b: span(&spans_b, j, length),
            words: length as u32,
        })
        .collect();
    prop_assert_eq!(shared(&mut simhasher, texts, words), spans);
    let nothing = &mut || ();
    prop_assert_eq!(passages::shares(&mut simhasher, texts, words, nothing), !expected.is_empty());
    let share = passages::share(&mut simhasher, texts, words, nothing);
    prop_assert_eq!(share, share_of(a.len(), &expected));
    Ok(())
}

/// Numbers that repeat in many ways: random ones, periods, and pieces of the numbers before.
fn numbers(kinds: usize) -> impl Strategy<Value = Vec<usize>> {
    let random = prop::collection::vec(0..kinds, 0..60);
    let periodic = (prop::collection::vec(0..kinds, 1..6), 0usize..60)
        .prop_map(|(period, length)| period.into_iter().cycle().take(length).collect());
    let parts = prop::collection::vec(prop_oneof![random, periodic], 1..3);
    parts.prop_map(|parts: Vec<Vec<usize>>| parts.concat())
}

proptest! {
    #![proptest_config(common::cases(600))]

    #[test]
    fn runs_are_those_of_brute_force(
        (a, b) in (1usize..8).prop_flat_map(|kinds| (numbers(kinds), numbers(kinds))),
        words in 1usize..14,
    ) {
        check_numbers(&a, &b, words)?;
    }

    #[test]
    fn planted_runs_are_found(
        mut a in numbers(8),
        b in numbers(8),
        range in (0usize..60, 5usize..51),
        place in 0usize..60,
        words in 5usize..51,
    ) {
        let start = range.0.min(b.len());
        let end = (start + range.1).min(b.len());
        let place = place.min(a.len());
        a.splice(place..place, b[start..end].iter().copied());
        check_numbers(&a, &b, words)?;
    }
}

#[test]
fn sequences_that_repeat_as_much_as_can_be() {
    let mut fibonacci = vec![vec![0], vec![0, 1]];
    for n in 2..11 {
        fibonacci.push([fibonacci[n - 1].clone(), fibonacci[n - 2].clone()].concat());
    }
    let thue_morse: Vec<usize> = (0..128u32).map(|n| n.count_ones() as usize % 2).collect();
    let equal = vec![0; 100];
    let sequences = [&fibonacci[10], &thue_morse, &equal];
    for a in sequences {
        for b in sequences {
            for words in [1, 5, 25, 50] {
                check_numbers(a, b, words).unwrap();
            }
        }
    }
}

#[test]
fn texts_without_enough_tokens_share_nothing() {
    let mut simhasher = simhasher("{}");
    for texts in [["", ""], ["...", "a b"], ["a b", ""], ["a b", "a b"]] {
        assert_eq!(shared(&mut simhasher, texts, 3), []);
        assert!(!passages::shares(&mut simhasher, texts, 3, &mut || ()));
        assert_eq!(passages::share(&mut simhasher, texts, 3, &mut || ()), 0.0);
    }
}

/// A text that is much shorter than the other: with a word too few, and with just enough.
#[test]
fn a_short_text_in_a_long_one() {
    let mut simhasher = simhasher("{}");
    let long = format!("{} a b c d e f g h {}", "x y ".repeat(500), "z ".repeat(500));
    for (short, tokens) in [("A b, c d e", 5), ("d e f g", 4), ("e g f h i", 5), ("", 0)] {
        let is_there = tokens >= 5 && long.contains("a b c d e") && short.starts_with('A');
        for (texts, whole) in [([short, &long], tokens), ([&long, short], 1508)] {
            let shares = passages::shares(&mut simhasher, texts, 5, &mut || ());
            let share = passages::share(&mut simhasher, texts, 5, &mut || ());
            assert_eq!(shares, is_there, "{texts:?}");
            let found = shared(&mut simhasher, texts, 5);
            assert_eq!(found.len(), usize::from(is_there), "{texts:?}");
            assert_eq!(share, if is_there { 5.0 / f64::from(whole) } else { 0.0 }, "{texts:?}");
        }
    }
}

fn sample(name: &str) -> Vec<String> {
    let path = format!("{}/tests/data/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(path).unwrap();
    let text = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["text"].as_str().unwrap().to_owned()
    };
    lines.lines().map(text).collect()
}

fn shortened(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

const CONFIGS: [&str; 4] = [
    "{}",
    r#"{"tokenizer": "char"}"#,
    r#"{"tokenizer": "word", "normalize": ["lower"], "stopwords": "auto"}"#,
    r#"{"tokenizer": "jieba", "hmm": false}"#,
];

/// Real texts, and texts in which a passage of another one was planted.
#[test]
fn real_texts_share_what_brute_force_finds() {
    for name in ["en_licenses", "zh_laws"] {
        let texts: Vec<String> = sample(name).iter().map(|text| shortened(text, 1500)).collect();
        for (place, pair) in texts.windows(2).enumerate().take(16) {
            let [a, b] = pair else { continue };
            let config = CONFIGS[place % CONFIGS.len()];
            let mut simhasher = simhasher(config);
            let at = a.char_indices().nth(100 + place * 31).map_or(0, |(at, _)| at);
            let passage: String = b.chars().skip(place * 17).take(200).collect();
            let planted = format!("{}{passage}{}", &a[..at], &a[at..]);
            for a in [a, &planted] {
                let [of_a, of_b] = [a, b].map(|text| simhasher.tokens(text, &mut || ()));
                for words in [5, 8, 25, 50] {
                    let expected = runs(&of_a, &of_b, words);
                    let found = shared(&mut simhasher, [a, b], words);
                    let lengths: Vec<usize> = found.iter().map(|p| p.words as usize).collect();
                    let expected_lengths: Vec<usize> = expected.iter().map(|run| run.2).collect();
                    assert_eq!(lengths, expected_lengths, "{config} {a} {b}");
                    check_cuts(&mut simhasher, [a, b], &found, &expected, &of_a);
                    let share = passages::share(&mut simhasher, [a, b], words, &mut || ());
                    assert_eq!(share, share_of(of_a.len(), &expected));
                }
            }
        }
    }
}

/// If tokens do not depend on their neighbours, the text of a passage has the tokens of its run.
fn check_cuts(
    simhasher: &mut Simhasher,
    [a, b]: [&str; 2],
    found: &[Passage],
    expected: &[(usize, usize, usize)],
    tokens: &[String],
) {
    if !CONFIGS[1..3].contains(&simhasher.config().to_string().as_str()) {
        return;
    }
    for (passage, &(i, _, length)) in found.iter().zip(expected) {
        for cut in [substr(a, passage.a), substr(b, passage.b)] {
            assert_eq!(simhasher.tokens(&cut, &mut || ()), &tokens[i..i + length]);
            assert!(!cut.starts_with(char::is_whitespace) && !cut.ends_with(char::is_whitespace));
        }
    }
}

/// The part of `text` that is the first passage equal to all of `other`.
fn whole(simhasher: &mut Simhasher, text: &str, other: &str) -> Option<String> {
    let words = simhasher.tokens(other, &mut || ()).len();
    let found = shared(simhasher, [text, other], words);
    Some(substr(text, found.first()?.a))
}

const HTML: &str = r#"{"normalize": ["html", "nfkc", "lower", "punctuation", "space"]}"#;
const CODE: &str = r#"{"tokenizer": "code", "comments": "keep"}"#;

/// A configuration, a text, a part of it in normalised form, and that part in the text.
const CASES: &[[&str; 4]] = &[
    ["{}", "x Hello,  World! y", "hello world", "Hello,  World"],
    ["{}", "x ＨＥＬＬＯ　ｗｏｒｌｄ y", "hello world", "ＨＥＬＬＯ　ｗｏｒｌｄ"],
    ["{}", "a ﬁne ﬂow b", "fine flow", "ﬁne ﬂow"],
    ["{}", "x (Straße) y", "strasse", "Straße"],
    ["{}", "x cafe\u{301} y", "cafe", "cafe\u{301}"],
    ["{}", "x e\u{301}te\u{301}, y", "ete", "e\u{301}te\u{301}"],
    ["{}", "x ½ y", "1 2", "½"],
    ["{}", "x ½ y", "2", "½"],
    ["{}", "x ㍿ y", "株式会社", "㍿"],
    ["{}", "x inter-\n  national law y", "international law", "inter-\n  national law"],
    ["{}", "x inter\u{AD}national\u{AD} y", "international", "inter\u{AD}national"],
    ["{}", "x don't snake_case y", "dont snakecase", "don't snake_case"],
    ["{}", "pay 1,000 3.14 6'10 now", "1000 3.14 6 10", "1,000 3.14 6'10"],
    ["{}", "pay 6'10, 1,5 now", "10 1", "10, 1"],
    ["{}", "pay 1,00,000 now", "1 00000", "1,00,000"],
    ["{}", "in ٣٫١٤ now", "3.14", "٣٫١٤"],
    ["{}", "iPhone15 x", "15", "15"],
    ["{}", "x iOS：Android y", "android", "Android"],
    ["{}", "（萬國\n碼）。", "万国码", "萬國\n碼"],
    ["{}", "他说：“你好，世界！”。", "世界", "世界"],
    ["{}", "東京タワーの世界", "世界", "世界"],
    ["{}", "x น้ำตาลทราย y", "ทราย", "ทราย"],
    ["{}", "x が\u{3099}か\u{3099}い y", "がい", "か\u{3099}い"],
    ["{}", "👩\u{200D}💻 hi", "hi", "hi"],
    ["{}", "x \u{1161}y (\u{1161}z", "\u{1161}z", "\u{1161}z"],
    ["{}", "see data:image/png;base64,iVBORw0KGgo= the end", "see the", SEE],
    ["{}", "un CAFÃ‰ â€œnoirâ€\u{9d} ici", "cafe noir", "CAFÃ‰ â€œnoir"],
    ["{}", "x dÃƒÂ©jÃƒÂ\u{A0} vu", "deja vu", "dÃƒÂ©jÃƒÂ\u{A0} vu"],
    ["{}", "x \u{200B}a\u{200B}b\u{200B} y", "ab", "a\u{200B}b"],
    [r#"{"normalize": ["german", "lower"]}"#, "x Ärger y", "aerger", "Ärger"],
    [r#"{"normalize": ["confusables"]}"#, "x ρаypаl y", "paypal", "ρаypаl"],
    [r#"{"normalize": []}"#, "x Ab  c\u{301}d y", "Ab c\u{301}d", "Ab  c\u{301}d"],
    [r#"{"tokenizer": "char"}"#, "x, é3.1４", "é3.14", "é3.1４"],
    [r#"{"tokenizer": "char", "normalize": []}"#, "xe\u{301}\r\n, y", "e\u{301},", EACUTE],
    [r#"{"tokenizer": "word"}"#, "x 中文, y", "中文", "中文"],
    [r#"{"tokenizer": "jieba"}"#, "x 我来到北京！ y", "来到 北京", "来到北京"],
    [r#"{"stopwords": "en"}"#, "x cat and the Dog y", "cat dog", "cat and the Dog"],
    [HTML, "<p>Hello <b>w<i>or</i>ld</b></p>x", "hello world", "Hello <b>w<i>or</i>ld"],
    [HTML, "x<br>caf&eacute; &amp; bar</b> y", "café bar", "caf&eacute; &amp; bar"],
    [HTML, "<a title='&eacute;t'>x</a> &Eacute;t&#xE9;!", "été", "&Eacute;t&#xE9;"],
    [HTML, "x &notit; y &foo&bar z", "it y foo bar", "it; y &foo&bar"],
    [HTML, "<script>a b c</script>\r\nd\r\n&#49;e&#x31 f", "d 1 e 1 f", HTML_LINES],
    [HTML, "<!-- a b -->a</ >b<style>c</style>", "ab", "a</ >b"],
    [HTML, "<title>a &lt; b</title> c", "a b c", "a &lt; b</title> c"],
    [HTML, "x \0 &#0; y<p", "x y", "x \0 &#0; y"],
    [CODE, "\u{FEFF}x = parseHTTPHeader(y)", "HTTPHeader(", "HTTPHeader("],
    [CODE, "f(\"It\\n'sÄHere\") // näherName\n", "it_s_ä_here", "It\\n'sÄHere"],
    [CODE, "f(); // Näher_dranBleiben, ok\n", "Näher_dran", "Näher_dran"],
    [CODE, "größeDerXMLDatei = 1", "XML Datei =", "XMLDatei ="],
];

#[test]
fn places_are_those_of_the_original() {
    let mut wrong = Vec::new();
    for &[config, text, other, expected] in CASES {
        let found = whole(&mut simhasher(config), text, other);
        if found.as_deref() != Some(expected) {
            wrong.push(format!("{other:?} in {text:?} by {config}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const SEE: &str = "see data:image/png;base64,iVBORw0KGgo= the";
const EACUTE: &str = "e\u{301}\r\n,";
const HTML_LINES: &str = "d\r\n&#49;e&#x31 f";

#[test]
fn words_of_a_dictionary_stand_where_their_parts_do() {
    let words = [("New York City", None), ("石墨烯", None)];
    let words = words.map(|(word, frequency)| (word.to_owned(), frequency));
    let list = WordList::new(Kind::Dictionary, words, &mut || ()).unwrap();
    let named = Named { dictionary: Some(list.into()), ..Named::default() };
    let config: Config = r#"{"dictionary": "d"}"#.parse().unwrap();
    let mut simhasher = Simhasher::with(config, named, &mut || ()).unwrap();
    for (text, other, expected) in [
        ("in New\n York, City! new york", "new york city", "New\n York, City"),
        ("in New York: City Hall", "new york city", "New York: City"),
        ("in New York new york city", "York new york city", "York new york city"),
        ("用石墨烯做", "石墨烯", "石墨烯"),
    ] {
        let tokens = simhasher.tokens(other, &mut || ());
        let found = shared(&mut simhasher, [text, other], tokens.len());
        let found: Vec<String> = found.iter().map(|p| substr(text, p.a)).collect();
        assert!(found.contains(&expected.to_owned()), "{other} in {text}: {found:?}");
    }
}

proptest! {
    #![proptest_config(common::cases(2000))]

    #[test]
    fn places_are_exact(
        text in common::text(),
        config in prop::sample::select(vec![
            "{}",
            r#"{"tokenizer": "word"}"#,
            r#"{"tokenizer": "char"}"#,
            NO_SPACE,
            r#"{"tokenizer": "word", "normalize": []}"#,
            r#"{"tokenizer": "char", "normalize": ["html", "german", "space"]}"#,
        ]),
    ) {
        expect_exact_places(&text, config)?;
    }
}

const NO_SPACE: &str = r#"{"tokenizer": "word", "normalize": ["nfkc", "lower", "punctuation"]}"#;

/// A filler after a character that is no word is a token, and alone it is none.
#[test]
fn a_token_may_stand_on_a_character_that_is_none() {
    for text in ["\u{600}\u{FFA0}", "a \u{600}\u{FFA0}b", "\u{6DD}\u{3164}\u{301}"] {
        expect_exact_places(text, NO_SPACE).unwrap();
    }
}

/// The text from its first token to its last one has the same tokens. Without its first or its last
/// character, marks aside, it has others. If the first token begins with a filler, the character
/// before it is part of the text.
fn expect_exact_places(text: &str, config: &str) -> Result<(), TestCaseError> {
    let mut simhasher = simhasher(config);
    let tokens = simhasher.tokens(text, &mut || ());
    if tokens.is_empty() {
        return Ok(());
    }
    let found = shared(&mut simhasher, [text, text], tokens.len());
    prop_assert_eq!(found.len(), 1);
    let cut = substr(text, found[0].a);
    let before: Vec<char> = text.chars().take(found[0].a.start as usize - 1).collect();
    let mut whole = cut.clone();
    for &c in before.iter().rev() {
        if !whole.starts_with(is_filler) {
            break;
        }
        whole.insert(0, c);
    }
    prop_assert_eq!(&simhasher.tokens(&whole, &mut || ()), &tokens, "{:?}", whole);
    if config.contains("html") {
        // An entity that ends in a semicolon is an entity without it as well.
        return Ok(());
    }
    // A mark may be the rest of the character that it combines with.
    let mut rest = cut.chars();
    rest.next();
    if !rest.clone().next().is_some_and(is_combining_mark) {
        prop_assert_ne!(&simhasher.tokens(rest.as_str(), &mut || ()), &tokens, "{:?}", cut);
    }
    let shorter = &cut[..cut.char_indices().next_back().map_or(0, |(at, _)| at)];
    if !cut.ends_with(is_combining_mark) {
        prop_assert_ne!(&simhasher.tokens(shorter, &mut || ()), &tokens, "{:?}", cut);
    }
    Ok(())
}

/// The fillers of Hangul, which are ignorable letters, and attached to the character before them.
fn is_filler(c: char) -> bool {
    matches!(c, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}')
}

/// The runs of `k` tokens by their definition: a polynomial of the tokens' hashes modulo 2^61 - 1.
fn hashes_of_runs(tokens: &[u64], k: usize) -> Vec<u64> {
    const PRIME: u128 = (1 << 61) - 1;
    const BASE: u128 = 0x243f_6a88_85a3_08d3 >> 3;
    let polynomial = |run: &[u64]| {
        run.iter().fold(0, |sum, &token| (sum * BASE + u128::from(token)) % PRIME) as u64
    };
    let mixed = |mut hash: u64| {
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            hash ^= hash >> 33;
            hash = hash.wrapping_mul(factor);
        }
        hash ^ hash >> 33
    };
    tokens.windows(k).map(|run| mixed(polynomial(run))).collect()
}

fn winnowed(tokens: &[u64], window: Window) -> Vec<Kept> {
    let mut winnower = Winnower::new(window);
    let mut kept = Vec::new();
    tokens.iter().for_each(|&token| winnower.push(token, &mut |run| kept.push(run)));
    kept
}

proptest! {
    #![proptest_config(common::cases(500))]

    #[test]
    fn the_last_of_the_least_of_each_window_is_kept(
        numbers in numbers(8),
        words in prop_oneof![5usize..30, Just(60)],
    ) {
        let tokens: Vec<u64> = numbers.iter().map(|n| feature_hash(&n.to_le_bytes())).collect();
        let window = Window::of(words).unwrap();
        prop_assert_eq!(window.run() + window.width(), words + 1);
        let hashes = hashes_of_runs(&tokens, window.run());
        let mut expected: Vec<Kept> = Vec::new();
        for (start, hashes) in hashes.windows(window.width()).enumerate() {
            let (place, &hash) = hashes.iter().enumerate().rev().min_by_key(|(_, h)| **h).unwrap();
            let kept = Kept { hash, token: (start + place) as u32 };
            if expected.last() != Some(&kept) {
                expected.push(kept);
            }
        }
        prop_assert_eq!(winnowed(&tokens, window), expected);
    }

    /// This includes passages that are longer than those of the index.
    #[test]
    fn a_common_run_has_a_kept_hash_in_common(
        mut a in numbers(8),
        b in numbers(8),
        start in 0usize..60,
        place in 0usize..60,
        words in 5usize..40,
    ) {
        let start = start.min(b.len());
        let place = place.min(a.len());
        let passage = b[start..].iter().copied().take(words + place % 7);
        a.splice(place..place, passage.collect::<Vec<_>>());
        let window = Window::of(words).unwrap();
        let [of_a, of_b] = [&a, &b].map(|numbers| {
            let tokens: Vec<u64> = numbers.iter().map(|n| feature_hash(&n.to_le_bytes())).collect();
            winnowed(&tokens, window).iter().map(|kept| kept.hash).collect::<HashSet<u64>>()
        });
        if !runs(&a, &b, words).is_empty() {
            prop_assert!(!of_a.is_disjoint(&of_b));
        }
    }
}

#[test]
fn windows_span_the_words_of_a_passage() {
    for words in WORDS {
        let window = Window::of(words).unwrap();
        assert_eq!(window.words(), words);
        assert!(window.run() >= 3 && window.width() >= 3);
    }
    assert_eq!([WORDS.start() - 1, WORDS.end() + 1].map(Window::of), [None; 2]);
}

#[test]
fn kept_hashes_of_texts_are_distinct_and_stand_where_they_say() {
    let texts = sample("en_licenses");
    let mut simhasher = simhasher("{}");
    let window = Window::of(25).unwrap();
    let mut winnower = Winnower::new(window);
    for text in &texts {
        let kept = passages::kept(&mut simhasher, &mut winnower, text, &mut || ());
        assert!(kept.is_sorted_by(|a, b| a.hash < b.hash));
        let tokens = simhasher.tokens(text, &mut || ());
        assert_eq!(kept.is_empty(), tokens.len() < 25);
        let tokens: Vec<u64> = tokens.iter().map(|token| feature_hash(token.as_bytes())).collect();
        let hashes = hashes_of_runs(&tokens, window.run());
        let mut first: HashMap<u64, u32> = HashMap::new();
        for run in winnowed(&tokens, window) {
            assert_eq!(hashes[run.token as usize], run.hash);
            first.entry(run.hash).or_insert(run.token);
        }
        let found: HashMap<u64, u32> = kept.iter().map(|run| (run.hash, run.token)).collect();
        assert_eq!(found, first);
    }
}

/// `golden.py` computes these too.
#[test]
fn golden_hashes() {
    let mut wrong = Vec::new();
    for line in include_str!("../golden_passages.jsonl").lines() {
        let given: Value = serde_json::from_str(line).unwrap();
        let words = given["words"].as_u64().unwrap() as usize;
        let mut simhasher = simhasher(&given["config"].to_string());
        let mut winnower = Winnower::new(Window::of(words).unwrap());
        let text = given["text"].as_str().unwrap();
        let kept = passages::kept(&mut simhasher, &mut winnower, text, &mut || ());
        let kept = kept.iter().map(|run| format!("{:016x} {}", run.hash, run.token));
        let kept = Value::from(kept.collect::<Vec<_>>());
        let tokens = Value::from(simhasher.tokens(text, &mut || ()));
        if given["kept"] != kept || given["tokens"] != tokens {
            wrong.push(format!("{text}: {tokens} {kept}"));
        }
    }
    assert!(wrong.is_empty(), "vectors that differ, as they are now:\n{}", wrong.join("\n"));
}

/// Calls `work`, which must check for interrupts often, and end within a minute even without
/// optimisation and beside other tests.
fn quick<T>(what: &str, work: impl FnOnce(&mut dyn FnMut()) -> T) -> T {
    let start = Instant::now();
    let mut checks = 0;
    let result = work(&mut || checks += 1);
    println!("{what}: {:?}, {checks} checks", start.elapsed());
    assert!(checks > 100, "{what}: {checks} checks");
    assert!(start.elapsed() < Duration::from_secs(60), "{what}: {:?}", start.elapsed());
    result
}

#[test]
fn a_million_equal_words() {
    let text = "no ".repeat(1_000_000);
    let texts = [text.as_str(), &text];
    let mut simhasher = simhasher("{}");
    assert!(quick("shares", |i| passages::shares(&mut simhasher, texts, 25, i)));
    assert_eq!(quick("share", |i| passages::share(&mut simhasher, texts, 25, i)), 1.0);
    let found = quick("shared", |interrupt| {
        let mut found = passages::shared(&mut simhasher, texts, 25, interrupt);
        let mut count = 0;
        while let Some(passage) = found.next(interrupt) {
            // Each begins at the start of one text, and ends at the end of one.
            assert!(passage.a.start == 1 || passage.b.start == 1);
            let late = passage.a.start.max(passage.b.start);
            assert_eq!(passage.words, 1_000_000 - late / 3);
            count += 1;
        }
        count
    });
    // One of each length from 25 on, on either side.
    assert_eq!(found, 2 * (1_000_000 - 24) - 1);
}

#[test]
fn twenty_megabytes_of_a_period() {
    let period = "the quick brown fox jumps over the lazy dog and runs away, ";
    let [a, b] = [20_000_000, 200_000].map(|bytes| period.repeat(bytes / period.len()));
    let mut simhasher = simhasher("{}");
    assert!(quick("shares", |i| passages::shares(&mut simhasher, [&a, &b], 1000, i)));
    assert_eq!(quick("share", |i| passages::share(&mut simhasher, [&a, &b], 1000, i)), 1.0);
    let rest = " something else";
    let copies: usize = quick("shared", |interrupt| {
        let b = format!("{b}{rest}");
        let mut found = passages::shared(&mut simhasher, [&a, &b], 30_000, interrupt);
        std::iter::from_fn(|| found.next(interrupt)).count()
    });
    // The number of periods by which one text is shifted against the other. A period is twelve
    // words.
    let (of_a, of_b) = (a.len() / period.len(), b.len() / period.len());
    let needed = 30_000 / 12;
    assert_eq!(copies, of_a - needed + of_b - needed + 1);
}

#[test]
fn boilerplate_that_stands_hundreds_of_times() {
    let sentence = "this notice must stand in every copy of the software or of parts of it";
    let text = |name: &str| -> String {
        let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
        (0..500).map(|n| format!("{sentence} {name}{}{} ", letter(n), letter(n / 26))).collect()
    };
    let mut simhasher = simhasher("{}");
    let texts = [text("a"), text("b")];
    let texts = [texts[0].as_str(), &texts[1]];
    let found = shared(&mut simhasher, texts, 10);
    assert_eq!(found.len(), 500 * 500);
    assert!(found.is_sorted_by_key(|passage| (passage.a.start, passage.b.start)));
    assert!(found.iter().all(|passage| substr_is(texts[0], passage.a, sentence)));
}

fn substr_is(text: &str, span: Span, expected: &str) -> bool {
    // The text is ASCII.
    let start = span.start as usize - 1;
    text[start..].starts_with(expected) && span.length as usize == expected.len()
}
