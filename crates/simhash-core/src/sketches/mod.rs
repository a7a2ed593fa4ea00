//! Sketches, small values made from a text's features: [`simhash`], [`minhash`] and its [`bands`].

pub mod bands;
pub mod minhash;
#[cfg(test)]
mod own_words;
pub mod simhash;
