//! From bytes to clean text: the steps of `normalize`, and what is known of characters.

pub mod han;
pub mod normalize;
pub(crate) mod place;
pub(crate) mod unicode;
