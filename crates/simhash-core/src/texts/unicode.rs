//! The properties of single characters, in tables that are filled 256 characters at a time.
//!
//! A row of a table is computed from the Unicode crates when one of its characters first occurs, so
//! a text pays only for the scripts in which it is written. The standard library's own Unicode
//! tables are not used: they change with the compiler, and fingerprints must not change.

use std::sync::OnceLock;

use unicode_normalization::{IsNormalized, char::canonical_combining_class, is_nfkc_quick};
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
};
use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

use crate::base::lazy::Lazy;
use crate::texts::han::is_han;

/// The characters of a row.
const ROW: usize = 256;
const ROWS: usize = 0x11_0000 / ROW;

/// A value for every character, computed a row at a time on first use.
pub(crate) struct CharTable<T> {
    rows: [OnceLock<Box<[T; ROW]>>; ROWS],
}

impl<T: Copy + Default> CharTable<T> {
    pub(crate) const fn new() -> Self {
        CharTable { rows: [const { OnceLock::new() }; ROWS] }
    }

    /// The value of `c`. `compute` must be the same function in every call.
    #[inline]
    pub(crate) fn get(&self, c: char, compute: impl Fn(char) -> T) -> T {
        let (row, offset) = (c as usize / ROW, c as usize % ROW);
        match self.rows[row].get() {
            Some(values) => values[offset],
            None => self.fill(row, compute)[offset],
        }
    }

    #[cold]
    fn fill(&self, row: usize, compute: impl Fn(char) -> T) -> &[T; ROW] {
        self.rows[row].get_or_init(|| {
            let mut values = Box::new([T::default(); ROW]);
            for (offset, value) in values.iter_mut().enumerate() {
                if let Some(c) = char::from_u32((row * ROW + offset) as u32) {
                    *value = compute(c);
                }
            }
            values
        })
    }
}

/// A set of properties of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Properties(u32);

impl Properties {
    /// Separators and control characters.
    pub(crate) const WHITE: Properties = Properties(1);
    /// Punctuation and symbols other than emoji.
    pub(crate) const PUNCTUATION: Properties = Properties(1 << 1);
    /// Letters and numbers (general categories L and N).
    pub(crate) const WORD: Properties = Properties(1 << 2);
    /// Emoji other than the ASCII characters with that property, and ©, ® and ™.
    pub(crate) const EMOJI: Properties = Properties(1 << 3);
    /// Combining marks (general category M).
    pub(crate) const MARK: Properties = Properties(1 << 4);
    /// Default-ignorable characters: joiners, direction marks, variation selectors, the soft hyphen
    /// and others.
    pub(crate) const IGNORABLE: Properties = Properties(1 << 5);
    /// See [`is_han`]. Such a character has no other property but `WORD`.
    pub(crate) const HAN: Properties = Properties(1 << 6);
    /// Normalisation may join it to the character before it.
    pub(crate) const COMPOSES: Properties = Properties(1 << 7);
    /// Word_Break ALetter or Hebrew_Letter.
    pub(crate) const LETTER: Properties = Properties(1 << 8);
    /// Word_Break Hebrew_Letter.
    pub(crate) const HEBREW: Properties = Properties(1 << 9);
    /// Word_Break Numeric.
    pub(crate) const NUMERIC: Properties = Properties(1 << 10);
    /// Word_Break Katakana.
    pub(crate) const KATAKANA: Properties = Properties(1 << 11);
    /// A single one between two letters keeps them in one word (MidLetter, MidNumLet,
    /// Single_Quote).
    pub(crate) const MID_LETTER: Properties = Properties(1 << 12);
    /// A single one between two numbers keeps them in one word (MidNum, MidNumLet, Single_Quote).
    pub(crate) const MID_NUMBER: Properties = Properties(1 << 13);
    /// Any number of them between letters and numbers keeps these in one word (ExtendNumLet).
    pub(crate) const EXTENDER: Properties = Properties(1 << 14);
    /// A single one between two Hebrew letters keeps them in one word (Double_Quote).
    pub(crate) const MID_HEBREW: Properties = Properties(1 << 15);
    /// Word_Break Extend, Format or ZWJ: it is treated like the character before it.
    pub(crate) const EXTENDS: Properties = Properties(1 << 16);
    /// Characters of a script that is read without its marks: see [`has_loose_marks`].
    pub(crate) const MARKED: Properties = Properties(1 << 17);
    /// A mark that may be dropped after such a character.
    pub(crate) const LOOSE: Properties = Properties(1 << 18);
    /// A decimal digit (general category Nd).
    pub(crate) const DECIMAL: Properties = Properties(1 << 19);
    /// A small letter (general category Ll).
    pub(crate) const SMALL: Properties = Properties(1 << 20);
    /// A letter of Hiragana in its main block, which has three bytes in UTF-8.
    pub(crate) const HIRAGANA: Properties = Properties(1 << 21);
    /// A letter of Thai, Lao, Khmer or Myanmar, or a sign that does not extend one.
    pub(crate) const SOUTHEAST: Properties = Properties(1 << 22);
    /// A capital letter (general categories Lu and Lt).
    pub(crate) const CAPITAL: Properties = Properties(1 << 23);

    /// No property.
    pub(crate) const NONE: Properties = Properties(0);
    /// A run of characters is a token if one of them has such a property.
    pub(crate) const TOKEN: Properties = Self::WORD.or(Self::EMOJI);
    /// Scripts that are written without spaces and with line breaks anywhere.
    pub(crate) const UNSPACED: Properties = Self::HAN.or(Self::HIRAGANA);
    /// Characters that an extender joins.
    pub(crate) const EXTENDABLE: Properties = Self::LETTER.or(Self::NUMERIC).or(Self::KATAKANA);

    pub(crate) const fn or(self, other: Properties) -> Properties {
        Properties(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: Properties) -> Properties {
        Properties(self.0 & other.0)
    }

    /// Whether the two sets share a property.
    #[inline]
    pub(crate) const fn any(self, of: Properties) -> bool {
        self.0 & of.0 != 0
    }
}

static PROPERTIES: CharTable<Properties> = CharTable::new();

/// The properties of `c`.
#[inline]
pub(crate) fn properties(c: char) -> Properties {
    PROPERTIES.get(c, compute_properties)
}

fn compute_properties(c: char) -> Properties {
    if is_han(c) {
        return Properties::HAN.or(Properties::WORD);
    }
    let group = c.general_category_group();
    let mut set = word_break(c);
    let is_letter = matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark);
    let is_base = is_letter && !set.any(Properties::EXTENDS);
    let mut put = |property: Properties, holds: bool| {
        if holds {
            set = set.or(property);
        }
    };
    // By property the signs of copyright and of trade marks are emoji, but readers see symbols.
    let emoji = !c.is_ascii() && !matches!(c, '©' | '®' | '™') && c.is_emoji_char();
    put(
        Properties::WHITE,
        group == GeneralCategoryGroup::Separator
            || c.general_category() == GeneralCategory::Control,
    );
    put(
        Properties::PUNCTUATION,
        matches!(group, GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol) && !emoji,
    );
    put(
        Properties::WORD,
        matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number),
    );
    put(Properties::EMOJI, emoji);
    put(Properties::MARK, group == GeneralCategoryGroup::Mark);
    put(Properties::IGNORABLE, is_default_ignorable(c));
    put(Properties::COMPOSES, composes(c, group));
    let is_mark =
        group == GeneralCategoryGroup::Mark && c.general_category() != GeneralCategory::SpacingMark;
    put(Properties::MARKED, !is_mark && has_loose_marks(c.script()));
    put(
        Properties::LOOSE,
        is_mark && (c.script() == Script::Inherited || has_loose_marks(c.script())),
    );
    put(Properties::SMALL, c.general_category() == GeneralCategory::LowercaseLetter);
    put(
        Properties::CAPITAL,
        matches!(
            c.general_category(),
            GeneralCategory::UppercaseLetter | GeneralCategory::TitlecaseLetter
        ),
    );
    put(Properties::DECIMAL, c.general_category() == GeneralCategory::DecimalNumber);
    put(Properties::HIRAGANA, is_base && is_hiragana(c));
    put(Properties::SOUTHEAST, is_base && is_southeast_asian(c.script()));
    set
}

/// The Word_Break property. The segmentation crate does not export it, so it is derived from how
/// the crate cuts probes.
fn word_break(c: char) -> Properties {
    let mut set = Properties::NONE;
    let mut put = |property: Properties, holds: bool| {
        if holds {
            set = set.or(property);
        }
    };
    put(Properties::LETTER, is_one_word(&[c, ':', 'a']));
    put(Properties::HEBREW, is_one_word(&[c, '"', 'א']));
    put(Properties::NUMERIC, is_one_word(&[c, ',', '1']));
    put(
        Properties::KATAKANA,
        is_one_word(&[c, 'ア']) && is_one_word(&['ア', c]) && !is_one_word(&['a', c]),
    );
    if !is_one_word(&['a', c]) {
        put(Properties::MID_LETTER, is_one_word(&['a', c, 'a']));
        put(Properties::MID_NUMBER, is_one_word(&['1', c, '1']));
        put(Properties::MID_HEBREW, is_one_word(&['א', c, 'א']) && !is_one_word(&['a', c, 'a']));
    }
    let extends = is_one_word(&['!', c]);
    put(Properties::EXTENDS, extends);
    put(
        Properties::EXTENDER,
        !extends && [['a', c], ['ア', c], [c, 'a']].iter().all(|probe| is_one_word(probe)),
    );
    set
}

fn is_one_word(chars: &[char]) -> bool {
    let probe: String = chars.iter().collect();
    probe.split_word_bounds().nth(1).is_none()
}

fn composes(c: char, group: GeneralCategoryGroup) -> bool {
    group == GeneralCategoryGroup::Mark
        || canonical_combining_class(c) != 0
        || is_nfkc_quick(std::iter::once(c)) == IsNormalized::Maybe
}

/// Whether readers of a script recognise its words without their marks. In others a mark may be a
/// vowel (Devanagari, Thai) or make another letter (Japanese).
fn has_loose_marks(script: Script) -> bool {
    use Script::{Arabic, Cyrillic, Greek, Hebrew, Latin};
    matches!(script, Latin | Greek | Cyrillic | Arabic | Hebrew)
}

fn is_hiragana(c: char) -> bool {
    c.script() == Script::Hiragana && matches!(c, '\u{3041}'..='\u{309F}')
}

/// Whether a script has spaces only between phrases, so that a dictionary must find its words.
fn is_southeast_asian(script: Script) -> bool {
    matches!(script, Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar)
}

/// Default_Ignorable_Code_Point of DerivedCoreProperties.txt.
fn is_default_ignorable(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// A set of characters that are three bytes long in UTF-8, looked up by those bytes.
pub(crate) struct ThreeByteSet([u64; 1 << 10]);

/// The main block of Han characters, U+4E00 to U+9FFF.
pub(crate) static MAIN_HAN: Lazy<ThreeByteSet> = Lazy::new(|| ThreeByteSet::main_han(|_| true));

impl ThreeByteSet {
    /// The set of `chars`, each of which must be three bytes long.
    pub(crate) fn new(chars: impl IntoIterator<Item = char>) -> Self {
        let mut set = [0; 1 << 10];
        for c in chars {
            assert_eq!(c.len_utf8(), 3);
            set[c as usize >> 6] |= 1 << (c as usize & 63);
        }
        ThreeByteSet(set)
    }

    /// The characters of U+4E00 to U+9FFF for which `holds` is true.
    pub(crate) fn main_han(holds: impl Fn(char) -> bool) -> Self {
        Self::new(('\u{4E00}'..='\u{9FFF}').filter(|&c| holds(c)))
    }

    /// The number of bytes of the characters of the set that `bytes` starts with: of `longest`
    /// characters at most. `bytes` must be UTF-8.
    #[inline]
    pub(crate) fn run_length(&self, bytes: &[u8], longest: usize) -> usize {
        // As long as every character is in the set, the next one starts three bytes further.
        let holds = |bytes: &[u8]| {
            let (first, second, third) = (bytes[0], bytes[1], bytes[2]);
            let word = usize::from(first & 0xF) << 6 | usize::from(second & 0x3F);
            first & 0xF0 == 0xE0 && self.0[word] >> (third & 0x3F) & 1 == 1
        };
        3 * bytes.chunks_exact(3).take(longest).take_while(|bytes| holds(bytes)).count()
    }
}

/// Whether `c` is a colon, or a character that NFKC turns into one. UAX #29 allows them within a
/// word (Word_Break MidLetter).
pub(crate) fn is_colon(c: char) -> bool {
    matches!(c, ':' | '\u{FE13}' | '\u{FE55}' | '\u{FF1A}')
}

/// ASCII letters and digits, eight bytes at a time.
pub(crate) mod ascii {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;

    /// The high bit of every byte that lies in `from..=to`. Every byte must be below 128.
    #[inline]
    fn in_range(bytes: u64, from: u8, to: u8) -> u64 {
        let not_below = bytes + ONES * u64::from(128 - from);
        let above = bytes + ONES * u64::from(127 - to);
        not_below & !above & HIGH
    }

    /// The number of bytes of a kind that `bytes` starts with. `kinds` sets the high bit of every
    /// byte of that kind.
    #[inline]
    fn run_length(bytes: &[u8], kinds: impl Fn(u64) -> u64, kind: impl Fn(u8) -> bool) -> usize {
        let mut length = 0;
        while let Some(chunk) = bytes.get(length..length + 8) {
            let chunk = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
            let found = kinds(chunk & !HIGH) & !chunk;
            let other = (found & HIGH) ^ HIGH;
            if other != 0 {
                return length + other.trailing_zeros() as usize / 8;
            }
            length += 8;
        }
        length + bytes[length..].iter().take_while(|&&byte| kind(byte)).count()
    }

    #[inline]
    fn letters(low: u64) -> u64 {
        in_range(low | (ONES * 0x20), b'a', b'z')
    }

    #[inline]
    fn digits(low: u64) -> u64 {
        in_range(low, b'0', b'9')
    }

    /// The number of bytes of the ASCII letters, digits and single spaces that `bytes` starts with.
    /// Each space follows a letter or a digit.
    #[inline]
    pub(crate) fn single_spaced_length(bytes: &[u8]) -> usize {
        let mut length = 0;
        // The high bit of the first byte, if a space there does not follow a letter or a digit.
        let mut carry = 0x80;
        while let Some(chunk) = bytes.get(length..length + 8) {
            let chunk = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
            let low = chunk & !HIGH;
            let spaces = in_range(low, b' ', b' ');
            let allowed = (letters(low) | digits(low) | spaces) & !chunk;
            let other = (allowed & HIGH) ^ HIGH | spaces & (spaces << 8 | carry);
            if other != 0 {
                return length + other.trailing_zeros() as usize / 8;
            }
            carry = spaces >> 56;
            length += 8;
        }
        let mut after_space = carry != 0;
        for &byte in &bytes[length..] {
            let is_space = byte == b' ';
            if is_space && after_space || !is_space && !byte.is_ascii_alphanumeric() {
                break;
            }
            after_space = is_space;
            length += 1;
        }
        length
    }

    /// The number of ASCII letters, or of digits, that `bytes` starts with, and whether the other
    /// kind follows.
    #[inline]
    pub(crate) fn word_length(bytes: &[u8]) -> (usize, bool) {
        if bytes.first().is_some_and(u8::is_ascii_digit) {
            let length = run_length(bytes, digits, |byte| byte.is_ascii_digit());
            (length, bytes.get(length).is_some_and(u8::is_ascii_alphabetic))
        } else {
            let length = run_length(bytes, letters, |byte| byte.is_ascii_alphabetic());
            (length, length > 0 && bytes.get(length).is_some_and(u8::is_ascii_digit))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Every text of a letter, a digit, a space and another byte, in every place of two chunks.
        #[test]
        fn finds_the_first_space_that_is_not_single() {
            for number in 0..4u32.pow(7) {
                let kinds = (0..7).map(|place| number / 4u32.pow(place) % 4);
                let end: Vec<u8> = kinds.map(|kind| b"a7 -"[kind as usize]).collect();
                for length in 0..12 {
                    let bytes = [&b"abcxyzABCX15"[..length], &end].concat();
                    let is_other = |i: usize| match bytes[i] {
                        b' ' => i == 0 || bytes[i - 1] == b' ',
                        byte => !byte.is_ascii_alphanumeric(),
                    };
                    let expected = (0..bytes.len()).find(|&i| is_other(i)).unwrap_or(bytes.len());
                    assert_eq!(single_spaced_length(&bytes), expected, "{bytes:?}");
                }
            }
            for byte in 0..=255 {
                let bytes = [b'a', b' ', b'b', byte, b'c', b' ', b'd', b'e', b'f', b'-'];
                let is_other = byte != b' ' && !byte.is_ascii_alphanumeric();
                assert_eq!(single_spaced_length(&bytes), if is_other { 3 } else { 9 }, "{byte}");
            }
        }

        #[test]
        fn finds_the_first_other_byte() {
            for byte in 0..=255u8 {
                for length in 0..20 {
                    let mut bytes = b"abcxyzABCXYZ01234589"[..length].to_vec();
                    bytes.push(byte);
                    bytes.extend(b"abcdefghi");
                    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
                    let first = kind(bytes[0]);
                    let same = if first == (false, false) {
                        0
                    } else {
                        bytes.iter().take_while(|&&b| kind(b) == first).count()
                    };
                    let parted =
                        same > 0 && bytes[same..].first().is_some_and(u8::is_ascii_alphanumeric);
                    assert_eq!(word_length(&bytes), (same, parted), "{byte} after {length}");
                }
            }
        }
    }
}
