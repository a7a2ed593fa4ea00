//! Methods that compare texts as sets: of shingles, of sentences, of whole texts.
//!
//! [`shingles`] gives the exact answer (Broder 1997), [`weighted`] with the weights of a
//! configuration, and [`similarity`] decides by it. [`minhash`] and [`bands`] estimate it from
//! short signatures. [`sketch`] says which texts are near, by bands that an index can look up and
//! by the exact answer. [`ksentence`] and the sets of [`bloom`] and [`trie`] find equal texts.
//! [`near`] finds near fingerprints. [`dedup`] is the pipeline of an exact and a near stage.

pub mod bands;
pub mod bloom;
pub mod dedup;
pub mod ksentence;
pub mod minhash;
pub mod near;
pub mod outline;
pub mod shingles;
pub mod similarity;
pub mod sketch;
pub mod trie;
pub mod weighted;

use crate::config::{Config, Position, Shingles, Weight};

/// The configuration by which texts become sets where near-duplicates are looked for, and which of
/// their numbers must agree: weighed by inverse document frequency if it says so
/// ([`shingles::ShingleSet`]), and by nothing else.
pub fn near_recipe(config: &Config) -> Config {
    let model = config.model.clone().filter(|_| config.weight == Weight::Idf);
    let weight = if model.is_some() { Weight::Idf } else { Weight::default() };
    Config { weight, model, ..recipe(config) }
}

/// The configuration by which texts become sets in every other method that compares sets.
pub fn recipe(config: &Config) -> Config {
    Config { numbers: config.numbers, ..set_config(config, config.set_shingles()) }
}

/// Whether every text has the same set of shingles, with the same weights, by both configurations.
/// Which numbers must agree may differ.
pub fn are_same_sets(a: &Config, b: &Config) -> bool {
    let sets = |config| Config { numbers: None, ..near_recipe(config) };
    sets(a) == sets(b)
}

/// The part of `config` that decides which shingles a text has, with shingles of the given sizes.
///
/// If two configurations have equal parts, every text has the same set of shingles by both.
pub fn set_config(config: &Config, shingles: Shingles) -> Config {
    Config {
        weight: Weight::default(),
        model: None,
        position: Position::default(),
        cap: None,
        numbers: None,
        ..config.with_shingles(shingles)
    }
}
