//! Characters are mapped to characters: NFKC, case folding, traditional to simplified Chinese, and
//! invisible ones to nothing.
//!
//! The definition is [`Mapping::apply`]: the steps are repeated until nothing changes. All but a
//! few characters map by themselves, whatever stands beside them. For those a table holds the
//! answer.

use std::collections::HashMap;

use caseless::Caseless;
use hanconv::RawDictionary;
use unicode_normalization::UnicodeNormalization;

use crate::config::{NormalizeStep, NormalizeSteps};
use crate::han::is_han;
use crate::lazy::Lazy;
use crate::unicode::{CharTable, MAIN_HAN, Properties, ThreeByteSet, properties};

/// What becomes of a character that stands by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapped {
    /// One character, perhaps itself.
    One(char),
    /// It is dropped.
    Nothing,
    /// Several characters, none of which composes with what stands before.
    Several,
    /// What it becomes depends on what stands before.
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
    nfkc: bool,
    lower: bool,
    simplified: bool,
    /// The `space` step drops invisible characters.
    visible: bool,
    table: &'static CharTable<Entry>,
    unchanged_han: &'static ThreeByteSet,
}

/// About the most characters that are copied before the caller may check for interruption.
const LONGEST_HAN: usize = 4 << 10;

/// The characters of U+4E00 to U+9FFF that are not traditional.
static SIMPLIFIED_HAN: Lazy<ThreeByteSet> =
    Lazy::new(|| ThreeByteSet::main_han(|c| simplify(c) == c));

/// One table for every combination of the four flags.
static TABLES: [CharTable<Entry>; 16] = [const { CharTable::new() }; 16];

impl Mapping {
    pub(super) fn new(steps: NormalizeSteps) -> Self {
        let [nfkc, lower, simplified, visible] = [
            NormalizeStep::Nfkc,
            NormalizeStep::Lower,
            NormalizeStep::Simplified,
            NormalizeStep::Space,
        ]
        .map(|step| steps.contains(step));
        let flags = [nfkc, lower, simplified, visible];
        let table = flags.iter().fold(0, |index, &flag| 2 * index + usize::from(flag));
        let unchanged_han = if simplified { &*SIMPLIFIED_HAN } else { &*MAIN_HAN };
        Mapping { nfkc, lower, simplified, visible, table: &TABLES[table], unchanged_han }
    }

    #[inline]
    pub(super) fn map(&self, c: char) -> Mapped {
        self.table.get(c, |c| Entry::new(self.compute(c))).mapped()
    }

    /// `bytes` starts with Han characters (U+4E00 to U+9FFF) that map to themselves: their number
    /// of bytes.
    #[inline]
    pub(super) fn unchanged_han_length(&self, bytes: &[u8]) -> usize {
        self.unchanged_han.run_length(bytes, LONGEST_HAN)
    }

    /// Whether normalisation may join `c` to what stands before it.
    pub(super) fn composes(&self, c: char) -> bool {
        self.nfkc && properties(c).any(Properties::COMPOSES)
    }

    fn compute(&self, c: char) -> Mapped {
        if self.visible && properties(c).any(Properties::IGNORABLE) {
            return Mapped::Nothing;
        }
        let maps_by_nfkc = matches!(c,
            '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}' | '\u{3000}'..='\u{303F}');
        if is_han(c) && !maps_by_nfkc {
            return Mapped::One(if self.simplified { simplify(c) } else { c });
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
        // Two rounds settle every known text. The bound only keeps a surprise from looping.
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
        if self.visible {
            text.retain(|c| !properties(c).any(Properties::IGNORABLE));
        }
        if self.nfkc {
            text = text.nfkc().collect();
        }
        if self.lower {
            text = text.chars().default_case_fold().collect();
        }
        if self.simplified {
            text = text.chars().map(simplify).collect();
        }
        text
    }
}

/// The simplified form of a traditional character by OpenCC's table of characters, which has the
/// first choice where there are several. Any other character is its own form.
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
    // A few simplified forms are listed as traditional ones of others.
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

    /// The table and its shortcuts against the definition, for every character and combination of
    /// steps.
    #[test]
    fn the_table_holds_what_the_steps_give() {
        for mask in 0..16u8 {
            let steps = [
                NormalizeStep::Nfkc,
                NormalizeStep::Lower,
                NormalizeStep::Simplified,
                NormalizeStep::Space,
            ]
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| mask >> bit & 1 == 1)
            .map(|(_, step)| step)
            .collect();
            let mapping = Mapping::new(steps);
            for c in all_chars() {
                let applied = mapping.apply(c.encode_utf8(&mut [0; 4]));
                assert_eq!(mapping.apply_once(&applied), applied, "{c:?} is not settled");
                match mapping.map(c) {
                    Mapped::One(mapped) => assert_eq!(applied, mapped.to_string(), "{c:?}"),
                    Mapped::Nothing => assert_eq!(applied, "", "{c:?}"),
                    Mapped::Several => {
                        assert!(!applied.chars().any(|c| mapping.composes(c)), "{c:?}");
                    }
                    Mapped::Composing => assert!(mapping.nfkc),
                }
            }
        }
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
