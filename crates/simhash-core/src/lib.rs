//! Near-duplicate detection without a database: fingerprints, distances and exact search plans.
//!
//! The modules are rooms in layers: a room uses only those that docs/design/map.md lists before it.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod base;
pub mod compare;
pub mod config;
pub mod features;
pub mod methods;
pub mod models;
pub mod passages;
pub mod search;
pub mod sets;
pub mod sketches;
pub mod texts;
pub mod whole;
pub mod words;

pub use base::fingerprint::Fingerprint;
pub use config::{Config, ConfigError};
pub use sketches::simhash::{
    Feature, Features, Named, Simhasher, SimhasherError, WeightError, from_features,
};

/// Identifies how values are computed: the number of the rules, and a hash of the dictionary and of
/// the results of the Unicode and Chinese tables for every character (computed in
/// `tests/core/values.rs`). Fingerprints, keys and hashes of passages are comparable if it is the
/// same.
///
/// It is valid for the versions of crates with which that test passes, those of this repository's
/// Cargo.lock. A build with other versions may have other tables and still the same value: run the
/// test.
#[cfg(all(feature = "jieba", feature = "spaceless"))]
pub const VALUES: &str = "1-2c1b8a4803ca6b20";
/// The value with all features, and a note that dictionaries are missing.
#[cfg(not(all(feature = "jieba", feature = "spaceless")))]
pub const VALUES: &str = "1-2c1b8a4803ca6b20, not all dictionaries";

/// Builds the dictionary and the character tables, which are otherwise built at their first use.
/// That takes about 0.3 s and 35 MB, which a process can share with the processes that it forks.
pub fn preload() {
    if let Ok(mut simhasher) = Simhasher::new(Config::default()) {
        // Besides common text, these have Han characters to simplify, a character to compose, one
        // to fold, and a repeated word.
        for text in ["你好，世界！ Hello, “world”… café", "漢字 e\u{301} Ä 汉字"]
        {
            simhasher.fingerprint::<u64>(text, &mut || ());
        }
    }
}
