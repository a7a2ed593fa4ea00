//! Folds a text for the scanner: digits of all scripts and full-width forms become ASCII, and
//! invisible characters and the marks of scripts that are read without them are dropped.

use std::borrow::Cow;

use unicode_normalization::char::compose;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::base::interrupt::Interrupt;
use crate::config::{NormalizeStep, NormalizeSteps};
use crate::texts::normalize::normalize_into;
use crate::texts::unicode::{CharTable, Properties, properties};

/// Replaces the spaces that group digits, as in 1 234 567: the no-break, figure, thin and narrow
/// no-break ones.
pub(super) const GROUP: u8 = 0x1F;

/// Entries of the table for a character that is dropped, and for one that begins a syllable of
/// Hangul written in parts.
const DROPPED: u8 = 0x7F;
const PART: u8 = 0x7E;

/// The text with each digit of value n as the ASCII digit n, and without the characters that are
/// dropped. Borrowed if nothing changes.
pub(super) fn fold<'a>(text: &'a str, interrupt: &Interrupt) -> Cow<'a, str> {
    let mut folded = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = next_non_ascii(&text.as_bytes()[at..]) {
        interrupt.spend(next + 1);
        at += next;
        let Some(c) = text[at..].chars().next() else { break };
        let mut end = at + c.len_utf8();
        let ascii = FOLDED.get(c, fold_char);
        if ascii != 0 {
            folded.push_str(&text[copied..at]);
            match ascii {
                DROPPED => {}
                PART => {
                    let (syllable, length) = syllable(&text[at..], c);
                    folded.push(syllable);
                    end = at + length;
                }
                _ => folded.push(char::from(ascii)),
            }
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    folded.push_str(&text[copied..]);
    Cow::Owned(folded)
}

/// The syllable of Hangul at the start of `text`, whose first part is `first`, and its length in
/// bytes.
fn syllable(text: &str, first: char) -> (char, usize) {
    let (mut syllable, mut length) = (first, first.len_utf8());
    for part in text.chars().skip(1).take(2) {
        let Some(more) = compose(syllable, part) else { break };
        (syllable, length) = (more, length + part.len_utf8());
    }
    (syllable, length)
}

/// A word in the form that is compared: in lower case and without marks.
pub(super) fn plain(word: &str, interrupt: &Interrupt) -> String {
    const STEPS: NormalizeSteps = NormalizeSteps::NONE
        .with(NormalizeStep::Nfkc)
        .with(NormalizeStep::Marks)
        .with(NormalizeStep::Lower);
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut plain = String::new();
    normalize_into(word, STEPS, interrupt, &mut plain);
    plain
}

fn next_non_ascii(bytes: &[u8]) -> Option<usize> {
    const STRIDE: usize = 16;
    let chunks = bytes.chunks_exact(STRIDE);
    let plain = chunks.take_while(|chunk| chunk.iter().all(u8::is_ascii)).count() * STRIDE;
    bytes[plain..].iter().position(|byte| !byte.is_ascii()).map(|place| plain + place)
}

static FOLDED: CharTable<u8> = CharTable::new();

/// The ASCII character that `c` folds to, or [`DROPPED`], or [`PART`]; 0 if `c` stays.
fn fold_char(c: char) -> u8 {
    match c {
        ..'\u{80}' => 0,
        // Full-width forms of ASCII.
        '\u{FF01}'..='\u{FF5E}' => (c as u32 - 0xFEE0) as u8,
        '\u{2028}' | '\u{2029}' => b'\n',
        '\u{A0}' | '\u{2007}' | '\u{2009}' | '\u{202F}' => GROUP,
        '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{205F}' | '\u{3000}' => b' ',
        '\u{2010}' | '\u{2011}' | '\u{2212}' => b'-',
        '\u{2019}' => b'\'',
        // The slash of a fraction, as ½ has it when written as three characters.
        '\u{2044}' => b'/',
        '\u{1100}'..='\u{1112}' => PART,
        _ if properties(c).any(Properties::IGNORABLE.or(Properties::LOOSE)) => DROPPED,
        // The Arabic decimal and thousands separators.
        '\u{66B}' => b'.',
        '\u{66C}' => b',',
        _ => digit(c).map_or(0, |value| b'0' + value),
    }
}

/// The value of a decimal digit. Unicode encodes the digits of a script consecutively from 0 on.
/// Where sets of ten are adjacent, each begins with its 0 (The Unicode Standard, 4.6).
fn digit(c: char) -> Option<u8> {
    let is_digit = |code| {
        char::from_u32(code).is_some_and(|c| c.general_category() == GeneralCategory::DecimalNumber)
    };
    let code = c as u32;
    is_digit(code).then(|| {
        let before = (0..code).rev().take_while(|&code| is_digit(code)).count();
        (before % 10) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Cow<'_, str> {
        fold(text, &Interrupt::new(&mut || ()))
    }

    /// The values are those of the Unicode Character Database (Python's unicodedata.digit).
    #[test]
    fn digits_of_all_scripts_have_their_values() {
        for (text, ascii) in [
            ("٠١٢٣٤٥٦٧٨٩", "0123456789"),
            ("۰۱۲۳۴۵۶۷۸۹", "0123456789"),
            ("०१२३४५६७८९", "0123456789"),
            ("০১২৩৪৫৬৭৮৯", "0123456789"),
            ("๐๑๒๓๔๕๖๗๘๙", "0123456789"),
            ("０１２３４５６７８９", "0123456789"),
            ("\u{1D7CE}\u{1D7D7}\u{1D7D8}\u{1D7E3}\u{1D7EC}\u{1D7F6}\u{1D7FF}", "0901009"),
            ("\u{1E950}\u{1E959}", "09"),
        ] {
            assert_eq!(folded(text), ascii);
        }
    }

    #[test]
    fn other_characters_stay() {
        let text = "Größe 12 m² – naïve ½ 二〇二四";
        assert!(matches!(folded(text), Cow::Borrowed(same) if same == text));
        assert_eq!(folded("Ａ－１：é１２"), "A-1:é12");
    }

    #[test]
    fn what_is_not_seen_is_dropped() {
        for (text, expected) in [
            ("12\u{200B}34", "1234"),
            ("31\u{200F}/12\u{200F}/2024", "31/12/2024"),
            ("\u{FEFF}1\u{AD}2\u{200E}", "12"),
            ("fe\u{301}vrier", "fevrier"),
            ("5\u{FE0F}\u{20E3}", "5"),
            ("1\u{2003}2\u{2028}3", "1 2\n3"),
            // The parts of 2024년 3월, and a syllable that has no end.
            ("2024\u{1102}\u{1167}\u{11AB} 3\u{110B}\u{116F}\u{11AF}", "2024년 3월"),
            ("\u{1109}\u{1175}1", "시1"),
            ("\u{1109}", "\u{1109}"),
        ] {
            assert_eq!(folded(text), expected);
        }
    }

    #[test]
    fn plain_words_have_no_marks() {
        let interrupt = &mut || ();
        let interrupt = Interrupt::new(interrupt);
        for (word, expected) in [("AB12", "ab12"), ("Février", "fevrier"), ("Ф12Й", "ф12и")] {
            assert_eq!(plain(word, &interrupt), expected);
        }
    }
}
