//! Near-duplicate detection without a database: fingerprints, distances and exact search plans.
//!
//! The modules are rooms, one above the other: a room uses those that docs/design/map.md lists
//! before it.

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

/// What every value is made by: the number of the rules, and a hash of the dictionary and of what
/// the tables of Unicode and of Chinese make of every character (`tests/core/values.rs` says how).
/// Fingerprints, keys and hashes of passages can be compared where this is the same.
///
/// It holds for the versions of crates with which that test passes, those of this repository's
/// Cargo.lock. A build with others may have other tables, and says the same: run the test.
#[cfg(all(feature = "jieba", feature = "spaceless"))]
pub const VALUES: &str = "1-2c1b8a4803ca6b20";
/// As with all features, and without a dictionary.
#[cfg(not(all(feature = "jieba", feature = "spaceless")))]
pub const VALUES: &str = "1-2c1b8a4803ca6b20, not all dictionaries";

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
