//! Turns text into clean text: the steps of `normalize`, and the properties of characters.

pub mod han;
pub mod normalize;
pub(crate) mod place;
pub(crate) mod unicode;
