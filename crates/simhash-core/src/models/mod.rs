//! Trained models: what a corpus says about the weight of a term.
//!
//! [`train`] counts a corpus, in any order and in any number of parts, always with the same result.
//! What is stored and looked up is a [`Model`](crate::features::model::Model).

pub mod train;
