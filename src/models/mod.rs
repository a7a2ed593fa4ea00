//! Trained models in a database: the table they are stored in, a backend's cache of them, and training.
//!
//! A model never changes once stored, so functions that read one by name are IMMUTABLE; it may be deleted, and then they
//! raise an ERROR, and trained anew under another name.

mod aggregate;
mod cache;
mod functions;
mod spill;
mod store;
mod train;

pub use cache::{Schema, find};
