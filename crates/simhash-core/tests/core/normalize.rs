//! Normalisation compared with a plain implementation of its definition, which applies each step to
//! the whole text.

use std::collections::HashMap;
use std::sync::LazyLock;

use caseless::Caseless;
use proptest::prelude::*;
use simhash_core::config::{NormalizeStep, NormalizeSteps};
use simhash_core::texts::han::is_han;
use simhash_core::texts::normalize::{MAX_BASE64, MAX_COMBINING_RUN, normalize};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfkc_quick,
};
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
};
use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

use super::common;

fn run(text: &str, steps: NormalizeSteps) -> String {
    normalize(text, steps, &mut || ())
}

fn default(text: &str) -> String {
    run(text, NormalizeSteps::default())
}

fn is_white(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Separator
        || c.general_category() == GeneralCategory::Control
}

fn is_mark(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Mark
}

fn is_punctuation(c: char) -> bool {
    let group = c.general_category_group();
    matches!(group, GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol)
        && (c.is_ascii() || "©®™".contains(c) || !c.is_emoji_char())
}

fn is_invisible(c: char) -> bool {
    run(&format!("a{c}a"), NormalizeSteps::NONE.with(NormalizeStep::Space)) == "aa"
}

fn is_of_marked_script(c: char) -> bool {
    use Script::{Arabic, Cyrillic, Greek, Hebrew, Latin};
    [Latin, Greek, Cyrillic, Arabic, Hebrew].contains(&c.script())
}

/// Whether a mark is dropped on letters of those scripts. Spacing marks are vowels of other
/// scripts.
fn is_loose(c: char) -> bool {
    is_mark(c)
        && c.general_category() != GeneralCategory::SpacingMark
        && (c.script() == Script::Inherited || is_of_marked_script(c))
}

fn without_marks(text: &str) -> String {
    let mut out = String::new();
    let mut base: Option<char> = None;
    for c in text.chars().filter(|&c| c != '\u{640}') {
        let loose = is_loose(c);
        base = if loose { base } else { Some(c) };
        let decomposed: Vec<char> = std::iter::once(c).nfd().collect();
        match base.is_some_and(is_of_marked_script) {
            true => decomposed.iter().filter(|&&c| !is_loose(c)).for_each(|&c| out += &plain(c)),
            false => out += &plain(c),
        }
    }
    out
}

/// A letter without its stroke, or in the one spelling for its variants:
/// `letters_that_marks_changes` lists them.
fn plain(c: char) -> String {
    run(&c.to_string(), NormalizeSteps::NONE.with(NormalizeStep::Marks))
}

/// The prototype by the data of UTS #39. With `lower`, i has the prototype of its capital form.
fn looks(c: char, lower: bool) -> Vec<char> {
    use GeneralCategoryGroup::{Letter, Number};
    let counts = matches!(c.general_category_group(), Letter | Number) && !is_han(c);
    match (c, counts) {
        ('i', _) if lower => vec!['l'],
        (_, true) => unicode_security::skeleton(&c.to_string()).collect(),
        (_, false) => vec![c],
    }
}

fn western(c: char) -> char {
    match c {
        '\u{66B}' => '.',
        '\u{66C}' => ',',
        _ if c.general_category() != GeneralCategory::DecimalNumber => c,
        // A run of digits starts only at a zero, and the zeros in it are at multiples of ten from
        // its start.
        _ => {
            let is_digit = |code: u32| {
                char::from_u32(code)
                    .is_some_and(|c| c.general_category() == GeneralCategory::DecimalNumber)
            };
            let mut start = c as u32;
            while start > 0 && is_digit(start - 1) {
                start -= 1;
            }
            char::from_digit((c as u32 - start) % 10, 10).unwrap()
        }
    }
}

fn simplified(c: char) -> char {
    static TABLE: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        hanconv::RawDictionary::TSCharacters
            .iter()
            .map(|(from, to)| (from.chars().next().unwrap(), to.chars().next().unwrap()))
            .collect()
    });
    let mut c = c;
    while let Some(&next) = TABLE.get(&c).filter(|&&next| next != c) {
        c = next;
    }
    c
}

fn map_characters(text: &str, steps: NormalizeSteps) -> String {
    let mut text = text.to_owned();
    loop {
        let mut next = text.clone();
        if steps.contains(NormalizeStep::Space) {
            next.retain(|c| !is_invisible(c));
        }
        if steps.contains(NormalizeStep::Confusables) {
            next =
                next.chars().flat_map(|c| looks(c, steps.contains(NormalizeStep::Lower))).collect();
        }
        if steps.contains(NormalizeStep::Nfkc) {
            next = next.nfkc().collect();
        }
        if steps.contains(NormalizeStep::German) {
            for (letter, plain) in ["äae", "öoe", "üue", "ÄAe", "ÖOe", "ÜUe", "ßss", "ẞSS"]
                .map(|pair| pair.split_at(2 + usize::from(pair.starts_with('ẞ'))))
            {
                next = next.replace(letter, plain);
            }
        }
        if steps.contains(NormalizeStep::Marks) {
            next = without_marks(&next);
        }
        if steps.contains(NormalizeStep::Lower) {
            next = next.replace(['ı', 'İ'], "i").chars().default_case_fold().collect();
        }
        if steps.contains(NormalizeStep::Simplified) {
            next = next.chars().map(simplified).collect();
        }
        if steps.contains(NormalizeStep::Digits) {
            next = next.chars().map(western).collect();
        }
        if next == text {
            return text;
        }
        text = next;
    }
}

fn composes(c: char) -> bool {
    is_mark(c)
        || canonical_combining_class(c) != 0
        || is_nfkc_quick(std::iter::once(c)) == IsNormalized::Maybe
}

/// Whether it is a symbol that UAX #29 counts as a letter or number, such as Ⓐ. When such a symbol
/// is dropped, it always separates words.
fn is_letter_like(c: char) -> bool {
    [format!("{c}:a"), format!("{c},1")].iter().any(|probe| probe.split_word_bounds().count() == 1)
}

fn is_digit(c: char) -> bool {
    format!("{c},1").split_word_bounds().count() == 1
}

/// Whether UAX #29 treats a character like the one before it.
fn is_attached(c: char) -> bool {
    format!("!{c}").split_word_bounds().count() == 1
}

/// Whether it is one of Emoji_Modifier. They are no marks, but extend the character before them.
fn is_skin_tone(c: char) -> bool {
    ('\u{1F3FB}'..='\u{1F3FF}').contains(&c)
}

/// Whether a character joins letters and digits by UAX #29, as the underscore does.
fn is_connector(c: &str) -> bool {
    format!("a{c}1").split_word_bounds().count() == 1
}

/// Whether UAX #29 counts it as a letter. Han characters are words by themselves.
fn is_letter(c: char) -> bool {
    format!("{c}:a").split_word_bounds().count() == 1 && !is_han(c)
}

/// Drops punctuation from a stretch without white space.
fn drop_punctuation(stretch: &str) -> String {
    let boundaries: Vec<usize> = stretch.split_word_bound_indices().map(|(at, _)| at).collect();
    let mut out = String::new();
    let mut on_nothing = true;
    // The base of the last kept cluster, and its end, where the punctuation after it starts.
    let mut last: Option<(char, usize)> = None;
    let (mut gap, mut parts) = (false, false);
    let mut dropped = String::new();
    for (at, c) in stretch.char_indices() {
        if is_punctuation(c) {
            gap = true;
            parts |= is_letter_like(c)
                || ":;\u{2044}".contains(&*c.to_string().nfkc().collect::<String>());
            dropped.push(c);
            on_nothing = true;
        } else if (is_mark(c) || is_invisible(c)) && on_nothing {
            // It is dropped with the punctuation before it.
            parts |= is_invisible(c);
        } else {
            if let (true, Some((base, end))) = (gap, last) {
                let mut parted =
                    boundaries.iter().any(|&boundary| boundary >= end && boundary <= at);
                let single = dropped.chars().count() == 1;
                let is_point = single && dropped.nfkc().eq(".".chars()) && !parts;
                if single && is_digit(base) && is_digit(c) && !is_connector(&dropped) {
                    let after = stretch[at..].chars().filter(|&c| !is_attached(c));
                    parted |= after.take_while(|&c| is_digit(c) && !is_punctuation(c)).count() != 3;
                }
                if is_point && is_digit(base) && is_digit(c) {
                    out.push_str(&dropped);
                } else if (parted || parts || composes(c) || is_skin_tone(c))
                    && !has_no_space(base, c)
                {
                    out.push(' ');
                }
            }
            out.push(c);
            on_nothing = false;
            (gap, parts) = (false, false);
            dropped.clear();
            let end = at + c.len_utf8();
            last = match last {
                Some((base, _)) if is_attached(c) => Some((base, end)),
                None if is_attached(c) => None,
                _ => Some((c, end)),
            };
        }
    }
    out
}

/// Whether no space belongs between two characters: one of them is Han, or both are hiragana.
fn has_no_space(before: char, after: char) -> bool {
    is_han(before) || is_han(after) || is_unspaced(before) && is_unspaced(after)
}

fn is_unspaced(c: char) -> bool {
    is_han(c) || matches!(c, '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}')
}

/// One space between words, but none between characters of Han or hiragana.
fn join_words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let mut before: Option<&str> = None;
    for word in words {
        if let Some(before) = before {
            let last = before.chars().rev().find(|&c| !is_attached(c));
            if !(last.is_some_and(is_unspaced) && word.starts_with(is_unspaced)) {
                out.push(' ');
            }
        }
        out.push_str(word);
        before = Some(word);
    }
    out
}

/// Joins the words that are broken by a hyphen at the end of a line.
fn join_lines(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let blanks = |at: usize| chars[at..].iter().take_while(|c| " \t\u{A0}".contains(**c)).count();
    let letter = |c: char| is_mark(c) || is_letter(c);
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let hyphen = "-\u{AD}\u{2010}\u{2011}\u{FE63}\u{FF0D}".contains(chars[at]);
        let end = at + 1 + blanks(at + 1);
        let crlf = chars[end..].starts_with(&['\r', '\n']);
        let rest = end + 1 + usize::from(crlf);
        if hyphen
            && at > 0
            && letter(chars[at - 1])
            && chars.get(end).is_some_and(|c| "\n\r\u{85}\u{2028}".contains(*c))
            && chars
                .get(rest + blanks(rest.min(chars.len())))
                .is_some_and(|c| c.general_category() == GeneralCategory::LowercaseLetter)
        {
            at = rest + blanks(rest);
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// The text that was misread as Windows-1252 or Latin-1, by a table of the former from its
/// definition.
fn reread(text: &str) -> Option<String> {
    const WINDOWS: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ";
    let byte = |c: char| match c as u32 {
        code @ ..256 => Some(code as u8),
        _ => WINDOWS.chars().position(|other| other == c).map(|at| at as u8 + 0x80),
    };
    let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
    let right = String::from_utf8(bytes?).ok()?;
    let odd = |c: char| {
        is_punctuation(c) || is_white(c) || c.general_category() == GeneralCategory::UppercaseLetter
    };
    let runs = text.split(|c: char| c.is_ascii()).filter(|run| !run.is_empty());
    let usual = |c: char| {
        c.general_category_group() != GeneralCategoryGroup::Other
            || ('\u{200B}'..='\u{200F}').contains(&c)
    };
    let odd_runs: Vec<bool> = runs.map(|run| run.chars().any(odd)).collect();
    let mut telling = false;
    let mut run = 0;
    let chars: Vec<char> = right.chars().collect();
    if chars.iter().any(|&c| !c.is_ascii() && !usual(c)) {
        return None;
    }
    for (at, &c) in chars.iter().enumerate().filter(|(_, c)| !c.is_ascii()) {
        let neighbour = |at: Option<usize>| at.and_then(|at| chars.get(at)).copied();
        let (before, after) = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
        let is_ascii = |c: Option<char>| c.is_none_or(|c| c.is_ascii());
        let small = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
        if is_ascii(after) {
            let alone = is_ascii(before);
            let sign =
                |c| matches!(c, '\u{80}'..='\u{BF}' | '\u{2000}'..='\u{213F}' | '\u{10000}'..);
            let by_itself =
                sign(c) || matches!(c, '\u{C0}'..='\u{FF}') && (small(before) || small(after));
            telling |= odd_runs[run] && (!alone || by_itself);
            run += 1;
        }
    }
    telling.then_some(right)
}

fn reference(text: &str, steps: NormalizeSteps) -> String {
    let mut text = text.to_owned();
    for _ in 0..if steps.contains(NormalizeStep::Mojibake) { 3 } else { 0 } {
        text = reread(&text).unwrap_or(text);
    }
    let text = &text;
    let joined =
        if steps.contains(NormalizeStep::Hyphens) { join_lines(text) } else { text.into() };
    let mut text = map_characters(&joined, steps);
    if steps.contains(NormalizeStep::Punctuation) {
        let mut out = String::new();
        for part in text.split_inclusive(is_white) {
            let white = part.chars().next_back().filter(|&c| is_white(c));
            let stretch = &part[..part.len() - white.map_or(0, char::len_utf8)];
            out.push_str(&drop_punctuation(stretch));
            out.extend(white);
        }
        text = out;
    }
    if steps.contains(NormalizeStep::Space) {
        text = join_words(text.split(is_white).filter(|word| !word.is_empty()));
    }
    text
}

/// Removes the soft hyphens before the end of a line that no small letter follows.
fn without_hyphens_before_capitals(text: &str) -> String {
    let small = |c: char| c.general_category() == GeneralCategory::LowercaseLetter;
    let rest_of_word = |after: &str| {
        let line = after.trim_start_matches([' ', '\t', '\u{A0}']);
        let next = line.strip_prefix("\r\n");
        let next = next.or_else(|| line.strip_prefix(['\n', '\r', '\u{85}', '\u{2028}']))?;
        Some(next.trim_start_matches([' ', '\t', '\u{A0}']).to_owned())
    };
    let is_kept = |&(at, c): &(usize, char)| {
        let rest = rest_of_word(&text[at + c.len_utf8()..]);
        c != '\u{AD}' || rest.is_none_or(|rest| rest.starts_with(small))
    };
    text.char_indices().filter(is_kept).map(|(_, c)| c).collect()
}

proptest! {
    #![proptest_config(common::cases(2000))]

    #[test]
    fn equals_its_definition(text in common::text(), steps in common::steps()) {
        prop_assert_eq!(run(&text, steps), reference(&text, steps));
    }

    #[test]
    fn equals_its_definition_on_what_was_misread(
        pieces in prop::collection::vec(
            ("[ a-zé»É]{0,3}", "[ a-z]{0,2}|[é’»дÂÉ你😀]{1,2}", 0..4usize),
            0..4,
        ),
        steps in common::steps(),
    ) {
        let misread = |text: &str| text.bytes().map(char::from).collect::<String>();
        let text: String = pieces.iter().map(|(right, wrong, rounds)| {
            let wrong = (0..*rounds).fold(wrong.clone(), |text, _| misread(&text));
            right.replace(|c: char| !c.is_ascii() && *rounds > 0, "") + &wrong
        }).collect();
        prop_assert_eq!(run(&text, steps), reference(&text, steps), "{}", text);
    }

    #[test]
    fn equals_its_definition_on_ascii(text in common::ascii_text(), steps in common::steps()) {
        prop_assert_eq!(run(&text, steps), reference(&text, steps));
    }

    #[test]
    fn a_second_time_changes_nothing(text in common::text(), steps in common::steps(), html: bool) {
        use NormalizeStep::{Lower, Punctuation, Space};
        let settles = [Lower, Punctuation, Space].iter().all(|&step| steps.contains(step));
        let steps = if settles { steps } else { steps.without(NormalizeStep::Mojibake) };
        // A digit that begins a line after a hyphen may become a letter.
        let keeps_hyphens = !steps.contains(Punctuation) && !steps.contains(Space)
            || steps.contains(NormalizeStep::Confusables);
        let steps = if keeps_hyphens { steps.without(NormalizeStep::Hyphens) } else { steps };
        // A capital that begins a line after a soft hyphen, which is no punctuation, may become
        // small.
        let becomes_small = steps.contains(NormalizeStep::Hyphens) && steps.contains(Lower);
        let text = if becomes_small { without_hyphens_before_capitals(&text) } else { text };
        let html = html && steps.contains(Punctuation);
        let steps = if html { steps.with(NormalizeStep::Html) } else { steps };
        let once = run(&text, steps);
        prop_assert_eq!(run(&once, steps), once);
    }

    /// Lines of base64 and words, and the scheme of a URI before either of them.
    #[test]
    fn data_is_dropped(
        pieces in prop::collection::vec((0..9usize, 40..260usize, any::<u64>()), 0..8)
    ) {
        let (mut text, mut expected) = (String::new(), String::new());
        for (kind, length, seed) in pieces {
            let base64 = random_base64(seed, length);
            let (piece, left) = match kind {
                0 => (format!("data:image/png;base64,{base64}"), String::new()),
                1 => (format!("url(DATA:;charset=utf-8,{base64}%20.)"), "url( )".into()),
                2 => (format!("data: {base64}"), format!("data: {}", left(&base64))),
                3 => (format!("metadata:a/b,{base64}"), format!("metadata:a/b,{}", left(&base64))),
                4 => (wrapped(&random_base64(seed, 4 * length + 60), 76), String::new()),
                5 => (base64.to_lowercase(), base64.to_lowercase()),
                6 => (wrapped(&base64, 59), wrapped(&base64, 59)),
                _ => (base64.clone(), left(&base64)),
            };
            text.push_str(&format!("some words {piece} "));
            expected.push_str(&format!("some words {left} "));
        }
        let data = NormalizeSteps::NONE.with(NormalizeStep::Data).with(NormalizeStep::Space);
        let space = NormalizeSteps::NONE.with(NormalizeStep::Space);
        prop_assert_eq!(run(&text, data), run(&expected, space));
        prop_assert_eq!(run(&run(&text, data), data), run(&text, data));
    }
}

/// Random base64, with letters of both cases and a digit.
fn random_base64(seed: u64, length: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed | 1;
    let random = std::iter::from_fn(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(char::from(ALPHABET[(state >> 58) as usize]))
    });
    "aB7".chars().chain(random).take(length).collect()
}

fn left(base64: &str) -> String {
    if base64.len() > MAX_BASE64 { String::new() } else { base64.to_owned() }
}

/// The text in lines of this width.
fn wrapped(text: &str, width: usize) -> String {
    let lines = text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap());
    lines.collect::<Vec<_>>().join("\r\n")
}

#[test]
fn examples() {
    for (text, expected) in [
        ("", ""),
        (" \t\n", ""),
        ("...", ""),
        ("Hello, World!", "hello world"),
        ("你好，世界！", "你好世界"),
        ("你好, world。再见", "你好 world再见"),
        ("end—Start foo/bar well-known", "end start foo bar well known"),
        ("don't 3.14 U.S.A. 1,000 snake_case 12:30", "dont 3.14 usa 1000 snakecase 12 30"),
        ("ＦＵＬＬ　ｗｉｄｔｈ １２３", "full width 123"),
        ("Straße ΣΊΣΥΦΟΣ", "strasse σισυφοσ"),
        ("Cafe\u{301} café", "cafe cafe"),
        ("萬國碼 資訊 臺灣", "万国码资讯台湾"),
        ("总 则\r\n　第一条 the law，\n法 1 条", "总则第一条 the law 法 1 条"),
        ("a\u{200B}b c\u{AD}d \u{FEFF}e\u{202E}", "ab cd e"),
        ("👍🏽 ok 👨\u{200D}👩 !", "👍🏽 ok 👨👩"),
        ("a\u{0}b\u{1F}c", "a b c"),
        ("שלום, עולם! ג'ירף", "שלום עולם גירף"),
        ("1/2 ½ ﬁn №5", "1 2 1 2 fin no5"),
        ("1,000,000 1,5 10,25km 1,000km", "1000000 1 5 10 25km 1000km"),
        ("1,2,3 1，2，3 1,2345 1,23,456 1,,000", "1 2 3 1 2 3 1 2345 1 23456 1 000"),
        ("6'10 1'000 1’000.5 1,000,00", "6 10 1000 1000.5 1000 00"),
        ("١٬٠٠٠ ٣٬٥ ٣٫١٤ 1，０００ १२३ 𝟗", "1000 3 5 3.14 1000 123 9"),
    ] {
        assert_eq!(default(text), expected, "{text:?}");
    }
}

/// Each line is one text, written in several ways.
#[test]
fn texts_that_readers_call_the_same() {
    for texts in [
        &["L'été à Noël, où l'œuvre", "L'ete a Noel, ou l'œuvre"][..],
        &["Tiếng Việt: Đà Nẵng, đường phố", "Tieng Viet: Da Nang, duong pho"],
        &["Łódź, Ærøskøbing, Þórħ", "Lodz, Æroskobing, Þorh"],
        &["IŞIK İSTANBUL", "ışık istanbul", "Işık İstanbul", "isik istanbul"],
        &["Ёлка и ещё Київ, йод", "Елка и еще Киів, иод"],
        &["Ἐν ἀρχῇ ἦν ὁ λόγος", "Εν αρχη ην ο λογος"],
        &["كِتَابٌ جَمِيلٌ إلى أحمد", "كتاب جميل الى احمد", "كـتـاب جمـيل إلى أحمد"],
        &["שָׁלוֹם עֲלֵיכֶם", "שלום עליכם"],
        &["an inter-\nesting exam- \r\n\t ple, hy\u{AD}\nphen", "an interesting example, hyphen"],
        &["in ١٢٣٤, at ٣٫٥", "in 1234, at 3.5", "in １２３４, at ３．５"],
    ] {
        for text in texts {
            assert_eq!(default(text), default(texts[0]), "{text}");
        }
    }
}

/// Each line is one text, written in several ways that are the same after a step beyond the
/// default.
#[test]
fn texts_that_other_steps_call_the_same() {
    use NormalizeStep::{Confusables, German, Mojibake};
    for (step, texts) in [
        (German, &["Große Äpfel für Jörg", "Grosse Aepfel fuer Joerg", "Große Äpfel für Jörg"][..]),
        (Confusables, &["Сhеар рills, ВUY NОW", "Cheap pills, BUY NOW", "Cheap piIIs, buy n0w"]),
        (Mojibake, &["Un cafÃ© Ã\u{A0} NoÃ«l", "Un café à Noël"]),
        (Mojibake, &["Itâ€™s fine", "Itâ\u{80}\u{99}s fine", "It’s fine"]),
        (Mojibake, &["ÐŸÑ€Ð¸Ð²ÐµÑ‚", "Привет"]),
        (Mojibake, &["ä½\u{A0}å¥½", "你好"]),
        (Mojibake, &["cafÃƒÂ©", "cafÃ©", "café"]),
        (Mojibake, &["20Â°C, Â£5", "20°C, £5"]),
        (Mojibake, &["ok ðŸ˜€", "ok 😀"]),
    ] {
        let steps = NormalizeSteps::default().with(step);
        for text in texts {
            assert_eq!(run(text, steps), run(texts[0], steps), "{text}");
            let right = NormalizeSteps::default().without(Mojibake);
            if step == Mojibake {
                assert_eq!(run(text, steps), run(texts[texts.len() - 1], right));
            }
        }
    }
}

/// The D with a stroke looks like a D and a mark, which would combine with the letter before it.
#[test]
fn what_was_misread_is_put_right_before_anything_is_mapped() {
    use NormalizeStep::{Confusables, Mojibake, Nfkc};
    let steps = NormalizeSteps::NONE.with(Mojibake).with(Confusables).with(Nfkc);
    for (misread, right) in [("aÐ´Ð´", "aдд"), ("a Ð´Ð´", "a дд"), (":Ð´Ð´", ":дд")]
    {
        assert_eq!(run(misread, steps), right);
    }
}

/// Text that was read correctly stays, though some of it looks misread.
#[test]
fn right_texts_are_not_put_right() {
    let steps = NormalizeSteps::NONE.with(NormalizeStep::Mojibake);
    for text in [
        "CAFÉ»",
        "IRMÃ… E AMANHÃ»",
        "Spaß“ – ja",
        "à » l’été",
        "naïve façade",
        "SÃO PAULO, Ã©",
        "Ã©tat d’âme",
        "Привет",
        "你好",
        "5 € – 6 £",
        "É",
        "Â",
        "voilÃ",
        "\u{85}",
        "Ÿ…",
    ] {
        assert_eq!(run(text, steps), text);
    }
}

/// Marks that are vowels, or that make other letters, stay.
#[test]
fn other_scripts_keep_their_marks() {
    let marks = NormalizeSteps::NONE.with(NormalizeStep::Marks);
    for text in [
        "हिन्दी की किताब",
        "ภาษาไทยที่นี่",
        "がぎぐ パピプ か\u{3099}",
        "한국어",
        "தமிழ்",
        "မြန်မာ",
        "≠ 1\u{332}",
    ] {
        assert_eq!(run(text, marks), text);
    }
}

/// The characters that `marks` changes beyond their decomposition.
#[test]
fn letters_that_marks_changes() {
    let marks = NormalizeSteps::NONE.with(NormalizeStep::Marks);
    let changed = (0..=0xffff)
        .filter_map(char::from_u32)
        .filter(|&c| !is_loose(c) && c != '\u{640}')
        .filter_map(|c| {
            let plain = run(&c.to_string(), marks);
            let decomposed: String = std::iter::once(c).nfd().filter(|&c| !is_loose(c)).collect();
            (plain != decomposed && plain != c.to_string()).then(|| format!("{c}{plain}"))
        });
    let changed: Vec<String> = changed.collect();
    // By the Unicode names LATIN ... WITH STROKE, BARRED O, L WITH BAR and the like.
    let strokes = "ØO øo ĐD đd ĦH ħh ŁL łl ŦT ŧt ƀb ƚl ƟO ƵZ ƶz ǤG ǥg ǾO ǿo ȼc ɆE ɇe ɈJ ɉj ɍr ɎY \
                   ɏy ɟj ɨi ɵo ᵻi ᵼi ᵽp ᵾu ꝊO ꝋo ꬾo";
    // CLDR's Latin-ASCII; keyboards of Arabic; The Unicode Standard, table of Malayalam chillus.
    let in_two_ways = "ÆAE ÐD ÞTH æae ðd þth ŒOE œoe ǢAE ǣae ǼAE ǽae ʹ' ʻ' ʼ' ʽ' ʾ' ʿ' \
                       ىي کك ھه ۀه ہه ۂه ۃة یي ەه \
                       ൺണ\u{d4d} ൻന\u{d4d} ർര\u{d4d} ൽല\u{d4d} ൾള\u{d4d} ൿക\u{d4d}";
    let (others, of_strokes): (Vec<&str>, Vec<&str>) = changed
        .iter()
        .map(String::as_str)
        .partition(|c| in_two_ways.split(' ').any(|two| two == *c));
    assert_eq!(of_strokes.join(" "), strokes);
    assert_eq!(others.join(" "), in_two_ways);
}

/// Texts that look like a broken word or the end of a sentence, but are neither.
#[test]
fn line_ends_and_points() {
    for (text, expected) in [
        ("Jean-\nPaul 2-\nfold --\nno a-\n\nb the-\n", "jean paul 2 fold no a b the"),
        ("manned.org path/app.apk 3.5mm v2.0.1", "mannedorg path appapk 3.5mm v2.0.1"),
        ("U.S.A. e.g. i.e., a.m. U.S.Army Ph.D. т.е. a.b.cd", "usa eg ie am usarmy phd те abcd"),
        ("a.b1 a.中 中.a.b x..y x.é. é.x", "ab1 a中中ab x y xe ex"),
        ("soft\u{AD}hyphen non-\u{AD}\nsense", "softhyphen non sense"),
    ] {
        assert_eq!(default(text), expected, "{text:?}");
    }
}

#[test]
fn markup() {
    let steps = NormalizeSteps::default().with(NormalizeStep::Html);
    for (text, expected) in [
        ("<p>One</p><p>t<b>w</b>o</p>", "one two"),
        ("a<br>b<!-- gone -->c", "a bc"),
        ("x<script>if (a < b) { c() }</script>y<style>p { color: red }</style>z", "x y z"),
        ("R&amp;D &lt;tag&gt; caf&eacute; &#20013;&#x6587; &nbsp;", "r d tag cafe 中文"),
        ("1 < 2 and 3 > 2", "1 2 and 3 2"),
        ("<a href=\"x>y\">link</a> <unclosed", "link"),
        ("<!DOCTYPE html><title>T &amp; t</title><body onload='x'>body", "t t body"),
        ("&unknown; & &#0; &#xFFFFFFFF;", "unknown"),
    ] {
        assert_eq!(run(text, steps), expected, "{text:?}");
    }
    assert_eq!(run("<i>A</i>&amp;", NormalizeSteps::NONE.with(NormalizeStep::Html)), "A&");
}

#[test]
fn long_runs_of_marks_are_cut() {
    let marks = "\u{301}".repeat(100_000);
    let text = format!("a{marks}b");
    let steps = NormalizeSteps::default().without(NormalizeStep::Marks);
    let normalized = run(&text, steps);
    // á, then the marks that it does not compose with, then b.
    assert_eq!(normalized.chars().count(), 1 + (MAX_COMBINING_RUN - 1) + 1);
    assert_eq!(run(&normalized, steps), normalized);
    assert_eq!(default(&text), "ab");
}

/// ASCII is copied in pieces of 16 kB if nothing is dropped. A mark may follow any of them.
#[test]
fn a_mark_after_a_long_run_of_ascii() {
    let steps = NormalizeSteps::NONE.with(NormalizeStep::Nfkc).with(NormalizeStep::Lower);
    for length in (16 << 10) - 4..(16 << 10) + 4 {
        let before = "X y.".repeat(5000)[..length].to_owned();
        let text = format!("{before}E\u{301}");
        assert_eq!(run(&text, steps), format!("{}é", before.to_lowercase()), "{length}");
    }
}

#[test]
fn large_texts_take_linear_time_and_check_for_interruption() {
    for unit in common::UNITS {
        let text = unit.repeat((2 << 20) / unit.len());
        let mut checks = 0;
        let steps = NormalizeSteps::default().with(NormalizeStep::Html);
        normalize(&text, steps, &mut || checks += 1);
        assert!(checks >= 32, "{unit:?}: {checks} checks over 2 MB");
    }
}
