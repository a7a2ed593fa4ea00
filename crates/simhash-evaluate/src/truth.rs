//! Which pairs of a sample are near-duplicates, how similar they are, and which pairs do not count.

use rayon::prelude::*;
use simhash_core::base::hash::feature_hash;
use simhash_core::config::{Config, Shingles, Tokenizer};
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sketches::minhash::{MinHasher, jaccard};
use simhash_core::{Features, Simhasher};

use crate::corpus::{Document, Language, Length};

/// Pairs of one group by similarity: at least 0.9, 0.7, 0.5, and below.
pub const BANDS: [f64; 4] = [0.9, 0.7, 0.5, 0.0];

/// A similarity's place in [`BANDS`].
pub fn band(similarity: f64) -> usize {
    BANDS.iter().position(|&least| similarity >= least).unwrap_or(BANDS.len() - 1)
}

/// Two documents of one group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub a: usize,
    pub b: usize,
    /// Jaccard similarity of their shingles, see [`similarity_config`].
    pub similarity: f64,
}

/// The pairs of a sample.
#[derive(Debug, Default)]
pub struct Truth {
    /// The group of each document.
    pub groups: Vec<u32>,
    pub pairs: Vec<Pair>,
    /// For each document, the later documents of other groups that are as similar as
    /// near-duplicates. The corpus does not call these pairs duplicates, but they are, so they
    /// count neither way.
    pub unlabelled: Vec<Vec<u32>>,
}

/// The shingles by which similarity is measured: three characters of a long Chinese text, three
/// words of a long English one, and two of a short text.
pub fn similarity_config(language: Language, length: Length) -> Config {
    let tokenizer = if language == Language::Chinese { Tokenizer::Char } else { Tokenizer::Word };
    let shingle = Shingles::new([if length == Length::Long { 3 } else { 2 }]);
    Config { tokenizer, shingle, ..Config::default() }
}

/// The similarity from which pairs of different groups do not count. It is higher for short texts,
/// which share half of their shingles with texts of another meaning.
pub fn ambiguous(length: Length) -> f64 {
    if length == Length::Long { 0.5 } else { 0.9 }
}

impl Truth {
    pub fn of(documents: &[Document], config: &Config, ambiguous: f64) -> Self {
        let new = || (Simhasher::new(config.clone()).expect("no model"), MinHasher::new(128));
        let sets: Vec<(ShingleSet, Option<Vec<u32>>)> = documents
            .par_iter()
            .map_init(new, |(simhasher, minhasher), document| {
                let set = ShingleSet::new(simhasher, &document.text, &mut || ());
                (set, minhasher.text_signature(simhasher, &document.text, &mut || ()))
            })
            .collect();
        let similarity = |a: usize, b: usize| sets[a].0.jaccard(&sets[b].0).unwrap_or(0.0);
        // The estimate for a pair at the limit is below the filter once in a hundred thousand
        // times.
        let likely = |a: usize, b: usize| match (&sets[a].1, &sets[b].1) {
            (Some(a), Some(b)) => jaccard(a, b) >= ambiguous - 0.2,
            _ => false,
        };
        let later = |a: usize| a + 1..documents.len();
        let unlabelled = (0..documents.len()).into_par_iter().map(|a| {
            later(a)
                .filter(|&b| {
                    documents[a].group != documents[b].group
                        && likely(a, b)
                        && similarity(a, b) >= ambiguous
                })
                .map(|b| b as u32)
                .collect()
        });
        let pairs =
            (0..documents.len()).into_par_iter().flat_map_iter(|a| {
                later(a)
                    .filter(move |&b| documents[a].group == documents[b].group)
                    .map(move |b| Pair { a, b, similarity: similarity(a, b) })
            });
        Truth {
            groups: documents.iter().map(|document| document.group).collect(),
            unlabelled: unlabelled.collect(),
            pairs: pairs.collect(),
        }
    }

    /// The number of pairs of different groups that count.
    pub fn others(&self) -> u64 {
        let documents = self.groups.len() as u64;
        let unlabelled: usize = self.unlabelled.iter().map(Vec::len).sum();
        documents * documents.saturating_sub(1) / 2 - self.pairs.len() as u64 - unlabelled as u64
    }
}

/// The cosine of two texts' weighted feature vectors.
pub fn cosine(simhasher: &mut Simhasher, a: &str, b: &str) -> f64 {
    let vector = |simhasher: &mut Simhasher, text| -> Vec<(u64, f64)> {
        let features = simhasher.features::<u64>(text, usize::MAX, &mut || ());
        let mut vector: Vec<(u64, f64)> = features
            .iter()
            .flat_map(Features::iter)
            .map(|feature| {
                (feature_hash::<u64>(feature.text.as_bytes()), f64::from(feature.weight))
            })
            .collect();
        vector.sort_unstable_by_key(|&(hash, _)| hash);
        vector
    };
    let (a, b) = (vector(simhasher, a), vector(simhasher, b));
    let norm = |vector: &[(u64, f64)]| {
        vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt()
    };
    let mut product = 0.0;
    for (hash, weight) in &a {
        if let Ok(at) = b.binary_search_by_key(hash, |&(hash, _)| hash) {
            product += weight * b[at].1;
        }
    }
    product / (norm(&a) * norm(&b)).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(group: u32, text: &str) -> Document {
        Document { group, text: text.into() }
    }

    #[test]
    fn pairs_have_their_similarity_and_twins_of_other_groups_do_not_count() {
        let documents = [
            document(0, "a b c d"),
            document(0, "a b c e"),
            document(1, "a b c d"),
            document(2, "x y z"),
        ];
        let shingle = Shingles::new([2]);
        let config = Config { tokenizer: Tokenizer::Word, shingle, ..Config::default() };
        let truth = Truth::of(&documents, &config, 0.5);
        // {ab, bc, cd} and {ab, bc, ce}: 2 of 4.
        assert_eq!(truth.pairs, [Pair { a: 0, b: 1, similarity: 0.5 }]);
        assert_eq!(truth.unlabelled, [vec![2], vec![2], vec![], vec![]]);
        assert_eq!(truth.others(), 3);
        assert_eq!([1.0, 0.9, 0.89, 0.5, 0.49].map(band), [0, 0, 1, 2, 3]);
    }

    #[test]
    fn cosine_by_hand() {
        let config: Config = r#"{"tokenizer": "word", "weight": "tf"}"#.parse().unwrap();
        let mut simhasher = Simhasher::new(config).unwrap();
        // (2, 1, 0) and (1, 0, 1): 2 / sqrt(5 * 2).
        assert!((cosine(&mut simhasher, "a a b", "a c") - 2.0 / 10f64.sqrt()).abs() < 1e-12);
        assert_eq!(cosine(&mut simhasher, "a", "b"), 0.0);
    }
}
