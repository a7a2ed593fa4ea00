//! Near-duplicate detection without a database: fingerprints, distances and exact search plans.

mod counter;
mod exact;
mod features;
mod interrupt;
mod levels;
mod stopwords;
mod unicode;
mod weight;

pub mod config;
pub mod fingerprint;
pub mod han;
pub mod hash;
pub mod normalize;
pub mod search;
pub mod sets;
pub mod simd;
pub mod simhash;
pub mod tokenize;

pub use config::{Config, ConfigError};
pub use fingerprint::Fingerprint;
pub use simhash::{Feature, Simhasher, SimhasherError, WeightError, from_features};
