//! The SQL functions: arguments in, the core's answer out.

mod bloom;
mod bulk;
pub mod call_site;
pub mod cursor;
mod dedup_texts;
pub mod distance;
mod evaluate;
mod fingerprint;
mod ksentence;
mod minhash;
pub mod shingles;
mod tsvector;
