//! From features to something small: [`simhash`], [`minhash`] and its [`bands`].

pub mod bands;
pub mod minhash;
#[cfg(test)]
mod own_words;
pub mod simhash;
