//! Near-duplicate detection without a database: fingerprints, distances and exact search plans.

mod code;
mod counter;
mod exact;
mod features;
mod interrupt;
mod lazy;
mod levels;
mod place;
mod sorted;
mod spots;
mod stopwords;
mod tokens;
mod unicode;
mod weight;

pub mod bits;
pub mod config;
pub mod dictionary;
pub mod edit;
pub mod explain;
pub mod fingerprint;
pub mod han;
pub mod hash;
pub mod join;
pub mod models;
pub mod normalize;
pub mod numbers;
pub mod passages;
pub mod random;
pub mod scope;
pub mod search;
pub mod segment;
pub mod sets;
pub mod sharing;
pub mod simd;
pub mod simhash;
pub mod suggest;
pub mod tokenize;
pub mod words;

pub use config::{Config, ConfigError};
pub use fingerprint::Fingerprint;
pub use simhash::{
    Feature, Features, Named, Simhasher, SimhasherError, WeightError, from_features,
};

/// Builds what is otherwise built at its first use: the dictionary and the character tables. That
/// takes about 0.3 s and 35 MB, which a process can share with those that it forks.
pub fn preload() {
    if let Ok(mut simhasher) = Simhasher::new(Config::default()) {
        // What common texts have, and Han to be simplified, a character to be composed, one to be
        // folded, and a word that comes twice.
        for text in ["你好，世界！ Hello, “world”… café", "漢字 e\u{301} Ä 汉字"]
        {
            simhasher.fingerprint::<u64>(text, &mut || ());
        }
    }
}
