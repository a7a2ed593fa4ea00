//! Trained models: statistics of a corpus that determine the weights of terms.
//!
//! [`train`] counts a corpus, in any order and in any number of parts, always with the same result.
//! The result, which is stored and looked up, is a [`Model`](crate::features::model::Model).

pub mod train;
