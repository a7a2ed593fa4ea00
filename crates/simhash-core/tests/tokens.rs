//! Tokens against UAX #29 and jieba themselves, and those of texts that people write.

mod common;

use proptest::prelude::*;
use simhash_core::han::is_han;
use simhash_core::tokenize::{MAX_HAN_RUN, MAX_WORD_RUN};
use simhash_core::{Config, Simhasher};
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
};
use unicode_segmentation::UnicodeSegmentation;

fn simhasher(config: &str) -> Simhasher {
    Simhasher::new(config.parse::<Config>().unwrap()).unwrap()
}

fn tokens(text: &str, config: &str) -> Vec<String> {
    simhasher(config).tokens(text, &mut || ())
}

fn is_white(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Separator
        || c.general_category() == GeneralCategory::Control
}

fn is_token(word: &str) -> bool {
    word.chars().any(|c| {
        let group = c.general_category_group();
        matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
            || !c.is_ascii() && c.is_emoji_char()
            || is_han(c)
    })
}

fn is_one_word(chars: [char; 3]) -> bool {
    String::from_iter(chars).split_word_bounds().count() == 1
}

/// A colon joins letters by UAX #29, and a comma joins numbers.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    Digit,
    Other,
}

fn kind(c: char) -> Kind {
    match (is_one_word([c, ':', 'a']), is_one_word([c, ',', '1'])) {
        (true, false) => Kind::Letter,
        (false, true) => Kind::Digit,
        _ => Kind::Other,
    }
}

/// Words by UAX #29, after a space was put between a letter, with its marks, and a digit, and in
/// place of every colon with its marks.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut last = Kind::Other;
    let mut chars = text.chars().peekable();
    let is_attached = |c| is_one_word(['!', c, c]);
    while let Some(c) = chars.next() {
        if matches!(c, ':' | '：' | '﹕' | '︓') {
            spaced.push(' ');
            last = Kind::Other;
            while chars.next_if(|&c| is_attached(c)).is_some() {}
            continue;
        }
        if !is_attached(c) {
            let this = kind(c);
            if matches!((last, this), (Kind::Letter, Kind::Digit) | (Kind::Digit, Kind::Letter)) {
                spaced.push(' ');
            }
            last = this;
        }
        spaced.push(c);
    }
    spaced
        .split(is_white)
        .flat_map(|part| part.split_word_bounds())
        .filter(|word| is_token(word))
        .map(str::to_owned)
        .collect()
}

/// The text after spaces between its letters and digits were put in or taken out.
fn respaced(text: &str, put_in: bool) -> String {
    let mut spaced = String::new();
    let mut last = Kind::Other;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = if c == ' ' { chars.peek().map_or(Kind::Other, |&c| kind(c)) } else { kind(c) };
        let meet =
            matches!((last, next), (Kind::Letter, Kind::Digit) | (Kind::Digit, Kind::Letter));
        match (c == ' ', meet, put_in) {
            (true, true, false) => continue,
            (false, true, true) => spaced.push(' '),
            _ => {}
        }
        spaced.push(c);
        last = if c == ' ' { Kind::Other } else { next };
    }
    spaced
}

/// The words of Han runs by jieba, and of what is between them by UAX #29.
fn auto_words(text: &str, jieba: &jieba_rs::Jieba) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_han(c) != is_han(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if is_han(first) {
            found.extend(jieba.cut(run, true).iter().map(|token| token.word.to_owned()));
        } else {
            found.extend(words(run));
        }
    }
    found
}

const RAW: &str = r#"{"tokenizer": "word", "normalize": []}"#;

proptest! {
    #![proptest_config(common::cases(2000))]

    #[test]
    fn words_are_those_of_uax_29(text in common::text()) {
        prop_assert_eq!(tokens(&text, RAW), words(&text));
    }

    #[test]
    fn ascii_words_are_those_of_uax_29(text in common::ascii_text()) {
        prop_assert_eq!(tokens(&text, RAW), words(&text));
    }

    #[test]
    fn auto_gives_han_to_jieba(texts in prop::collection::vec(common::text(), 8)) {
        let jieba = JIEBA.with(std::rc::Rc::clone);
        for text in texts {
            prop_assert_eq!(tokens(&text, r#"{"normalize": []}"#), auto_words(&text, &jieba));
        }
    }

    #[test]
    fn tokens_are_those_of_the_normalised_text(
        text in common::text(),
        config in prop::sample::select(CONFIGS),
    ) {
        let mut simhasher = simhasher(config);
        let normalized = simhasher.normalize(&text, &mut || ());
        let from_text = simhasher.tokens(&text, &mut || ());
        prop_assert_eq!(&simhasher.tokens(&normalized, &mut || ()), &from_text);
        for token in from_text {
            prop_assert!(!token.is_empty() && !token.contains(is_white), "{:?}", token);
        }
    }

    #[test]
    fn spaces_between_letters_and_digits_do_not_count(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        config in prop::sample::select(CONFIGS),
        shingle in 1..4,
    ) {
        let text = pieces.concat();
        let with_shingle = format!(r#"{{"shingle": {shingle}, "#);
        let config = config.replacen('{', &with_shingle, 1).replace(", }", "}");
        let mut simhasher = simhasher(&config);
        let mut fingerprint = |text: &str| simhasher.fingerprint::<u128>(text, &mut || ());
        let expected = fingerprint(&text);
        for put_in in [false, true] {
            let other = respaced(&text, put_in);
            prop_assert_eq!(fingerprint(&other), expected, "{:?} and {:?}", &text, other);
        }
    }

    #[test]
    fn characters_are_all_there(text in common::text()) {
        let characters = tokens(&text, r#"{"tokenizer": "char", "normalize": []}"#);
        let expected: String = text.chars().filter(|&c| !is_white(c)).collect();
        prop_assert_eq!(characters.concat(), expected);
    }
}

const PIECES: &[&str] = &[
    "iPhone", "15", " ", "Pro", "3.14", "2,5", ",", "000", "v2.0", "'", ".", ":", "：", "_", "-",
    "é", "e\u{301}", "7\u{301}", "华为", "Mate", "60", "١٢", "ж", "א", "한국", "ア", "Ⅷ", "²", "ß",
    "4S店", "MP3", "<b>", "x", "0",
];

thread_local! {
    static JIEBA: std::rc::Rc<jieba_rs::Jieba> = std::rc::Rc::new(jieba_rs::Jieba::new());
}

const CONFIGS: &[&str] = &[
    "{}",
    r#"{"tokenizer": "word"}"#,
    r#"{"tokenizer": "char"}"#,
    r#"{"tokenizer": "jieba"}"#,
    r#"{"stopwords": "auto"}"#,
    r#"{"normalize": ["html", "nfkc", "lower", "simplified", "punctuation", "space"]}"#,
    r#"{"normalize": ["space"]}"#,
    r#"{"normalize": ["nfkc"]}"#,
    r#"{"normalize": []}"#,
];

#[test]
fn examples() {
    for (text, config, expected) in [
        ("The cat sat on the mat.", "{}", "the|cat|sat|on|the|mat"),
        ("我来到北京清华大学", "{}", "我|来到|北京|清华大学"),
        ("PostgreSQL数据库很好用 v15", "{}", "postgresql|数据库|很|好|用|v|15"),
        ("iPhone15", "{}", "iphone|15"),
        ("iPhone 15", "{}", "iphone|15"),
        ("华为Mate60Pro", "{}", "华为|mate|60|pro"),
        ("华为 Mate 60 Pro", "{}", "华为|mate|60|pro"),
        ("2022WTT", "{}", "2022|wtt"),
        ("v2.0", "{}", "v|2.0"),
        ("v20", "{}", "v|20"),
        ("USB3.0", "{}", "usb|3.0"),
        ("USB 3.0", "{}", "usb|3.0"),
        ("usb30", "{}", "usb|30"),
        ("３．１４ 3.14. 1.2.3 1,000 1;2", "{}", "3.14|3.14|1.2.3|1000|1|2"),
        ("1,5 1，2，3 12,345 6'10", "{}", "1|5|1|2|3|12345|6|10"),
        ("iOS：Android", "{}", "ios|android"),
        ("iOS:Android", r#"{"normalize": []}"#, "iOS|Android"),
        ("a1:b2c", r#"{"tokenizer": "word", "normalize": []}"#, "a|1|b|2|c"),
        ("萬國碼，Unicode！", "{}", "万国|码|unicode"),
        ("the cat and 我们的猫", r#"{"stopwords": "auto"}"#, "cat|猫"),
        ("the cat and 我们的猫", r#"{"stopwords": "en"}"#, "cat|我们|的|猫"),
        ("the cat and 我们的猫", r#"{"stopwords": "zh"}"#, "the|cat|and|猫"),
        ("don't can't", r#"{"stopwords": "en"}"#, ""),
        ("a cat and I", r#"{"stopwords": "en"}"#, "cat"),
        ("an Audi A4 and a Core i 5", r#"{"stopwords": "en"}"#, "audi|a|4|core|i|5"),
        ("5G手机", r#"{"stopwords": "zh"}"#, "5|g|手机"),
        ("iPhone5 vitamin B12", r#"{"stopwords": "auto"}"#, "iphone|5|vitamin|b|12"),
        ("½ cup", "{}", "1|2|cup"),
        ("你好 ok", r#"{"tokenizer": "char"}"#, "你|好|o|k"),
        ("e\u{301}a 👍🏽🇨🇳", r#"{"tokenizer": "char", "normalize": []}"#, "e\u{301}|a|👍🏽|🇨🇳"),
        ("我来到北京", r#"{"tokenizer": "word"}"#, "我|来|到|北|京"),
        ("hi 😀😀 👍🏽 🇨🇳!", "{}", "hi|😀|😀|👍🏽|🇨🇳"),
        ("3.14 is π", r#"{"normalize": []}"#, "3.14|is|π"),
        ("C++与S店", r#"{"tokenizer": "jieba", "normalize": []}"#, "C++|与|S|店"),
        ("Mate60Pro 3.14", r#"{"tokenizer": "jieba"}"#, "mate|60|pro|3.14"),
        ("... !!", "{}", ""),
    ] {
        assert_eq!(tokens(text, config).join("|"), expected, "{text:?} {config}");
    }
}

#[test]
fn a_word_of_a_million_characters_is_one_token() {
    let word = "x".repeat(1_000_000);
    for tokenizer in ["auto", "word"] {
        assert_eq!(tokens(&word, &format!(r#"{{"tokenizer": "{tokenizer}"}}"#)), [&word[..]]);
    }
    let word = "ж".repeat(1_000_000);
    assert_eq!(tokens(&word, "{}"), [&word[..]]);
}

#[test]
fn endless_runs_are_cut() {
    let lengths = |text: &str| tokens(text, "{}").iter().map(String::len).collect::<Vec<_>>();
    assert_eq!(lengths(&"x".repeat(MAX_WORD_RUN + 3)), [MAX_WORD_RUN, 3]);
    assert_eq!(lengths(&"ж".repeat(MAX_WORD_RUN / 2 + 3)), [MAX_WORD_RUN, 6]);
    // A word that straddles the cut is cut: one 国, then 中国 at every second place.
    let text = format!("国{}", "中国".repeat(MAX_HAN_RUN / 2));
    let found = tokens(&text, "{}");
    assert_eq!(found.concat(), text);
    let cut: usize =
        found.iter().take_while(|token| *token != "中").map(|token| token.chars().count()).sum();
    assert_eq!(cut, MAX_HAN_RUN - 1);
}

#[test]
fn large_texts_take_linear_time_and_check_for_interruption() {
    for unit in common::UNITS {
        let text = unit.repeat((1 << 20) / unit.len());
        for config in CONFIGS {
            let mut checks = 0;
            simhasher(config).fingerprint::<u64>(&text, &mut || checks += 1);
            // One word without end is read at gigabytes a second.
            assert!(checks >= 2, "{unit:?} {config}: {checks} checks over 1 MB");
        }
    }
}
