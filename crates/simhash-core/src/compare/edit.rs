//! Edit distance: the number of graphemes to insert, delete or replace to turn one text into
//! another (Levenshtein 1965), by the bit-parallel algorithm of Hyyrö (2003) in rapidfuzz.

use std::collections::HashMap;
use std::iter::Copied;
use std::slice::Iter;

use rapidfuzz::distance::levenshtein;
use unicode_segmentation::UnicodeSegmentation;

use crate::base::interrupt::Interrupt;
use crate::config::NormalizeSteps;
use crate::texts::normalize::normalize_into;

/// The maximal number of graphemes of a text between the common beginning and the common end. A
/// comparison needs about 64 bytes for each.
pub const MOST_GRAPHEMES: usize = 1 << 20;

/// A text has more than [`MOST_GRAPHEMES`] graphemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// The number of the longer text's graphemes between the common beginning and the common end.
    pub graphemes: usize,
}

/// One minus the edit distance divided by the length of the longer text. Both are counted in
/// extended grapheme clusters of the texts normalised by `steps`. The result is from 0 to 1, and 1
/// for equal texts. It is 0 if one of the texts has no grapheme.
///
/// # Errors
/// [`TooLong`].
///
/// ```
/// use simhash_core::config::NormalizeSteps;
/// use simhash_core::compare::edit::similarity;
/// let of = |a, b| similarity([a, b], NormalizeSteps::default(), &mut || ());
/// assert_eq!(of("Kitten", "sitting"), Ok(4.0 / 7.0));
/// assert_eq!(of("e\u{301}te", "Été"), Ok(1.0));
/// assert_eq!(of("", ""), Ok(0.0));
/// ```
pub fn similarity(
    texts: [&str; 2],
    steps: NormalizeSteps,
    interrupt: &mut dyn FnMut(),
) -> Result<f64, TooLong> {
    let interrupt = &Interrupt::new(interrupt);
    let [a, b] = texts.map(|text| {
        let mut normalized = String::new();
        normalize_into(text, steps, interrupt, &mut normalized);
        normalized
    });
    let mut numbers = Numbers(HashMap::new());
    let [a, b] = [&a, &b].map(|text| numbers.of(text, interrupt));
    let longer = a.len().max(b.len());
    if a.is_empty() || b.is_empty() {
        return Ok(0.0);
    }
    let [a, b] = without_common_ends(&a, &b);
    let graphemes = a.len().max(b.len());
    if graphemes > MOST_GRAPHEMES {
        return Err(TooLong { graphemes });
    }
    let words = graphemes / 64 + 1;
    let [a, b] = [a, b].map(|text| Checked { left: text.iter().copied(), words, interrupt });
    Ok((longer - levenshtein::distance(a, b)) as f64 / longer as f64)
}

/// A number for each grapheme: the code point of a single character, or a number beyond all code
/// points for a longer cluster.
struct Numbers<'a>(HashMap<&'a str, u32>);

impl<'a> Numbers<'a> {
    fn of(&mut self, text: &'a str, interrupt: &Interrupt) -> Vec<u32> {
        let numbers = text.graphemes(true).map(|cluster| {
            interrupt.spend(cluster.len());
            let mut chars = cluster.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => u32::from(c),
                _ => {
                    let next = u32::from(char::MAX) + 1 + self.0.len() as u32;
                    *self.0.entry(cluster).or_insert(next)
                }
            }
        });
        numbers.collect()
    }
}

/// Removes the common beginning, and then the common end. That does not change the distance.
fn without_common_ends<'a>(a: &'a [u32], b: &'a [u32]) -> [&'a [u32]; 2] {
    let same = |&(x, y): &(&u32, &u32)| x == y;
    let begin = a.iter().zip(b).take_while(same).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
    [&a[..a.len() - end], &b[..b.len() - end]]
}

/// An iterator over grapheme numbers that checks for interrupts at each one. For each grapheme of
/// one text, the algorithm processes at most `words` words, each for 64 graphemes of the other
/// text. A call of the library can therefore be cancelled.
#[derive(Clone)]
struct Checked<'a> {
    left: Copied<Iter<'a, u32>>,
    words: usize,
    interrupt: &'a Interrupt<'a>,
}

impl Iterator for Checked<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.interrupt.spend(self.words);
        self.left.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }

    fn count(self) -> usize {
        self.left.len()
    }
}

impl DoubleEndedIterator for Checked<'_> {
    fn next_back(&mut self) -> Option<u32> {
        self.left.next_back()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use proptest::prelude::*;

    use super::*;

    /// The distance by dynamic programming (Wagner and Fischer 1974).
    fn distance(a: &[u32], b: &[u32]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, y) in b.iter().enumerate() {
                let replaced = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    fn of(a: &str, b: &str) -> f64 {
        similarity([a, b], NormalizeSteps::default(), &mut || ()).unwrap()
    }

    /// A text of the characters with these numbers: letters, Han characters, and clusters of two.
    fn text(numbers: &[u32]) -> String {
        let character = |&number: &u32| match number % 3 {
            0 => char::from_u32(u32::from('a') + number / 3).unwrap().to_string(),
            1 => char::from_u32(0x4e00 + number / 3).unwrap().to_string(),
            _ => format!("{}\u{301}", char::from_u32(0x4e00 + number / 3).unwrap()),
        };
        numbers.iter().map(character).collect()
    }

    fn checked(a: &[u32], b: &[u32]) -> Result<(), TestCaseError> {
        let longer = a.len().max(b.len());
        let expected = match a.len().min(b.len()) {
            0 => 0.0,
            _ => (longer - distance(a, b)) as f64 / longer as f64,
        };
        let found = [[a, b], [b, a]].map(|[a, b]| {
            similarity([&text(a), &text(b)], NormalizeSteps::NONE, &mut || ()).unwrap()
        });
        prop_assert_eq!(found, [expected; 2]);
        Ok(())
    }

    proptest! {
        #[test]
        fn equals_dynamic_programming(
            a in prop::collection::vec(0u32..6, 0..12),
            b in prop::collection::vec(0u32..6, 0..12),
        ) {
            checked(&a, &b)?;
        }

        /// Beyond 64 graphemes the library compares blocks, and only in a band that it widens if
        /// the texts differ more.
        #[test]
        fn equals_dynamic_programming_of_long_texts(
            mut a in prop::collection::vec(0u32..60, 0..700),
            b in prop::collection::vec(0u32..60, 0..700),
            edits in prop::collection::vec((0usize..700, 0u32..3, 0u32..60), 0..200),
        ) {
            checked(&a, &b)?;
            let original = a.clone();
            for (place, edit, number) in edits {
                let place = place % (a.len() + 1);
                match edit {
                    0 => a.insert(place, number),
                    1 if place < a.len() => { a.remove(place); }
                    _ if place < a.len() => a[place] = number,
                    _ => {}
                }
            }
            checked(&original, &a)?;
        }
    }

    #[test]
    fn texts_are_normalised_first() {
        assert_eq!(of("Hello,  World!", "hello world"), 1.0);
        assert_eq!(of("漢字", "汉字"), 1.0);
        // One of eleven graphemes is inserted: the space.
        assert_eq!(of("hello world", "helloworld"), 10.0 / 11.0);
        let raw = similarity(["ab", "AB"], NormalizeSteps::NONE, &mut || ());
        assert_eq!(raw, Ok(0.0));
        // Families of four people and of three are one grapheme each.
        let families = ["👨‍👩‍👧‍👦 a", "👨‍👩‍👦 a"];
        assert_eq!(similarity(families, NormalizeSteps::NONE, &mut || ()), Ok(2.0 / 3.0));
    }

    #[test]
    fn texts_without_a_grapheme_are_near_to_nothing() {
        assert_eq!([of("", ""), of("", "a"), of(" . ", "!")], [0.0; 3]);
    }

    #[test]
    fn too_long_texts_are_refused() {
        let steps = NormalizeSteps::NONE;
        let [a, b] = ["a", "b"].map(|letter| letter.repeat(MOST_GRAPHEMES + 1));
        let graphemes = MOST_GRAPHEMES + 1;
        assert_eq!(similarity([&a, &b], steps, &mut || ()), Err(TooLong { graphemes }));
        // The common beginning and end do not count.
        let [c, d] = ["x", "yz"].map(|middle| format!("{a}{middle}{b}"));
        let length = 2 * graphemes + 2;
        let expected = (length - 2) as f64 / length as f64;
        assert_eq!(similarity([&c, &d], steps, &mut || ()), Ok(expected));
    }

    #[test]
    fn a_long_comparison_can_be_cancelled() {
        // There are 2^12 rows, each of 2^6 words.
        let [a, b] = ["ab", "cd"].map(|pair| pair.repeat(1 << 11));
        let mut checks = 0;
        let of =
            |interrupt: &mut dyn FnMut()| similarity([&a, &b], NormalizeSteps::NONE, interrupt);
        assert_eq!(of(&mut || checks += 1), Ok(0.0));
        assert!(checks > 10, "{checks} checks");
        let mut left = checks - 2;
        let cancelled = catch_unwind(AssertUnwindSafe(|| {
            of(&mut || {
                left -= 1;
                if left == 0 {
                    resume_unwind(Box::new("cancelled"));
                }
            })
        }));
        assert!(cancelled.is_err());
    }
}
