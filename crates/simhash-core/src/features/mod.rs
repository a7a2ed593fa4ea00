//! From tokens to weighted features: shingles, or chains after stop words, and their weights.
//!
//! [`shingling`] makes the features, with [`spots`] those of SpotSigs. [`mod@weight`] weighs them
//! by a trained [`model`] or by the [`levels`] of words.

pub(crate) mod bytes;
pub(crate) mod levels;
pub mod model;
pub(crate) mod shingling;
pub(crate) mod spots;
pub(crate) mod weight;
