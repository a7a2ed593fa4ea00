//! Seeded edits of a text, as in the experiments of E-Simhash: modify, delete, move, replace.

use crate::random::Random;

/// An edit of a span of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// Replaces each character by one from anywhere in the donor text.
    Modify,
    /// Deletes the span.
    Delete,
    /// Puts the span somewhere else.
    Move,
    /// Replaces the span by one of the same length from the donor text.
    Replace,
}

pub const EDITS: [Edit; 4] = [Edit::Modify, Edit::Delete, Edit::Move, Edit::Replace];

/// The longest span that is edited at once.
const LONGEST_SPAN: usize = 20;

/// The number of characters in `percent` of `length`.
pub fn budget(length: usize, percent: u32) -> usize {
    length * percent as usize / 100
}

/// The text after edits, each of a kind drawn from `kinds`. Their spans have `budget(length,
/// percent)` characters in all. New text comes from `donor`.
pub fn edited(
    text: &str,
    percent: u32,
    kinds: &[Edit],
    donor: &str,
    random: &mut Random,
) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let donor: Vec<char> = donor.chars().collect();
    let mut left = budget(characters.len(), percent);
    while left > 0 {
        let length = 1 + random.below(LONGEST_SPAN.min(left));
        left -= length;
        apply(kinds[random.below(kinds.len())], length, &mut characters, &donor, random);
    }
    characters.into_iter().collect()
}

/// The text after one edit of any kind, of one passage. Its length is random, at most
/// `budget(length, percent)` characters.
pub fn edited_passage(text: &str, percent: u32, donor: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let donor: Vec<char> = donor.chars().collect();
    let most = budget(characters.len(), percent);
    if most > 0 {
        let length = 1 + random.below(most);
        apply(EDITS[random.below(EDITS.len())], length, &mut characters, &donor, random);
    }
    characters.into_iter().collect()
}

fn apply(kind: Edit, length: usize, text: &mut Vec<char>, donor: &[char], random: &mut Random) {
    let length = length.min(text.len());
    let start = random.below(text.len() - length + 1);
    let span = start..start + length;
    match kind {
        Edit::Modify => text[span].iter_mut().for_each(|c| *c = donor[random.below(donor.len())]),
        Edit::Delete => drop(text.drain(span)),
        Edit::Move => {
            let moved: Vec<char> = text.drain(span).collect();
            let to = random.below(text.len() + 1);
            text.splice(to..to, moved);
        }
        Edit::Replace => {
            let length = length.min(donor.len());
            let from = random.below(donor.len() - length + 1);
            text.splice(span, donor[from..from + length].iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn text() -> String {
        (0..1000).map(|i| char::from_u32(0x4e00 + i % 700).unwrap()).collect()
    }

    const DONOR: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

    fn foreign(text: &str) -> usize {
        text.chars().filter(char::is_ascii).count()
    }

    #[test]
    fn edits_keep_their_budget() {
        for percent in [0, 5, 10, 15, 20] {
            let most = budget(1000, percent);
            assert_eq!(most, 10 * percent as usize);
            for seed in 0..20 {
                let edit =
                    |kind| edited(&text(), percent, &[kind], DONOR, &mut Random::new(seed, "edit"));
                assert_eq!(edit(Edit::Delete).chars().count(), 1000 - most);
                for kind in [Edit::Modify, Edit::Replace] {
                    let changed = edit(kind);
                    assert_eq!(changed.chars().count(), 1000);
                    let touched = foreign(&changed);
                    assert!(
                        touched <= most && touched * 10 >= most * 7,
                        "{kind:?}: {touched} of {most}"
                    );
                }
                let count = |text: &str| {
                    text.chars().fold(BTreeMap::new(), |mut counts: BTreeMap<char, u32>, c| {
                        *counts.entry(c).or_default() += 1;
                        counts
                    })
                };
                assert_eq!(
                    count(&edit(Edit::Move)),
                    count(&text()),
                    "moving keeps every character"
                );
                let mixed = edited(&text(), percent, &EDITS, DONOR, &mut Random::new(seed, "edit"));
                assert!(foreign(&mixed) + (1000 - mixed.chars().count()) <= most);
                assert_eq!(mixed == text(), percent == 0);
            }
        }
    }

    #[test]
    fn a_passage_keeps_its_budget() {
        for seed in 0..50 {
            let changed = edited_passage(&text(), 20, DONOR, &mut Random::new(seed, "edit"));
            assert!(foreign(&changed) + (1000 - changed.chars().count()) <= 200);
            assert_ne!(changed, text());
        }
        assert_eq!(edited_passage("一二三", 20, DONOR, &mut Random::new(1, "edit")), "一二三");
    }

    #[test]
    fn short_texts_survive() {
        for kind in EDITS {
            for text in ["", "一", "一二三四五六七"] {
                edited(text, 20, &[kind], "ab", &mut Random::new(3, "edit"));
                edited(text, 100, &[kind], "ab", &mut Random::new(3, "edit"));
            }
        }
        assert_eq!(edited("一二三", 100, &[Edit::Delete], "a", &mut Random::new(3, "edit")), "");
    }
}
