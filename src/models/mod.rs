//! What a config names: trained models, and lists of the user's words. The tables they are stored
//! in, a backend's caches of them, training, and what makes fingerprints by them.
//!
//! A model never changes once it is stored, so functions that read one by name are IMMUTABLE. When
//! it is deleted, they raise an ERROR. A new model gets a new name.

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
