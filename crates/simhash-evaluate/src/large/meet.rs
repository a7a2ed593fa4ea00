//! Finds pairs by enough equal bands of their sketches, or within a distance of their fingerprints.

use std::fmt;

use rayon::prelude::*;
use simhash_core::base::hash::feature_hash;
use simhash_core::base::simd::popcount;
use simhash_core::config::Config;
use simhash_core::sets::sketch::{Law, Layout, Sketcher};
use simhash_core::sketches::minhash::MinHasher;
use simhash_core::{Fingerprint, Simhasher};

use super::clock::Clock;
use super::sets::{Sets, Texts};
use super::tally::Found;
use crate::method::Features;

/// The keys of the sketches of all texts, as an index for the least similarity stores them.
#[derive(Debug)]
pub struct Keys {
    bands: usize,
    /// The keys, text by text. A text without a token has its own number, which is no key, in each
    /// band.
    keys: Vec<u64>,
    /// For each band, the texts in order of the key, and the place of each in that order.
    order: Vec<Vec<u32>>,
    places: Vec<Vec<u32>>,
    /// The seconds of one core to cut the texts, to sketch them and to sort the keys.
    pub sketch: f64,
}

/// The sets of the texts' shingles, and the keys of their sketches in an index for the similarity.
/// With `parted`, words end at ASCII punctuation: app.apk is two words.
pub fn cut(texts: &Texts, features: Features, parted: bool, similarity: f64) -> (Sets, Keys) {
    let new = || Simhasher::new(features.config()).expect("no model is needed");
    let (mut simhasher, mut sketcher) = (new(), Sketcher::new(new()));
    let layout = Layout::of(similarity).expect("a similarity with a layout");
    let (mut sets, mut keys) = (Sets::new(), Keys::new(layout.bands));
    let (mut of_text, mut parts) = (Vec::new(), Vec::new());
    for lines in texts.lines.chunks(1000) {
        parts.clear();
        parts.extend(lines.iter().map(|line| {
            let parts = line.replace(|c: char| parted && c.is_ascii_punctuation(), " ");
            parts.into_boxed_str()
        }));
        let clock = Clock::start();
        for text in &parts {
            of_text.clear();
            simhasher.for_each_feature(text, &mut || (), |shingle| {
                of_text.push(feature_hash::<u64>(shingle.as_bytes()));
            });
            sets.push(&mut of_text);
        }
        sets.cut += clock.seconds();
        let clock = Clock::start();
        for text in &parts {
            sketcher.keys(text, layout, &mut || (), &mut of_text);
            keys.push(&of_text);
        }
        keys.sketch += clock.seconds();
    }
    keys.finish();
    (sets, keys)
}

/// The sets of the texts' shingles with a configuration, and the hash of each normalised text.
pub fn sets_of(texts: &Texts, config: &Config) -> (Sets, Vec<u64>) {
    let mut simhasher = Simhasher::new(config.clone()).expect("no model is needed");
    let (mut sets, mut normalized, mut of_text) = (Sets::new(), Vec::new(), Vec::new());
    for line in &texts.lines {
        of_text.clear();
        simhasher.for_each_feature(line, &mut || (), |shingle| {
            of_text.push(feature_hash::<u64>(shingle.as_bytes()));
        });
        sets.push(&mut of_text);
        normalized.push(feature_hash(simhasher.normalize(line, &mut || ()).as_bytes()));
    }
    (sets, normalized)
}

impl Keys {
    fn new(bands: usize) -> Self {
        Keys { bands, keys: Vec::new(), order: Vec::new(), places: Vec::new(), sketch: 0.0 }
    }

    fn push(&mut self, keys: &[u64]) {
        if keys.is_empty() {
            // Keys are in the most significant bits, so no key is a small number.
            let own = (self.keys.len() / self.bands) as u64 + 1;
            self.keys.extend(std::iter::repeat_n(own, self.bands));
        } else {
            self.keys.extend_from_slice(keys);
        }
    }

    /// Sorts the keys, when all texts have been pushed.
    fn finish(&mut self) {
        let texts = (self.keys.len() / self.bands) as u32;
        let clock = Clock::start();
        for band in 0..self.bands {
            let mut order: Vec<(u64, u32)> =
                (0..texts).map(|text| (self.key(text, band), text)).collect();
            order.sort_unstable();
            let order: Vec<u32> = order.into_iter().map(|(_, text)| text).collect();
            let mut places = vec![0; order.len()];
            order
                .iter()
                .enumerate()
                .for_each(|(place, &text)| places[text as usize] = place as u32);
            self.order.push(order);
            self.places.push(places);
        }
        self.sketch += clock.seconds();
    }

    fn key(&self, text: u32, band: usize) -> u64 {
        self.keys[text as usize * self.bands + band]
    }

    /// In how many of the first `bands` bands two texts have equal keys.
    pub fn shared(&self, a: u32, b: u32, bands: usize) -> usize {
        let of = |text: u32| &self.keys[text as usize * self.bands..][..bands];
        of(a).iter().zip(of(b)).filter(|(a, b)| a == b).count()
    }

    /// How often two texts have equal keys in a band that the law of the similarity uses.
    pub fn meetings(&self, similarity: f64) -> u64 {
        let law = Law::of(similarity).expect("a similarity with a law");
        let bands = self.order[..law.bands].par_iter().enumerate().map(|(band, order)| {
            let equal = order.chunk_by(|&a, &b| self.key(a, band) == self.key(b, band));
            equal.map(|equal| equal.len() as u64 * (equal.len() as u64 - 1) / 2).sum::<u64>()
        });
        bands.sum()
    }

    /// The pairs that are near-duplicates: candidates by the law of the similarity whose sets are
    /// as similar. Also returns the number of candidates.
    pub fn pairs(&self, sets: &Sets, similarity: f64) -> (Found, u64) {
        let law = Law::of(similarity).expect("a similarity with a law");
        let (mut found, mut candidates) = (Found::new(), 0);
        let (mut counts, mut met) = (vec![0u8; sets.len()], Vec::new());
        for a in 0..sets.len() as u32 {
            for band in 0..law.bands {
                let key = self.key(a, band);
                let later = &self.order[band][self.places[band][a as usize] as usize + 1..];
                for &b in later.iter().take_while(|&&b| self.key(b, band) == key) {
                    if counts[b as usize] == 0 {
                        met.push(b);
                    }
                    counts[b as usize] += 1;
                }
            }
            for b in met.drain(..) {
                if usize::from(std::mem::take(&mut counts[b as usize])) >= law.shared {
                    candidates += 1;
                    let (x, y) = (sets.get(a as usize).len(), sets.get(b as usize).len());
                    if x.min(y) as f64 / x.max(y) as f64 >= similarity
                        && sets.jaccard(a, b) >= similarity
                    {
                        found.push((a, b));
                    }
                }
            }
        }
        (found, candidates)
    }

    /// The megabytes of the sets, the keys and their order.
    pub fn memory(&self, sets: &Sets) -> u64 {
        let keys = self.keys.len() * (size_of::<u64>() + 2 * size_of::<u32>());
        ((sets.memory() + keys) / 1_000_000) as u64
    }
}

/// Fingerprints of word pairs by `minhash64` or `minhash128`, and the distance that was recommended
/// for this many rows before near_duplicate existed.
#[derive(Debug)]
pub enum Within {
    Narrow(u32, Vec<Option<u64>>),
    Wide(u32, Vec<Option<u128>>),
}

impl Within {
    /// Also returns the seconds of one core to make them.
    pub fn new(pairs: &Sets) -> (Self, f64) {
        let clock = Clock::start();
        let within = match pairs.len() {
            0..=1000 => Within::Narrow(12, fingerprints(pairs)),
            1001..=10_000 => Within::Narrow(10, fingerprints(pairs)),
            10_001..=100_000 => Within::Wide(14, fingerprints(pairs)),
            _ => Within::Wide(11, fingerprints(pairs)),
        };
        (within, clock.seconds())
    }

    /// All pairs within the distance, and the number of pairs compared.
    pub fn pairs(&self) -> (Found, u64) {
        match self {
            Within::Narrow(distance, fingerprints) => within(*distance, fingerprints),
            Within::Wide(distance, fingerprints) => within(*distance, fingerprints),
        }
    }

    /// The megabytes of the fingerprints.
    pub fn memory(&self) -> u64 {
        let bytes = match self {
            Within::Narrow(_, fingerprints) => fingerprints.len() * size_of::<u64>(),
            Within::Wide(_, fingerprints) => fingerprints.len() * size_of::<u128>(),
        };
        (bytes / 1_000_000) as u64
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Within::Narrow(distance, _) => write!(f, "minhash64 within {distance}"),
            Within::Wide(distance, _) => write!(f, "minhash128 within {distance}"),
        }
    }
}

/// The one-bit MinHash of each set, with as many bits as `F` has.
pub fn fingerprints<F: Fingerprint>(sets: &Sets) -> Vec<Option<F>> {
    let mut minhasher = MinHasher::new(F::BITS as usize);
    (0..sets.len()).map(|text| minhasher.fingerprint(sets.get(text).iter().copied())).collect()
}

/// All pairs within the distance. Compares every pair: at great distances, nearly every pair has a
/// block of bits in common. `tile` fingerprints stay in a cache while all others are compared with
/// them.
pub fn all_within(distance: u32, fingerprints: &[Option<u128>], tile: usize) -> Found {
    let some: Vec<(u32, u128)> =
        (0u32..).zip(fingerprints).filter_map(|(text, &own)| Some((text, own?))).collect();
    let (mut found, mut hits) = (Found::new(), Vec::new());
    for (tile, first) in some.chunks(tile).zip((0..).step_by(tile)) {
        let packed: Vec<u8> = tile.iter().flat_map(|(_, own)| own.to_ne_bytes()).collect();
        for (at, &(a, own)) in some[..first + tile.len()].iter().enumerate() {
            // Within the tile, only later fingerprints.
            let from = (at + 1).saturating_sub(first);
            hits.clear();
            popcount::within(&packed[from * size_of::<u128>()..], own, distance, &mut hits);
            found.extend(hits.iter().map(|&hit| (a, tile[from + hit as usize].0)));
        }
    }
    found
}

/// Of distance + 1 blocks of bits, two fingerprints within the distance have one that is equal. A
/// pair counts at the first of them.
fn within<F: Fingerprint>(distance: u32, fingerprints: &[Option<F>]) -> (Found, u64) {
    let blocks = distance + 1;
    let start = |block| F::BITS * block / blocks;
    let bits = |fingerprint: F, block| {
        (start(block)..start(block + 1)).fold(0u32, |bits, bit| {
            bits << 1 | (fingerprint.word(bit as usize / 64) >> (bit % 64) & 1) as u32
        })
    };
    let (mut found, mut compared) = (Found::new(), 0);
    for block in 0..blocks {
        let mut order: Vec<(u32, u32)> = (0u32..)
            .zip(fingerprints)
            .filter_map(|(text, &fingerprint)| Some((bits(fingerprint?, block), text)))
            .collect();
        order.sort_unstable();
        for equal in order.chunk_by(|a, b| a.0 == b.0) {
            let members: Vec<(u32, F)> = equal
                .iter()
                .filter_map(|&(_, text)| Some((text, fingerprints[text as usize]?)))
                .collect();
            for (at, &(a, x)) in members.iter().enumerate() {
                compared += (members.len() - at - 1) as u64;
                for &(b, y) in &members[at + 1..] {
                    if x.hamming(y) <= distance
                        && !(0..block).any(|before| bits(x, before) == bits(y, before))
                    {
                        found.push((a, b));
                    }
                }
            }
        }
    }
    found.par_sort_unstable();
    (found, compared)
}

#[cfg(test)]
pub mod tests {
    use simhash_core::sets::sketch::near;

    use super::*;
    use crate::random::Random;

    pub fn texts() -> Texts {
        let mut random = Random::new(3, "meet");
        let mut lines: Vec<Box<str>> = vec!["".into(), "...".into(), "".into()];
        for _ in 0..300 {
            let start = random.below(20);
            let words = (0..4 + random.below(20)).map(|word| {
                if random.below(9) == 0 { "other".into() } else { (start + word).to_string() }
            });
            lines.push(words.collect::<Vec<String>>().join(" ").into());
        }
        Texts { labels: vec![0; lines.len()], lines, median: 0 }
    }

    #[test]
    fn near_duplicates_are_those_of_the_core() {
        let texts = texts();
        let features = Features::words(2);
        let (sets, keys) = cut(&texts, features, false, 0.5);
        let mut sketcher = Sketcher::new(Simhasher::new(features.config()).unwrap());
        let mut sketch = |text| sketcher.sketch(text, &mut || ());
        let sketches: Vec<_> = texts.lines.iter().map(|text| sketch(text)).collect();
        for similarity in [0.5, 0.6, 0.7, 0.8] {
            let mut expected = Found::new();
            for (a, x) in (0..).zip(&sketches) {
                for (b, y) in (0..).zip(&sketches).skip(a as usize + 1) {
                    if let (Some(x), Some(y)) = (x, y)
                        && near(x, y, similarity)
                    {
                        expected.push((a, b));
                    }
                }
            }
            let (mut found, candidates) = keys.pairs(&sets, similarity);
            found.sort_unstable();
            assert!(!found.is_empty() && found.len() as u64 <= candidates);
            assert!(candidates <= keys.meetings(similarity));
            assert_eq!(found, expected, "{similarity}");
        }
    }

    #[test]
    fn fingerprints_within_a_distance_are_found_once() {
        let mut random = Random::new(4, "within");
        let mut fingerprints = vec![None, Some(0u64), None];
        fingerprints.extend((0..400).map(|_| {
            let flips = (0..random.below(20)).map(|_| 1u64 << random.below(64));
            Some(flips.fold(0, |bits, flip| bits ^ flip))
        }));
        for distance in [0, 3, 10, 12] {
            let mut expected = Found::new();
            for (a, x) in (0..).zip(&fingerprints) {
                for (b, y) in (0..).zip(&fingerprints).skip(a as usize + 1) {
                    if let (Some(x), Some(y)) = (x, y)
                        && (x ^ y).count_ones() <= distance
                    {
                        expected.push((a, b));
                    }
                }
            }
            assert_eq!(within(distance, &fingerprints).0, expected, "{distance}");
            let wide: Vec<Option<u128>> =
                fingerprints.iter().map(|own| own.map(|own| u128::from(own) << 30)).collect();
            // All in one tile, and in tiles that separate near fingerprints.
            for tile in [1000, 7] {
                let mut found = all_within(distance, &wide, tile);
                found.sort_unstable();
                assert_eq!(found, expected, "{distance}, {tile}");
            }
        }
    }
}
