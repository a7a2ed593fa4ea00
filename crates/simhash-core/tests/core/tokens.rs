//! Tokens compared with UAX #29, jieba and ICU4X themselves, and tokens of natural texts.

use icu_segmenter::WordSegmenter;
use proptest::prelude::*;
use simhash_core::texts::han::is_han;
use simhash_core::words::segment::MAX_KANJI_RUN;
use simhash_core::words::tokenize::{MAX_HAN_RUN, MAX_WORD_RUN};
use simhash_core::{Config, Simhasher};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
};
use unicode_segmentation::UnicodeSegmentation;

use super::common;

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
            || !c.is_ascii() && !"©®™".contains(c) && c.is_emoji_char()
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

/// Words by UAX #29, after a space is put between a letter, with its marks, and a digit, and in
/// place of each colon with its marks.
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

/// The text after spaces between its letters and digits are put in or taken out.
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

/// How characters are cut: by jieba, in one piece with hiragana, by ICU4X's dictionaries of
/// Southeast Asia, or by UAX #29.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    Han,
    Hiragana,
    Southeast,
    Other,
}

/// By the blocks of Unicode.
fn cut_by(c: char) -> By {
    let is_letter = !is_white(c)
        && !is_one_word(['!', c, c])
        && !matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Punctuation
                | GeneralCategoryGroup::Symbol
                | GeneralCategoryGroup::Number
                | GeneralCategoryGroup::Other
        );
    match c {
        _ if is_han(c) => By::Han,
        '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' => By::Hiragana,
        '\u{E01}'..='\u{EDF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17DD}' if is_letter => {
            By::Southeast
        }
        _ => By::Other,
    }
}

/// The runs of a text, each with the way in which it is cut. Marks belong to hiragana and letters
/// of Southeast Asia before them, and a prolonged sound mark belongs to hiragana before it.
fn runs(text: &str) -> Vec<(By, String)> {
    let mut runs: Vec<(By, String)> = Vec::new();
    for c in text.chars() {
        let mut by = cut_by(c);
        if let Some((last, run)) = runs.last_mut() {
            let marks_too = matches!(last, By::Hiragana | By::Southeast);
            if marks_too && is_one_word(['!', c, c]) || *last == By::Hiragana && c == 'ー' {
                by = *last;
            }
            if *last == by {
                run.push(c);
                continue;
            }
        }
        runs.push((by, c.to_string()));
    }
    // Han beside hiragana is Japanese, unless the run of Han is long.
    let is_kanji = |run: &str| run.chars().count() <= MAX_KANJI_RUN;
    let beside = |at: usize| runs.get(at).is_some_and(|(by, _)| *by == By::Hiragana);
    let mut joined: Vec<(By, String)> = Vec::new();
    for (at, (by, run)) in runs.iter().enumerate() {
        let japanese =
            *by == By::Han && is_kanji(run) && (beside(at + 1) || at > 0 && beside(at - 1));
        let by = if japanese { By::Hiragana } else { *by };
        match joined.last_mut() {
            Some((last, whole)) if *last == by && by == By::Hiragana => whole.push_str(run),
            _ => joined.push((by, run.clone())),
        }
    }
    joined
}

/// The words of a run by ICU4X. The vowel am, ho no and ho mo are spelt as in its dictionaries, and
/// a mark of length stays with the letter that it lengthens.
fn icu_words(run: &str) -> Vec<String> {
    const PARTS: [(&str, &str); 4] = [
        ("\u{E4D}\u{E32}", "\u{E33}"),
        ("\u{ECD}\u{EB2}", "\u{EB3}"),
        ("\u{EAB}\u{E99}", "\u{EDC}"),
        ("\u{EAB}\u{EA1}", "\u{EDD}"),
    ];
    let mut pieces: Vec<(&str, String)> = Vec::new();
    let mut rest = run;
    while let Some(c) = rest.chars().next() {
        let found = PARTS.iter().find(|(parts, _)| rest.starts_with(parts));
        let (piece, one) = found.map_or((&rest[..c.len_utf8()], c.to_string()), |(parts, one)| {
            (*parts, (*one).to_owned())
        });
        rest = &rest[piece.len()..];
        pieces.push((piece, one));
    }
    let whole: String = pieces.iter().map(|(_, one)| one.as_str()).collect();
    let ends: Vec<usize> =
        WordSegmenter::new_dictionary(Default::default()).segment_str(&whole).collect();
    let mut pieces = pieces.iter().map(|(piece, _)| *piece);
    let mut words: Vec<String> = Vec::new();
    for pair in ends.windows(2) {
        let length = whole[pair[0]..pair[1]].chars().count();
        let word: String = pieces.by_ref().take(length).collect();
        let first = word.chars().next().unwrap();
        match words.last_mut() {
            Some(last) if first == 'ー' || is_one_word(['!', first, first]) => {
                last.push_str(&word);
            }
            _ => words.push(word),
        }
    }
    words.retain(|word| is_token(word));
    words
}

/// The words of each run, cut in the run's way.
fn auto_words(text: &str, jieba: &jieba_rs::Jieba) -> Vec<String> {
    let cut = |(by, run): &(By, String)| match by {
        By::Han => jieba.cut(run, true).iter().map(|token| token.word.to_owned()).collect(),
        By::Hiragana | By::Southeast => icu_words(run),
        By::Other => words(run),
    };
    runs(text).iter().flat_map(cut).collect()
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
    fn auto_looks_words_up(texts in prop::collection::vec(common::text(), 8)) {
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
        // Vowel signs stay with their letters.
        ("हिन्दी กิน", r#"{"tokenizer": "jieba"}"#, "हि|न्|दी|กิ|น"),
        // Signs of trade marks are no emoji.
        ("Acme® Widget © 2026 👍", r#"{"tokenizer": "word"}"#, "acme|widget|2026|👍"),
        ("... !!", "{}", ""),
    ] {
        assert_eq!(tokens(text, config).join("|"), expected, "{text:?} {config}");
    }
}

/// The examples of ICU4X's tests and (for Thai) of ICU4C's, and others that ICU4C 78 cuts alike.
#[test]
fn words_are_found_where_no_space_parts_them() {
    for expected in [
        // Thai.
        "ภาษา|ไทย|ภาษา|ไทย",
        "โรง|พยาบาล",
        "น้ำตาล|ทราย",
        "ดำเนิน|การ",
        "ซอฟต์แวร์",
        "กรุงเทพมหานคร",
        "มหาวิทยาลัย|เชียงใหม่",
        "ข้าว|เหนียว|มะม่วง",
        "ตาม|ที่|กล่าว|มา|แล้ว",
        // Lao, Khmer, Burmese.
        "ພາສາ|ລາວ|ພາສາ|ລາວ",
        "ຊື່|ໜຶ່ງ|ຂອງ",
        "ភាសាខ្មែរ",
        "មាន|ពាក្យ|បញ្ជា",
        "မြန်မာ|စာ|မြန်မာ|စာ",
        // Japanese.
        "こんにちは|世界",
        "うなぎ|うなじ",
        "の|世界",
        "ภาษา|ไทย|こんにちは|世界",
    ] {
        let expected: Vec<String> = expected.split('|').map(|word| word.nfkc().collect()).collect();
        assert_eq!(tokens(&expected.concat(), "{}"), expected);
    }
}

#[test]
fn texts_without_spaces() {
    for (text, config, expected) in [
        // Verbs begin with Han and go on with hiragana. Katakana is one word, as by UAX #29.
        ("東京タワーに行きました", "{}", "东京|タワー|に|行き|まし|た"),
        // White space and punctuation separate nothing within a Japanese text, as within a Chinese
        // one.
        ("こん\nにちは、世\n界。", "{}", "こんにちは|世界"),
        ("コンピュータ サイエンス", "{}", "コンピュータ|サイエンス"),
        ("らーめん", r#"{"normalize": []}"#, "らー|めん"),
        ("か\u{3099}き", r#"{"normalize": []}"#, "か\u{3099}|き"),
        // A Chinese text with one Japanese word, and a Japanese run after a space.
        ("我买了優の良品", "{}", "我|买|了|优|の|良品"),
        ("北京 優の", r#"{"normalize": ["nfkc"]}"#, "北京|優|の"),
        // Spaces of Thai stay, digits are apart, and other spellings are alike.
        ("ภาษา ไทย2567", "{}", "ภาษา|ไทย|2567"),
        ("ภาษา\u{200B}ไทย", "{}", "ภาษา|ไทย"),
        ("ໜຶ່ງ ຫນຶ່ງ", "{}", "ຫນຶ່ງ|ຫນຶ່ງ"),
        ("abcไทยabc", "{}", "abc|ไทย|abc"),
        // Only `auto` finds words.
        ("ไทย です", r#"{"tokenizer": "word"}"#, "ไ|ท|ย|で|す"),
        ("ไทยです", r#"{"tokenizer": "char"}"#, "ไ|ท|ย|で|す"),
    ] {
        assert_eq!(tokens(text, config).join("|"), expected, "{text:?} {config}");
    }
}

#[test]
fn much_han_beside_hiragana_is_chinese() {
    // ICU4X's dictionary has 研究生命 as 研究生|命, jieba cuts 研究|生命.
    let begins = |han: usize| format!("{}研究生命の", "国".repeat(han - 4));
    let cut = |han: usize| tokens(&begins(han), "{}").iter().rev().nth(1).unwrap().clone();
    assert_eq!(cut(MAX_KANJI_RUN), "命");
    assert_eq!(cut(MAX_KANJI_RUN + 1), "生命");
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
    // A word across the cut is cut: one 国, then 中国 at every second place.
    let text = format!("国{}", "中国".repeat(MAX_HAN_RUN / 2));
    let found = tokens(&text, "{}");
    assert_eq!(found.concat(), text);
    let cut: usize =
        found.iter().take_while(|token| *token != "中").map(|token| token.chars().count()).sum();
    assert_eq!(cut, MAX_HAN_RUN - 1);
    // So is a word of Thai.
    let text = format!("ไป{}", "ภาษา".repeat(MAX_HAN_RUN / 4));
    let found = tokens(&text, "{}");
    assert_eq!(found.concat(), text);
    let cut: usize =
        found.iter().take_while(|token| *token != "ษา").map(|token| token.chars().count()).sum();
    assert_eq!(cut, MAX_HAN_RUN);
}

#[test]
fn large_texts_take_linear_time_and_check_for_interruption() {
    for unit in common::UNITS {
        let text = unit.repeat((1 << 20) / unit.len());
        for config in CONFIGS {
            let mut checks = 0;
            simhasher(config).fingerprint::<u64>(&text, &mut || checks += 1);
            // One word without end is read at gigabytes a second, so there are few checks.
            assert!(checks >= 2, "{unit:?} {config}: {checks} checks over 1 MB");
        }
    }
}
