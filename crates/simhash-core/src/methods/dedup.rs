//! Finds duplicates in a stream of texts in two stages (Gao and Li 2014): equal texts first, then
//! near fingerprints among the rest.
//!
//! Their second stage compares all pairs. Here the block tables of [`super::near`] replace it. A
//! near duplicate is not added to the tables. So the texts that are kept are pairwise farther apart
//! than the distance, and every near duplicate is within the distance of the kept text that it
//! names.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::bloom::{ScalableBloom, ShapeError};
use super::near::NearIndex;
use super::trie::Trie;

/// How equal texts are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exact {
    /// Not at all.
    None,
    /// By 128-bit hashes, in 29 to 57 bytes a text: 25 bytes a slot, of which 7/16 to 7/8 are in
    /// use.
    Hash,
    /// By a Bloom filter of [`BLOOM_RATE`], in 4 to 20 bytes a text. The equal text remains
    /// unknown.
    Bloom,
    /// By the texts themselves, in about 32 bytes a text and its own bytes.
    Trie,
}

impl Exact {
    /// Every choice, in the order in which the documentation lists them.
    pub const ALL: [Exact; 4] = [Exact::None, Exact::Hash, Exact::Bloom, Exact::Trie];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Exact::None => "none",
            Exact::Hash => "hash",
            Exact::Bloom => "bloom",
            Exact::Trie => "trie",
        }
    }

    /// The choice with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|exact| exact.name() == name)
    }
}

/// The share of texts that the Bloom filter may call duplicates although they are not.
pub const BLOOM_RATE: f64 = 1e-6;

/// A text that duplicates an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// The earlier text. Unknown (`None`) with a Bloom filter.
    pub of: Option<i64>,
    /// The name of the stage that found it: hash, bloom, trie or near.
    pub stage: &'static str,
    /// The distance of the fingerprints, 0 for equal texts. Unknown (`None`) with a Bloom filter.
    pub distance: Option<u32>,
}

/// Finds the duplicates in a stream of texts.
///
/// ```
/// use simhash_core::methods::dedup::{Deduplicator, Exact};
/// let mut stream = Deduplicator::new(Exact::Hash, Some(3));
/// assert_eq!(stream.check(1, "one", || Some(0b0001)).unwrap(), None);
/// let exact = stream.check(2, "one", || Some(0b0001)).unwrap().unwrap();
/// assert_eq!((exact.of, exact.stage, exact.distance), (Some(1), "hash", Some(0)));
/// let near = stream.check(3, "won", || Some(0b0111)).unwrap().unwrap();
/// assert_eq!((near.of, near.stage, near.distance), (Some(1), "near", Some(2)));
/// ```
pub struct Deduplicator {
    exact: ExactSet,
    near: Option<NearIndex>,
    /// The id of the text of each fingerprint in `near`, by the fingerprint's number.
    kept: Vec<i64>,
}

enum ExactSet {
    None,
    Hash { seed: u64, texts: HashMap<[u64; 2], i64, ByItself> },
    Bloom(Box<ScalableBloom>),
    Trie { trie: Trie, ids: Vec<i64> },
}

impl Deduplicator {
    /// Finds equal texts by the method `exact` and, if `distance` is given, fingerprints within it.
    ///
    /// # Panics
    /// When the distance is greater than 64.
    pub fn new(exact: Exact, distance: Option<u32>) -> Self {
        let exact = match exact {
            Exact::None => ExactSet::None,
            // The seed is random, so colliding texts cannot be prepared in advance.
            Exact::Hash => ExactSet::Hash {
                seed: RandomState::new().hash_one(0u64),
                texts: HashMap::with_hasher(ByItself),
            },
            Exact::Bloom => {
                const FIRST: i64 = 1 << 20;
                ExactSet::Bloom(Box::new(
                    ScalableBloom::new(FIRST, BLOOM_RATE).expect("a valid rate"),
                ))
            }
            Exact::Trie => ExactSet::Trie { trie: Trie::new(), ids: Vec::new() },
        };
        Deduplicator { exact, near: distance.map(NearIndex::new), kept: Vec::new() }
    }

    /// The duplicate that `text` is of a text checked before, if any. `fingerprint` is called only
    /// if no earlier text is equal. A text without a fingerprint has no near duplicates.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] when a Bloom filter can grow no more.
    pub fn check(
        &mut self,
        id: i64,
        text: &str,
        fingerprint: impl FnOnce() -> Option<u64>,
    ) -> Result<Option<Duplicate>, ShapeError> {
        if let Some(duplicate) = self.exact.check(id, text)? {
            return Ok(Some(duplicate));
        }
        let Some(near) = &mut self.near else { return Ok(None) };
        let Some(fingerprint) = fingerprint() else { return Ok(None) };
        if let Some(found) = near.nearest(fingerprint) {
            let of = Some(self.kept[found.number as usize]);
            return Ok(Some(Duplicate { of, stage: "near", distance: Some(found.distance) }));
        }
        near.add(fingerprint);
        self.kept.push(id);
        Ok(None)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let exact = match &self.exact {
            ExactSet::None => 0,
            // A slot is the entry and one byte. At most seven of eight slots are taken.
            ExactSet::Hash { texts, .. } => {
                texts.capacity() / 7 * 8 * (size_of::<([u64; 2], i64)>() + 1)
            }
            ExactSet::Bloom(bloom) => bloom.memory(),
            ExactSet::Trie { trie, ids } => trie.memory() + ids.capacity() * size_of::<i64>(),
        };
        exact
            + self.near.as_ref().map_or(0, NearIndex::memory)
            + self.kept.capacity() * size_of::<i64>()
    }
}

impl ExactSet {
    fn check(&mut self, id: i64, text: &str) -> Result<Option<Duplicate>, ShapeError> {
        let equal = |of, stage| Duplicate { of: Some(of), stage, distance: Some(0) };
        Ok(match self {
            ExactSet::None => None,
            ExactSet::Hash { seed, texts } => {
                let hash = xxh3_128_with_seed(text.as_bytes(), *seed);
                match texts.entry([hash as u64, (hash >> 64) as u64]) {
                    std::collections::hash_map::Entry::Occupied(first) => {
                        Some(equal(*first.get(), "hash"))
                    }
                    std::collections::hash_map::Entry::Vacant(place) => {
                        place.insert(id);
                        None
                    }
                }
            }
            ExactSet::Bloom(bloom) => {
                let new = bloom.insert(text.as_bytes())?;
                (!new).then_some(Duplicate { of: None, stage: "bloom", distance: None })
            }
            ExactSet::Trie { trie, ids } => match trie.insert(text.as_bytes()) {
                Ok(_) => {
                    ids.push(id);
                    None
                }
                Err(first) => Some(equal(ids[first], "trie")),
            },
        })
    }
}

/// The hasher for keys that are hashes already.
#[derive(Clone, Copy)]
struct ByItself;

impl BuildHasher for ByItself {
    type Hasher = FirstWord;
    fn build_hasher(&self) -> FirstWord {
        FirstWord(None)
    }
}

/// Takes the first word written as the hash.
#[derive(Clone, Copy, Default)]
struct FirstWord(Option<u64>);

impl Hasher for FirstWord {
    fn finish(&self) -> u64 {
        self.0.unwrap_or(0)
    }
    fn write(&mut self, bytes: &[u8]) {
        if let (None, Some(word)) = (self.0, bytes.first_chunk()) {
            self.0 = Some(u64::from_ne_bytes(*word));
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0.get_or_insert(word);
    }
    /// An array writes its length first, which is the same for all keys.
    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two stages by definition, over all pairs.
    fn by_definition(
        texts: &[(String, Option<u64>)],
        exact: bool,
        distance: u32,
    ) -> Vec<Option<Option<i64>>> {
        let mut kept: Vec<(i64, u64)> = Vec::new();
        texts
            .iter()
            .enumerate()
            .map(|(i, (text, fingerprint))| {
                if let Some(first) =
                    texts[..i].iter().position(|(earlier, _)| exact && earlier == text)
                {
                    return Some(Some(first as i64));
                }
                let fingerprint = (*fingerprint)?;
                let near = kept
                    .iter()
                    .map(|&(id, other)| ((other ^ fingerprint).count_ones(), id))
                    .filter(|&(d, _)| d <= distance)
                    .min();
                if near.is_none() {
                    kept.push((i as i64, fingerprint));
                }
                near.map(|(_, id)| Some(id))
            })
            .collect()
    }

    #[test]
    fn equals_all_pairs() {
        // Only 32 bits of the fingerprints vary, so many are near.
        let texts: Vec<(String, Option<u64>)> = (0..12_000u64)
            .map(|i| {
                let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51;
                let scattered = number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
                (
                    format!("text {number}"),
                    (number % 50 != 0).then_some(scattered & 0x0f0f_00ff_0ff0_3333),
                )
            })
            .collect();
        for (exact, distance) in
            [(Exact::None, 2), (Exact::Hash, 2), (Exact::Trie, 4), (Exact::Bloom, 1)]
        {
            let mut stream = Deduplicator::new(exact, Some(distance));
            let expected = by_definition(&texts, exact != Exact::None, distance);
            let mut duplicates = 0;
            for (i, ((text, fingerprint), expected)) in texts.iter().zip(expected).enumerate() {
                let got = stream.check(i as i64, text, || *fingerprint).unwrap();
                duplicates += usize::from(got.is_some());
                match got {
                    Some(Duplicate { stage: "bloom", of, .. }) => {
                        assert!(of.is_none() && expected.is_some());
                    }
                    got => assert_eq!(got.map(|duplicate| duplicate.of), expected, "{exact:?} {i}"),
                }
            }
            assert!(duplicates > 1000 && duplicates < 11_990, "{exact:?}: {duplicates}");
        }
    }
}
