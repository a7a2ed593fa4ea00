//! Trained models: what a corpus says about the weight of a term.
//!
//! [`train`] counts a corpus, in any order and in any number of parts, always with the same result.
//! [`spill`] keeps its memory bounded. [`Model`] is what is stored and looked up. [`imatch`] and
//! [`lexicons`] use a model's lexicon.

mod bytes;
pub mod imatch;
pub mod lexicons;
mod model;
pub mod spill;
pub mod train;

pub use model::{Model, ModelError, Term};
