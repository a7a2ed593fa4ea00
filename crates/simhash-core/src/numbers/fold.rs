//! A text as the scanner reads it: digits of all scripts and full-width forms become ASCII.

use std::borrow::Cow;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::interrupt::Interrupt;
use crate::unicode::CharTable;

/// What the spaces become that group digits as 1 234 567 does, and that do not break a line.
pub(super) const GROUP: u8 = 0x1F;

/// The text with digits of value n as the ASCII digit n. Borrowed if nothing changes.
pub(super) fn fold<'a>(text: &'a str, interrupt: &Interrupt) -> Cow<'a, str> {
    let mut folded = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = next_non_ascii(&text.as_bytes()[at..]) {
        interrupt.spend(next + 1);
        at += next;
        let Some(c) = text[at..].chars().next() else { break };
        let end = at + c.len_utf8();
        let ascii = FOLDED.get(c, fold_char);
        if ascii != 0 {
            folded.push_str(&text[copied..at]);
            folded.push(char::from(ascii));
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

fn next_non_ascii(bytes: &[u8]) -> Option<usize> {
    const STRIDE: usize = 16;
    let chunks = bytes.chunks_exact(STRIDE);
    let plain = chunks.take_while(|chunk| chunk.iter().all(u8::is_ascii)).count() * STRIDE;
    bytes[plain..].iter().position(|byte| !byte.is_ascii()).map(|place| plain + place)
}

static FOLDED: CharTable<u8> = CharTable::new();

/// The ASCII character that stands for one of others; 0 if none does.
fn fold_char(c: char) -> u8 {
    match c {
        ..'\u{80}' => 0,
        // Full-width forms of ASCII.
        '\u{FF01}'..='\u{FF5E}' => (c as u32 - 0xFEE0) as u8,
        '\u{3000}' => b' ',
        '\u{A0}' | '\u{2007}' | '\u{2009}' | '\u{202F}' => GROUP,
        '\u{2010}' | '\u{2011}' | '\u{2212}' => b'-',
        '\u{2019}' => b'\'',
        // The Arabic decimal and thousands separators.
        '\u{66B}' => b'.',
        '\u{66C}' => b',',
        _ => digit(c).map_or(0, |value| b'0' + value),
    }
}

/// The value of a decimal digit. Unicode encodes those of a script in a row, from 0 on, and begins
/// each ten with a 0 where several are beside each other (The Unicode Standard, 4.6).
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
}
