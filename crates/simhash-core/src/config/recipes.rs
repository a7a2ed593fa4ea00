//! The parts of a configuration that decide what is compared: which sets texts become.

use crate::config::{Config, Position, Shingles, Weight};

/// The configuration by which texts become sets where near-duplicates are looked for, and which of
/// their numbers must agree: weighed by inverse document frequency if it says so
/// (a `ShingleSet`), and by nothing else.
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
