//! Normalisation against a plain implementation of its definition, which applies step after step to
//! the whole text.

mod common;

use std::collections::HashMap;
use std::sync::LazyLock;

use caseless::Caseless;
use proptest::prelude::*;
use simhash_core::config::{NormalizeStep, NormalizeSteps};
use simhash_core::han::is_han;
use simhash_core::normalize::{MAX_COMBINING_RUN, normalize};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfkc_quick,
};
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
};
use unicode_segmentation::UnicodeSegmentation;

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
        && (c.is_ascii() || !c.is_emoji_char())
}

fn is_invisible(c: char) -> bool {
    run(&format!("a{c}a"), NormalizeSteps::NONE.with(NormalizeStep::Space)) == "aa"
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
        if steps.contains(NormalizeStep::Nfkc) {
            next = next.nfkc().collect();
        }
        if steps.contains(NormalizeStep::Lower) {
            next = next.chars().default_case_fold().collect();
        }
        if steps.contains(NormalizeStep::Simplified) {
            next = next.chars().map(simplified).collect();
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

/// Symbols that UAX #29 counts as letters or numbers, such as Ⓐ. When dropped, they always part
/// words.
fn is_letter_like(c: char) -> bool {
    [format!("{c}:a"), format!("{c},1")].iter().any(|probe| probe.split_word_bounds().count() == 1)
}

fn is_digit(c: char) -> bool {
    format!("{c},1").split_word_bounds().count() == 1
}

/// Whether UAX #29 treats it like the character before it.
fn is_attached(c: char) -> bool {
    format!("!{c}").split_word_bounds().count() == 1
}

/// Whether it holds letters and digits together by UAX #29, as the underscore does.
fn is_connector(c: &str) -> bool {
    format!("a{c}1").split_word_bounds().count() == 1
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
            // It is dropped with what it stood on.
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
                } else if (parted || parts || composes(c)) && !is_han(base) && !is_han(c) {
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

/// One space between words, but none between Han characters.
fn join_words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let mut before: Option<&str> = None;
    for word in words {
        if let Some(before) = before {
            let last = before.chars().rev().find(|&c| !is_attached(c));
            if !(last.is_some_and(is_han) && word.starts_with(is_han)) {
                out.push(' ');
            }
        }
        out.push_str(word);
        before = Some(word);
    }
    out
}

fn reference(text: &str, steps: NormalizeSteps) -> String {
    let mut text = map_characters(text, steps);
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

proptest! {
    #![proptest_config(common::cases(2000))]

    #[test]
    fn equals_its_definition(text in common::text(), steps in common::steps()) {
        prop_assert_eq!(run(&text, steps), reference(&text, steps));
    }

    #[test]
    fn equals_its_definition_on_ascii(text in common::ascii_text(), steps in common::steps()) {
        prop_assert_eq!(run(&text, steps), reference(&text, steps));
    }

    #[test]
    fn a_second_time_changes_nothing(text in common::text(), steps in common::steps(), html: bool) {
        let html = html && steps.contains(NormalizeStep::Punctuation);
        let steps = if html { steps.with(NormalizeStep::Html) } else { steps };
        let once = run(&text, steps);
        prop_assert_eq!(run(&once, steps), once);
    }
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
        ("Straße ΣΊΣΥΦΟΣ", "strasse σίσυφοσ"),
        ("Cafe\u{301} café", "café café"),
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
        ("١٬٠٠٠ ٣٬٥ 1，０００", "١٠٠٠ ٣ ٥ 1000"),
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
        ("R&amp;D &lt;tag&gt; caf&eacute; &#20013;&#x6587; &nbsp;", "r d tag café 中文"),
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
    let normalized = default(&format!("a{marks}b"));
    // á, then the marks it does not compose with, then b.
    assert_eq!(normalized.chars().count(), 1 + (MAX_COMBINING_RUN - 1) + 1);
    assert_eq!(default(&normalized), normalized);
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
