//! The experiments. Each measures one corpus, and returns rows to be stored.

pub mod angle;
pub mod edits;
pub mod lexicons;
pub mod settings;
pub mod short;
pub mod tokenizers;
pub mod verified;

use simhash_core::Fingerprint;

use crate::corpus::{Document, SEED, Source, split};
use crate::method::apart;
use crate::metrics::Distances;
use crate::results::Sample;
use crate::truth::{Truth, ambiguous, band, similarity_config};

/// A corpus that is prepared: the sample, its truth, and other texts to train on.
#[derive(Debug)]
pub struct Prepared {
    pub source: &'static Source,
    pub tested: Vec<Document>,
    pub training: Vec<Document>,
    pub truth: Truth,
}

impl Prepared {
    pub fn new(source: &'static Source, documents: &[Document]) -> Self {
        let split = split(documents, source.tested, source.trained, SEED);
        let truth = Truth::of(
            &split.tested,
            &similarity_config(source.language, source.length),
            ambiguous(source.length),
        );
        Prepared { source, tested: split.tested, training: split.training, truth }
    }

    pub fn texts(&self) -> Vec<&str> {
        self.tested.iter().map(|document| document.text.as_str()).collect()
    }

    pub fn sample(&self) -> Sample {
        let mut pairs = [0; 4];
        self.truth.pairs.iter().for_each(|pair| pairs[band(pair.similarity)] += 1);
        let mut lengths: Vec<usize> =
            self.tested.iter().map(|document| document.text.chars().count()).collect();
        lengths.sort_unstable();
        Sample {
            corpus: self.source.name.into(),
            language: self.source.language,
            length: self.source.length,
            shipped: self.source.shipped.is_some(),
            seed: SEED,
            version: env!("CARGO_PKG_VERSION").into(),
            documents: self.tested.len(),
            groups: self.truth.groups.iter().map(|&group| group as usize + 1).max().unwrap_or(0),
            trained: self.training.len(),
            median: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
            pairs,
            others: self.truth.others(),
            unlabelled: self.truth.unlabelled.iter().map(Vec::len).sum(),
        }
    }

    /// The distances of all pairs, by fingerprints of the tested documents.
    pub fn distances<F: Fingerprint>(&self, fingerprints: &[Option<F>]) -> Distances {
        Distances::measure(&self.truth, F::BITS, |a, b| apart(fingerprints[a], fingerprints[b]))
    }
}
