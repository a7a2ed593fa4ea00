//! The settings that are compared, and fingerprints made with them.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use simhash_core::config::{
    Cap, Config, Method as Maker, Position, Shingles, StopList, Tokenizer, Weight,
};
use simhash_core::features::model::Model;
use simhash_core::models::train::Trainer;
use simhash_core::sketches::minhash::Fingerprinter;
use simhash_core::{Fingerprint, Simhasher};

use crate::corpus::Document;

/// How a text is cut into features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Features {
    pub tokenizer: Tokenizer,
    pub shingle: Shingles,
    pub stopwords: StopList,
}

impl Features {
    /// Shingles of this number of words.
    pub fn words(size: usize) -> Self {
        Self::words_of([size])
    }

    /// Shingles of each of these numbers of words.
    pub fn words_of<const N: usize>(sizes: [usize; N]) -> Self {
        let shingle = Shingles::new(sizes).expect("sizes of shingles");
        Features { tokenizer: Tokenizer::Auto, shingle, stopwords: StopList::None }
    }

    /// Shingles of this number of characters.
    pub fn characters(size: usize) -> Self {
        Features { tokenizer: Tokenizer::Char, ..Features::words(size) }
    }

    pub const fn without_stop_words(self) -> Self {
        Features { stopwords: StopList::Auto, ..self }
    }

    pub fn config(self) -> Config {
        let Features { tokenizer, shingle, stopwords } = self;
        Config {
            tokenizer,
            shingle: Some(shingle),
            stopwords: stopwords.into(),
            ..Config::default()
        }
    }

    pub fn label(self) -> String {
        let of = if self.tokenizer == Tokenizer::Char { "character" } else { "word" };
        let name =
            |size| if size == 1 { format!("{of}s") } else { format!("{of} {size}-shingles") };
        let what = self.shingle.iter().map(name).collect::<Vec<_>>().join(" and ");
        let stop = if self.stopwords == StopList::None { "" } else { " without stop words" };
        what + stop
    }

    /// The statistics of texts that are cut in this way.
    pub fn train(self, documents: &[Document]) -> Arc<Model> {
        let mut trainer = Trainer::new(&self.config()).expect("no model is needed to train one");
        for document in documents {
            trainer.add(&document.text, &mut || ()).expect("fewer than 2^32 terms");
        }
        Arc::new(trainer.finish(None, &mut || ()))
    }
}

fn is_simhash(maker: &Maker) -> bool {
    *maker == Maker::Simhash
}

/// One way to make fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Method {
    #[serde(skip_serializing_if = "is_simhash")]
    pub maker: Maker,
    pub features: Features,
    pub weight: Weight,
    pub position: Position,
    /// Whether weights are cut at the 90th percentile of the model's.
    pub capped: bool,
}

impl Method {
    pub const fn new(features: Features, weight: Weight) -> Self {
        Method { maker: Maker::Simhash, features, weight, position: Position::None, capped: false }
    }

    /// One-bit MinHash: a bit of each MinHash component.
    pub const fn minhash(features: Features) -> Self {
        Method { maker: Maker::Minhash, ..Method::new(features, Weight::Uniform) }
    }

    /// The default configuration of `simhash`.
    pub fn default_of_simhash() -> Self {
        let config = Config::default();
        let features = Features {
            tokenizer: config.tokenizer,
            shingle: config.shingles(),
            stopwords: StopList::default(),
        };
        let Config { weight, position, .. } = config;
        Method { position, ..Method::new(features, weight) }
    }

    pub fn needs_model(self) -> bool {
        self.capped || matches!(self.weight, Weight::Idf | Weight::Tfidf | Weight::Entropy)
    }

    pub fn label(self) -> String {
        let cap = if self.capped { ", capped" } else { "" };
        let position = match self.position {
            Position::None => String::new(),
            position => format!(", position {position}"),
        };
        match self.maker {
            Maker::Simhash => format!("{}, {}{cap}{position}", self.features.label(), self.weight),
            Maker::Minhash => format!("one-bit MinHash, {}", self.features.label()),
        }
    }

    pub fn simhasher(self, model: Option<&Arc<Model>>) -> Simhasher {
        let model = model.filter(|_| self.needs_model());
        let config = Config {
            weight: self.weight,
            position: self.position,
            cap: self.capped.then_some(Cap::Percentile(90)),
            model: model.map(|_| "evaluation".to_owned()),
            ..self.features.config()
        };
        match model {
            Some(model) => {
                Simhasher::with_model(config, Arc::clone(model)).expect("a model of these features")
            }
            None => Simhasher::new(config).expect("no model is needed"),
        }
    }

    pub fn fingerprints<F: Fingerprint>(
        self,
        texts: &[&str],
        model: Option<&Arc<Model>>,
    ) -> Vec<Option<F>> {
        texts
            .par_iter()
            .map_init(
                || Fingerprinter::new(self.maker, self.simhasher(model), F::BITS),
                |fingerprinter, text| fingerprinter.fingerprint(text, &mut || ()),
            )
            .collect()
    }
}

/// The Hamming distance. A text without a fingerprint is at the greatest distance from all texts.
pub fn apart<F: Fingerprint>(a: Option<F>, b: Option<F>) -> u32 {
    match (a, b) {
        (Some(a), Some(b)) => a.hamming(b),
        _ => F::BITS,
    }
}
