//! Outlines of sets of shingles: hashes cut to 16 bits, which quickly show that two sets are not
//! similar.

use super::shingles::ShingleSet;

/// The most shingles of a set that has an outline.
pub const MOST_SHINGLES: usize = 512;

/// The hashes of a set, cut to 16 bits, with repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    length: u16,
    /// Ascending.
    hashes: [u16; MOST_SHINGLES],
}

impl Outline {
    /// `None` if the set has too many shingles, or they have weights.
    pub fn of(set: &ShingleSet) -> Option<Self> {
        if set.len() > MOST_SHINGLES || !set.weights().is_empty() {
            return None;
        }
        let mut hashes = [0; MOST_SHINGLES];
        for (cut, hash) in hashes.iter_mut().zip(set.hashes()) {
            *cut = (hash >> 48) as u16;
        }
        Some(Outline { length: set.len() as u16, hashes })
    }

    /// Whether Jaccard's coefficient of the two sets can be at least `least`. False is certain: the
    /// outlines share at least as many values as the sets share shingles.
    pub fn may_reach(&self, other: &Self, least: f64) -> bool {
        let [a, b] = [self, other].map(|outline| &outline.hashes[..usize::from(outline.length)]);
        let (mut i, mut j, mut common) = (0, 0, 0);
        while let (Some(first), Some(second)) = (a.get(i), b.get(j)) {
            common += usize::from(first == second);
            i += usize::from(first <= second);
            j += usize::from(second <= first);
        }
        let union = a.len() + b.len() - common;
        common as f64 / union.max(1) as f64 >= least
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Config, Simhasher};

    fn set(words: &[u32]) -> ShingleSet {
        let config: Config = r#"{"tokenizer": "word", "shingle": 1}"#.parse().unwrap();
        let text: String = words.iter().map(|word| format!("w{word} ")).collect();
        ShingleSet::new(&mut Simhasher::new(config).unwrap(), &text, &mut || ())
    }

    proptest! {
        #[test]
        fn an_outline_never_denies_what_is_similar(
            shared in prop::collection::vec(0_u32..100_000, 0..200),
            a in prop::collection::vec(0_u32..100_000, 0..200),
            b in prop::collection::vec(0_u32..100_000, 0..200),
        ) {
            let [a, b] = [a, b].map(|own| set(&[&shared[..], &own[..]].concat()));
            let (x, y) = (Outline::of(&a).unwrap(), Outline::of(&b).unwrap());
            let jaccard = a.jaccard(&b).unwrap_or(0.0);
            prop_assert!(x.may_reach(&y, jaccard));
            // With 400 hashes among 65,536 values, few are equal by chance.
            prop_assert!(a.is_empty() || b.is_empty() || !x.may_reach(&y, jaccard + 0.15));
        }
    }

    #[test]
    fn a_set_of_many_shingles_has_none() {
        let of = |count| Outline::of(&ShingleSet::from_parts(0..count, [], 0).unwrap());
        assert!(of(512).is_some() && of(513).is_none());
    }
}
