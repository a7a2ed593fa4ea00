//! The parts of a configuration that decide how texts become sets.

use crate::config::{Config, Position, Shingles, Weight};

/// The configuration by which texts become sets (`ShingleSet`) in a search for near-duplicates,
/// including the numbers that must agree. The weight is inverse document frequency if the
/// configuration says so, and otherwise uniform.
pub fn near_recipe(config: &Config) -> Config {
    let model = config.model.clone().filter(|_| config.weight == Weight::Idf);
    let weight = if model.is_some() { Weight::Idf } else { Weight::default() };
    Config { weight, model, ..recipe(config) }
}

/// The same for all other methods that compare sets. All weights are uniform.
pub fn recipe(config: &Config) -> Config {
    Config { numbers: config.numbers, ..set_config(config, config.set_shingles()) }
}

/// Whether both configurations give every text the same weighted set of shingles. They may differ
/// in which numbers must agree.
pub fn are_same_sets(a: &Config, b: &Config) -> bool {
    let sets = |config| Config { numbers: None, ..near_recipe(config) };
    sets(a) == sets(b)
}

/// The part of `config` that decides which shingles a text has, with shingles of the given sizes.
///
/// If two configurations have equal parts, both give every text the same set of shingles.
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
