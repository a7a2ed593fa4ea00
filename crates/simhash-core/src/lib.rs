//! Near-duplicate detection without a database: fingerprints, distances and exact search plans.

pub mod fingerprint;
pub mod search;
pub mod simd;

pub use fingerprint::Fingerprint;
