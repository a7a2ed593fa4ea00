//! Tests of what users' dictionaries and lists of stop words do to tokens.

use std::sync::Arc;

use proptest::prelude::*;

use crate::base::interrupt::Interrupt;
use crate::config::{Config, StopWords};
use crate::words::cut::cut_without_own;
use crate::words::dictionary::dictionary;
use crate::words::lists::{Kind, MAX_CHARACTERS, MAX_WORDS, WordList, WordListError};
use crate::{Named, Simhasher};

fn list(kind: Kind, words: &[(&str, Option<i64>)]) -> Result<WordList, WordListError> {
    let words = words.iter().map(|&(word, frequency)| (word.to_owned(), frequency));
    WordList::new(kind, words, &mut || ())
}

fn words(kind: Kind, words: &[&str]) -> WordList {
    list(kind, &words.iter().map(|&word| (word, None)).collect::<Vec<_>>()).unwrap()
}

/// The tokens of a text, joined by |, under a config with the dictionary `d` and the stop words
/// `s`.
fn tokens(
    text: &str,
    config: &str,
    dictionary: Option<WordList>,
    stop_words: Option<WordList>,
) -> String {
    let named = Named {
        model: None,
        dictionary: dictionary.map(Arc::new),
        stop_words: stop_words.map(Arc::new),
    };
    let mut simhasher = Simhasher::with(config.parse().unwrap(), named, &mut || ()).unwrap();
    simhasher.tokens(text, &mut || ()).join("|")
}

const D: &str = r#"{"dictionary": "d"}"#;

#[track_caller]
fn cut(text: &str, config: &str, entries: &[(&str, Option<i64>)], expected: &str) {
    let dictionary = list(Kind::Dictionary, entries).unwrap();
    assert_eq!(tokens(text, config, Some(dictionary), None), expected);
}

#[test]
fn han_words_are_words_for_jieba() {
    let text = "他来到了网易杭研大厦";
    assert_eq!(tokens(text, r#"{"hmm": false}"#, None, None), "他|来到|了|网易|杭|研|大厦");
    cut(
        text,
        r#"{"dictionary": "d", "hmm": false}"#,
        &[("杭研", None)],
        "他|来到|了|网易|杭研|大厦",
    );
    cut(text, D, &[("网易杭研大厦", None)], "他|来到|了|网易杭研大厦");
    // Words are normalised as texts are: traditional characters, and a space that is dropped.
    cut("他來到了網易杭研大廈", D, &[("網易 杭研大廈", None)], "他|来到|了|网易杭研大厦");
    // Words compete by frequency: a rare word does not split a more probable one.
    cut("北京东路", D, &[("京东", None)], "北京|东路");
    cut("北京东路", D, &[("京东", Some(1_000_000_000))], "北|京东|路");
    // Frequency 0 removes a word, even one of jieba's own.
    cut("大厦很高", r#"{"dictionary": "d", "hmm": false}"#, &[("大厦", Some(0))], "大|厦|很|高");
    // Of entries that normalise to one word, the greater frequency counts.
    let twice = [("台中", Some(0)), ("臺中", Some(1_000_000_000))];
    cut(
        "「台中」正确应该不会被切开",
        r#"{"dictionary": "d", "hmm": false}"#,
        &twice,
        "台中|正确|应该|不会|被|切开",
    );
    cut(
        "「台中」正确应该不会被切开",
        r#"{"dictionary": "d", "hmm": false}"#,
        &[("台中", Some(0))],
        "台|中|正确|应该|不会|被|切开",
    );
}

#[test]
fn other_words_are_tokens_joined() {
    let words = [("New York", None), ("node js", None), ("5G", None), ("维生素C", None)];
    cut("I love New York's node.js and NEW-YORK", D, &words, "i|love|new|yorks|nodejs|and|newyork");
    cut("node js on 5g, 维生素c", D, &words, "nodejs|on|5g|维生素c");
    // Of the words that begin first, the longest is joined.
    let words = [("a b", None), ("a b c d", None), ("b c", None), ("c e", None)];
    cut("a b c e", D, &words, "ab|ce");
    cut("a b c d e", D, &words, "abcd|e");
    cut("a b a b c", D, &words, "ab|ab|c");
    cut("b a b", D, &words, "b|ab");
    cut("x b c a", D, &words, "x|bc|a");
    cut("a", D, &words, "a");
    // Kana, Hangul, and Han characters without words in jieba.
    cut(
        "東京タワーとこんにちは",
        D,
        &[("東京タワー", None), ("こんにちは", None)],
        "东京タワー|と|こんにちは",
    );
    cut("대한 민국 만세", D, &[("대한 민국", None)], "대한민국|만세");
    cut("佐々木と", D, &[("佐々木", None)], "佐々木|と");
    // The tokenizer `word` yields single Han characters, and every word of the list is joined.
    cut(
        "我爱石墨烯",
        r#"{"dictionary": "d", "tokenizer": "word"}"#,
        &[("石墨烯", None)],
        "我|爱|石墨烯",
    );
    // In text that ICU4X cuts, words of the list are found first: the earliest, and of these the
    // longest.
    let words = [("京都タワー", None), ("都に", None), ("府の", None), ("京都府", None)];
    cut(
        "東京都に行き、京都府の京都タワーを見た",
        D,
        &words,
        "东京|都に|行き|京都府|の|京都タワー|を|见|た",
    );
    cut("โพสต์เกรสไทย", D, &[("โพสต์เกรส", None)], "โพสต์เกรส|ไทย");
    cut("ไทย", D, &[("ไท", None), ("ไ", Some(0))], "ไท|ย");
    // A word is not found if it ends within a grapheme cluster.
    cut("ที่นี่", D, &[("ท", None)], "ที่|นี่");
    // A frequency of 0 joins nothing.
    cut("new york", D, &[("new york", Some(0)), ("x", None)], "new|york");
}

#[test]
fn stop_words_of_the_users_own() {
    let s = |words: &[&str]| Some(self::words(Kind::StopWords, words));
    let config = r#"{"stopwords": "s"}"#;
    assert_eq!(tokens("The 5 cats, of course", config, None, s(&["THE", "5"])), "cats|of|course");
    assert_eq!(tokens("我们的貓", config, None, s(&["我們", "的"])), "猫");
    // Joined tokens are compared in their joined form, without the space.
    let both = r#"{"stopwords": "s", "dictionary": "d"}"#;
    let d = words(Kind::Dictionary, &["of course"]);
    assert_eq!(tokens("cats of course", both, Some(d), s(&["of course"])), "cats");
    let char = r#"{"stopwords": "s", "tokenizer": "char", "normalize": []}"#;
    assert_eq!(tokens("a, b", char, None, s(&[","])), "a|b");
}

#[test]
fn names_need_their_lists() {
    let new = |config: &str| Simhasher::new(config.parse().unwrap()).err().unwrap().to_string();
    assert_eq!(new(D), "the words of dictionary \"d\" are needed");
    let config = r#"{"stopwords": "s"}"#;
    assert_eq!(new(config), "the words of list of stop words \"s\" are needed");
    assert_eq!(config.parse::<Config>().unwrap().stopwords, StopWords::Named("s".into()));
}

#[test]
fn a_list_is_known_by_its_content() {
    let a = list(Kind::Dictionary, &[("b", None), ("a", Some(3)), ("b", None)]).unwrap();
    let b = list(Kind::Dictionary, &[("a", Some(3)), ("b", None)]).unwrap();
    assert_eq!((a.len(), a.content_hash()), (2, b.content_hash()));
    // printf 'a\t3\nb\n' | sha256sum
    let expected = "5d58597949571c1bf03eef80082474db870713e93a75212c3743c2d8e4d64d1d";
    assert_eq!(a.content_hash(), expected);
    for (words, message) in [
        (&[][..], "a dictionary must contain at least one word"),
        (&[("a", None), ("", None)], "word 2 is empty"),
        (&[("a\tb", None)], "word 1 contains a control character"),
        (&[("++", None)], "\"++\" is not a word"),
        (&[("a", Some(-1))], "frequency -1 is out of range"),
        (&[("a", Some(1_000_000_001))], "frequency 1000000001 is out of range"),
        (&[("a", Some(1)), ("a", None)], "word \"a\" has two frequencies"),
    ] {
        assert_eq!(list(Kind::Dictionary, words).unwrap_err().message(), message);
    }
    let long = "长".repeat(MAX_CHARACTERS + 1);
    assert!(list(Kind::Dictionary, &[(&long, None)]).unwrap_err().message().contains("too long"));
    assert!(list(Kind::Dictionary, &[(&long[3..], None)]).is_ok());
    let many = || (0..=MAX_WORDS).map(|i| (i.to_string(), None));
    let error = WordList::new(Kind::StopWords, many(), &mut || ()).unwrap_err();
    assert_eq!(error, WordListError::TooLarge(Kind::StopWords));
    assert_eq!(error.message(), "too many words for one list of stop words");
    assert!(WordList::new(Kind::StopWords, many().skip(1), &mut || ()).is_ok());
}

/// The definition of joining by a dictionary, not optimised.
fn joined(tokens: &[&str], phrases: &[Vec<&str>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let longest = phrases.iter().filter(|p| p.len() > 1 && tokens[at..].starts_with(p));
        let length = longest.map(Vec::len).max().unwrap_or(1);
        found.push(tokens[at..at + length].concat());
        at += length;
    }
    found
}

proptest! {
    /// Without users' words, the cuts are those of jieba-rs.
    #[test]
    fn cuts_like_jieba(
        text in "[他来到了网易杭研大厦北京东路上海我的中国人民和国家生活Aa1+々 ]{0,40}|[\u{4e00}-\u{9fff}]{0,30}",
        hmm: bool,
    ) {
        let dictionary = dictionary(&Interrupt::new(&mut || ()));
        let expected: Vec<&str> = dictionary.cut(&text, hmm).iter().map(|t| t.word).collect();
        let mut found = Vec::new();
        cut_without_own(&text, hmm, &mut |word| found.push(word));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn joins_by_the_definition(
        text in prop::collection::vec("[a-c]", 0..30),
        phrases in prop::collection::vec(prop::collection::vec("[a-c]", 1..6), 1..6),
    ) {
        let spaced: Vec<String> = phrases.iter().map(|phrase| phrase.join(" ")).collect();
        let spaced: Vec<&str> = spaced.iter().map(String::as_str).collect();
        let text: Vec<&str> = text.iter().map(String::as_str).collect();
        let phrases: Vec<Vec<&str>> =
            phrases.iter().map(|p| p.iter().map(String::as_str).collect()).collect();
        let found = tokens(&text.join(" "), D, Some(words(Kind::Dictionary, &spaced)), None);
        prop_assert_eq!(found, joined(&text, &phrases).join("|"));
    }

    /// A dictionary changes only texts that hold one of its words.
    #[test]
    fn other_texts_stay_as_they_are(
        text in "[他来到了网易杭研大厦北京东路a ]{0,40}",
        word in "[他来到了网易杭研大厦北京东路]{2,4}",
        frequency in prop::option::of(0i64..=1_000_000_000),
    ) {
        let d = list(Kind::Dictionary, &[(&word, frequency), ("石墨烯", None)]).unwrap();
        let with = tokens(&text, D, Some(d), None);
        let normalized = crate::texts::normalize::normalize(&text, Default::default(), &mut || ());
        if !normalized.contains(&word) {
            prop_assert_eq!(&with, &tokens(&text, "{}", None, None));
        }
        // Only the cuts change, never the characters.
        prop_assert_eq!(with.replace('|', ""), normalized.replace(' ', ""));
    }
}

/// The texts of the proptests are random. These are real Chinese texts.
#[test]
fn cuts_laws_like_jieba() {
    for line in include_str!("../../tests/data/zh_laws.jsonl").lines().take(20) {
        for hmm in [false, true] {
            let expected: Vec<&str> = dictionary(&Interrupt::new(&mut || ()))
                .cut(line, hmm)
                .iter()
                .map(|t| t.word)
                .collect();
            let mut found = Vec::new();
            cut_without_own(line, hmm, &mut |word| found.push(word));
            assert!(found == expected);
        }
    }
}
