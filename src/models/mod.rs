//! Trained models and users' word lists, which configs name: their tables, a backend's caches of
//! them, training, and the making of fingerprints with them.
//!
//! A stored model never changes, so functions that read one by name are IMMUTABLE. After it is
//! deleted, they raise an ERROR. A changed model gets a new name.

pub mod aggregate;
mod cache;
mod hasher;
pub mod sketches;
pub mod spill;
pub mod store;
pub mod train;
pub mod word_lists;

pub use cache::find;
pub use hasher::{fingerprinter, named, simhasher_for};
