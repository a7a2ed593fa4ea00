//! Maps characters to characters: confusables, NFKC, umlauts, case folding, traditional to
//! simplified Chinese, digits to ASCII ones, and marks and invisible characters to nothing.
//!
//! The definition is [`Mapping::apply`]: the steps are repeated until nothing changes. All but a
//! few characters map independently of those beside them. A table has the results for these.

use std::collections::HashMap;
use std::sync::OnceLock;

use caseless::Caseless;
use hanconv::RawDictionary;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;
use unicode_script::{Script, UnicodeScript};
use unicode_security::skeleton;

use crate::base::lazy::Lazy;
use crate::config::{NormalizeStep, NormalizeSteps};
use crate::texts::han::is_han;
use crate::texts::unicode::{CharTable, MAIN_HAN, Properties, ThreeByteSet, properties};

/// The result of mapping one character by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapped {
    /// One character, perhaps itself.
    One(char),
    /// It is dropped.
    Nothing,
    /// Several characters, none of which composes with the character before.
    Several,
    /// The result depends on the characters before.
    Composing,
}

impl Mapped {
    /// Whether the character before it can be mapped without regard to it.
    #[inline]
    pub(super) fn stands_alone(self) -> bool {
        matches!(self, Mapped::One(_) | Mapped::Several)
    }
}

/// A [`Mapped`] in four bytes: the character itself, or a number beyond all characters.
#[derive(Clone, Copy, Default)]
struct Entry(u32);

const NOTHING: u32 = 0x11_0000;
const SEVERAL: u32 = 0x11_0001;
const COMPOSING: u32 = 0x11_0002;

impl Entry {
    fn new(mapped: Mapped) -> Self {
        Entry(match mapped {
            Mapped::One(c) => c as u32,
            Mapped::Nothing => NOTHING,
            Mapped::Several => SEVERAL,
            Mapped::Composing => COMPOSING,
        })
    }

    #[inline]
    fn mapped(self) -> Mapped {
        match char::from_u32(self.0) {
            Some(c) => Mapped::One(c),
            None if self.0 == NOTHING => Mapped::Nothing,
            None if self.0 == SEVERAL => Mapped::Several,
            None => Mapped::Composing,
        }
    }
}

/// The character-mapping part of a set of steps.
#[derive(Clone, Copy)]
pub(super) struct Mapping {
    /// Of these, [`STEPS`] count. `space` drops invisible characters.
    steps: NormalizeSteps,
    table: &'static CharTable<Entry>,
    unchanged_han: &'static ThreeByteSet,
}

/// About the most characters that are copied before the caller may check for interruption.
const LONGEST_HAN: usize = 4 << 10;

/// The characters of U+4E00 to U+9FFF that are not traditional.
static SIMPLIFIED_HAN: Lazy<ThreeByteSet> =
    Lazy::new(|| ThreeByteSet::main_han(|c| simplify(c) == c));

/// The steps that map characters.
const STEPS: [NormalizeStep; 8] = [
    NormalizeStep::Confusables,
    NormalizeStep::Nfkc,
    NormalizeStep::German,
    NormalizeStep::Marks,
    NormalizeStep::Lower,
    NormalizeStep::Simplified,
    NormalizeStep::Digits,
    NormalizeStep::Space,
];

/// One table for every combination of them, made on first use.
static TABLES: [OnceLock<Box<CharTable<Entry>>>; 1 << STEPS.len()] =
    [const { OnceLock::new() }; 1 << STEPS.len()];

impl Mapping {
    #[inline]
    pub(super) fn new(steps: NormalizeSteps) -> Self {
        let flag = |(bit, &step): (usize, &NormalizeStep)| usize::from(steps.contains(step)) << bit;
        let table = &TABLES[STEPS.iter().enumerate().map(flag).sum::<usize>()];
        let table = table.get_or_init(|| Box::new(CharTable::new()));
        let simplified = steps.contains(NormalizeStep::Simplified);
        let unchanged_han = if simplified { &*SIMPLIFIED_HAN } else { &*MAIN_HAN };
        Mapping { steps, table, unchanged_han }
    }

    #[inline]
    fn has(&self, step: NormalizeStep) -> bool {
        self.steps.contains(step)
    }

    #[inline]
    pub(super) fn map(&self, c: char) -> Mapped {
        self.table.get(c, |c| Entry::new(self.compute(c))).mapped()
    }

    /// The number of bytes of the Han characters (U+4E00 to U+9FFF) at the start of `bytes` that
    /// map to themselves.
    #[inline]
    pub(super) fn unchanged_han_length(&self, bytes: &[u8]) -> usize {
        self.unchanged_han.run_length(bytes, LONGEST_HAN)
    }

    /// Whether normalisation may join `c` to the character before it, or drop it there.
    pub(super) fn composes(&self, c: char) -> bool {
        let set = properties(c);
        self.has(NormalizeStep::Nfkc) && set.any(Properties::COMPOSES)
            || self.has(NormalizeStep::Marks) && set.any(Properties::LOOSE)
    }

    /// Whether the character before `text` can be mapped without regard to `text`.
    #[inline]
    pub(super) fn starts_alone(&self, text: &str) -> bool {
        match text.chars().next() {
            Some(next) if !next.is_ascii() => self.map(next).stands_alone(),
            _ => true,
        }
    }

    /// The number of bytes of the marks at the start of `text` that are dropped after `base`, which
    /// maps to one character.
    #[inline]
    pub(super) fn dropped_marks(&self, base: char, text: &str) -> usize {
        // With these steps a letter and its mark may map together: to an umlaut written out, or to
        // a letter that looks the same.
        let by_itself = !self.has(NormalizeStep::German) && !self.has(NormalizeStep::Confusables);
        if self.has(NormalizeStep::Marks) && by_itself && properties(base).any(Properties::MARKED) {
            let marks = text.chars().take_while(|&c| properties(c).any(Properties::LOOSE));
            marks.map(char::len_utf8).sum()
        } else {
            0
        }
    }

    fn compute(&self, c: char) -> Mapped {
        if self.has(NormalizeStep::Space) && properties(c).any(Properties::IGNORABLE) {
            return Mapped::Nothing;
        }
        let maps_by_nfkc = matches!(c,
            '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}' | '\u{3000}'..='\u{303F}');
        if is_han(c) && !maps_by_nfkc {
            return Mapped::One(if self.has(NormalizeStep::Simplified) { simplify(c) } else { c });
        }
        if self.composes(c) {
            return Mapped::Composing;
        }
        let result = self.apply(c.encode_utf8(&mut [0; 4]));
        let mut chars = result.chars();
        match (chars.next(), chars.next()) {
            (None, _) => Mapped::Nothing,
            _ if result.chars().any(|c| self.composes(c)) => Mapped::Composing,
            (Some(one), None) => Mapped::One(one),
            _ => Mapped::Several,
        }
    }

    /// The steps repeated until nothing changes.
    pub(super) fn apply(&self, text: &str) -> String {
        // Every known text is stable after two rounds. The bound only excludes an endless loop.
        const ROUNDS: usize = 8;
        let mut text = text.to_owned();
        for _ in 0..ROUNDS {
            let next = self.apply_once(&text);
            if next == text {
                break;
            }
            text = next;
        }
        text
    }

    fn apply_once(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.has(NormalizeStep::Space) {
            text.retain(|c| !properties(c).any(Properties::IGNORABLE));
        }
        if self.has(NormalizeStep::Confusables) {
            text =
                text.chars().flat_map(|c| prototype(c, self.has(NormalizeStep::Lower))).collect();
        }
        if self.has(NormalizeStep::Nfkc) {
            text = text.nfkc().collect();
        }
        if self.has(NormalizeStep::German) {
            text = german(&text);
        }
        if self.has(NormalizeStep::Marks) {
            text = without_marks(&text);
        }
        if self.has(NormalizeStep::Lower) {
            text = text.chars().map(dotted).default_case_fold().collect();
        }
        if self.has(NormalizeStep::Simplified) {
            text = text.chars().map(simplify).collect();
        }
        if self.has(NormalizeStep::Digits) {
            text = text.chars().map(western_digit).collect();
        }
        text
    }
}

/// The prototype of a letter or digit: what it looks like by Unicode Technical Standard #39. With
/// `lower`, capital and small letters are the same. So i maps to l, because its capital looks like
/// l and 1.
fn prototype(c: char, lower: bool) -> Vec<char> {
    let set = properties(c);
    match c {
        'i' if lower => vec!['l'],
        _ if set.any(Properties::HAN) || !set.any(Properties::WORD) => vec![c],
        _ => skeleton(c.encode_utf8(&mut [0; 4])).collect(),
    }
}

/// The text with umlauts written out, as in DIN 5007-2.
fn german(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ä' => out.push_str("ae"),
            'ö' => out.push_str("oe"),
            'ü' => out.push_str("ue"),
            'Ä' => out.push_str("Ae"),
            'Ö' => out.push_str("Oe"),
            'Ü' => out.push_str("Ue"),
            'ß' => out.push_str("ss"),
            'ẞ' => out.push_str("SS"),
            _ => out.push(c),
        }
    }
    out
}

/// The text without the marks of the scripts that are read without them, without the strokes of
/// Latin letters, and without the tatweel, which only stretches Arabic words. Letters that can be
/// written in two ways are written in one.
fn without_marks(text: &str) -> String {
    const TATWEEL: char = '\u{640}';
    let mut out = String::with_capacity(text.len());
    let mut on_marked = false;
    for c in text.chars().filter(|&c| c != TATWEEL) {
        let set = properties(c);
        if set.any(Properties::LOOSE) {
            if !on_marked {
                out.push(c);
            }
            continue;
        }
        on_marked = set.any(Properties::MARKED);
        if on_marked {
            decompose_canonical(c, |part| {
                if !properties(part).any(Properties::LOOSE) {
                    push_in_one_way(without_stroke(part), &mut out);
                }
            });
        } else {
            push_in_one_way(c, &mut out);
        }
    }
    out
}

/// The base letter of a Latin letter with a stroke, such as d for đ. Unicode gives it no
/// decomposition, but Unicode Technical Standard #39 shows it as that base under an overlay.
fn without_stroke(c: char) -> char {
    let is_overlay = |c| matches!(c, '\u{335}'..='\u{338}');
    let letter = |c: char| {
        let shown: Vec<char> = skeleton(c.encode_utf8(&mut [0; 4])).collect();
        match shown[..] {
            [letter @ ('a'..='z' | 'A'..='Z'), overlay] if is_overlay(overlay) => Some(letter),
            _ => None,
        }
    };
    if c.is_ascii() || c.script() != Script::Latin {
        return c;
    }
    // A capital eth looks like a D with a stroke, but is none. So the small form of a letter
    // decides.
    let mut folded = std::iter::once(c).default_case_fold();
    match (folded.next().and_then(letter), letter(c)) {
        (Some(small), Some(own)) if own.eq_ignore_ascii_case(&small) => own,
        _ => c,
    }
}

/// Appends a letter, or its other spelling:
/// - two letters for a Latin ligature, and for eth and thorn (CLDR's transform Latin-ASCII);
/// - the letters of Arabic keyboards for those of Persian and Urdu ones;
/// - a consonant and a virama for a chillu of Malayalam (The Unicode Standard, 12.9), whose joiner
///   is invisible;
/// - the apostrophe for letters that are written as one: of Uzbek, Hawaiian, Ukrainian, and of
///   transliterations.
fn push_in_one_way(c: char, out: &mut String) {
    let other = match c {
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'ð' => "d",
        'Ð' => "D",
        'þ' => "th",
        'Þ' => "TH",
        // Farsi yeh and alef maksura; keheh; heh goal, heh doachashmee, ae; teh marbuta goal.
        '\u{6CC}' | '\u{649}' => "\u{64A}",
        '\u{6A9}' => "\u{643}",
        '\u{6C1}' | '\u{6BE}' | '\u{6D5}' => "\u{647}",
        '\u{6C3}' => "\u{629}",
        '\u{D7A}' => "\u{D23}\u{D4D}",
        '\u{D7B}' => "\u{D28}\u{D4D}",
        '\u{D7C}' => "\u{D30}\u{D4D}",
        '\u{D7D}' => "\u{D32}\u{D4D}",
        '\u{D7E}' => "\u{D33}\u{D4D}",
        '\u{D7F}' => "\u{D15}\u{D4D}",
        '\u{2B9}' | '\u{2BB}'..='\u{2BF}' => "'",
        _ => return out.push(c),
    };
    out.push_str(other);
}

/// An i for the dotless i and the dotted capital I of Turkish and Azeri. The other two are the i
/// and I of ASCII, which fold to i, so all four become the same.
fn dotted(c: char) -> char {
    if matches!(c, 'ı' | 'İ') { 'i' } else { c }
}

/// The ASCII digit of a decimal digit, and the ASCII signs for the decimal and thousands separators
/// of Arabic. The digits 0 to 9 of each script are consecutive characters (Unicode's stability
/// policy).
fn western_digit(c: char) -> char {
    let is_decimal =
        |code| char::from_u32(code).is_some_and(|c| properties(c).any(Properties::DECIMAL));
    match c {
        '\u{66B}' => '.',
        '\u{66C}' => ',',
        _ if properties(c).any(Properties::DECIMAL) => {
            let before = (0..c as u32).rev().take_while(|&code| is_decimal(code)).count();
            char::from(b'0' + (before % 10) as u8)
        }
        _ => c,
    }
}

/// The simplified form of a traditional character by OpenCC's table of characters, which has the
/// first choice if there are several. Any other character is its own form.
fn simplify(c: char) -> char {
    static SIMPLIFIED: Lazy<HashMap<char, char>> = Lazy::new(|| {
        let single = |text: &str| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        RawDictionary::TSCharacters
            .iter()
            .filter_map(|(traditional, simplified)| {
                Some((single(traditional)?, single(simplified)?))
            })
            .collect()
    });
    // A few simplified forms are themselves listed as traditional ones.
    const LONGEST_CHAIN: usize = 4;
    let mut c = c;
    for _ in 0..LONGEST_CHAIN {
        match SIMPLIFIED.get(&c) {
            Some(&simplified) if simplified != c => c = simplified,
            _ => break,
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_chars() -> impl Iterator<Item = char> {
        (0..=0x10_ffff).filter_map(char::from_u32)
    }

    /// Checks the table and its shortcuts against the definition: for every combination of steps,
    /// the characters that any single step changes; for the default steps, every character.
    #[test]
    fn the_table_holds_what_the_steps_give() {
        let of_mask = |mask: u32| {
            let steps = STEPS.into_iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
            Mapping::new(steps.map(|(_, step)| step).collect())
        };
        let check = |mapping: &Mapping, c: char| {
            let applied = mapping.apply(c.encode_utf8(&mut [0; 4]));
            assert_eq!(mapping.apply_once(&applied), applied, "{c:?} is not settled");
            match mapping.map(c) {
                Mapped::One(mapped) => assert_eq!(applied, mapped.to_string(), "{c:?}"),
                Mapped::Nothing => assert_eq!(applied, "", "{c:?}"),
                Mapped::Several => {
                    assert!(!applied.chars().any(|c| mapping.composes(c)), "{c:?}");
                }
                Mapped::Composing => assert!(
                    mapping.has(NormalizeStep::Nfkc)
                        || mapping.has(NormalizeStep::Marks)
                        || mapping.has(NormalizeStep::Confusables)
                ),
            }
        };
        let single: Vec<Mapping> = (0..STEPS.len()).map(|bit| of_mask(1 << bit)).collect();
        let changed: Vec<char> = all_chars()
            .filter(|&c| {
                let by = |mapping: &Mapping| {
                    mapping.composes(c) || mapping.apply_once(&c.to_string()) != c.to_string()
                };
                // One in 16 Han characters and syllables of Hangul represents the others.
                ((c as u32).is_multiple_of(16) || !matches!(c, '一'..='\u{9FFF}' | '가'..='힣'))
                    && single.iter().any(by)
            })
            .collect();
        assert!(changed.len() > 10_000, "{}", changed.len());
        for mask in 0..1 << STEPS.len() {
            let mapping = of_mask(mask);
            changed.iter().for_each(|&c| check(&mapping, c));
        }
        let default = Mapping::new(NormalizeSteps::default());
        all_chars().for_each(|c| check(&default, c));
    }

    #[test]
    fn what_quick_check_leaves_open_composes() {
        use unicode_normalization::{IsNormalized, is_nfc_quick};
        let mapping = Mapping::new(NormalizeSteps::default());
        for c in all_chars().filter(|&c| is_nfc_quick(std::iter::once(c)) == IsNormalized::Maybe) {
            assert!(mapping.composes(c), "{c:?}");
        }
    }

    #[test]
    fn known_simplified_forms() {
        let pairs = "萬万 國国 碼码 瀋沈 裡里 裏里 後后 麼么 著著 臺台 龍龙 書书 語语".split(' ');
        for pair in pairs {
            let chars: Vec<char> = pair.chars().collect();
            assert_eq!(simplify(chars[0]), chars[1], "{pair}");
        }
        assert_eq!(simplify('中'), '中');
    }
}
