//! Near-duplicate detection without a database: fingerprints, distances and exact search plans.

pub mod fingerprint;

pub use fingerprint::Fingerprint;
