//! Texts as sets of shingles, and their similarity.
//!
//! [`shingles`] computes the exact similarity of two sets (Broder 1997), [`weighted`] that with the
//! weights of a configuration. [`sketch`] decides which texts are near: bands, which an index can
//! look up, find candidates, and the exact similarity confirms them. [`outline`] quickly rules out
//! sets that are not similar. [`numbers`] extracts the numbers of texts, which a configuration may
//! require to agree.

pub mod near_share;
pub mod numbers;
pub mod outline;
pub mod shingles;
pub mod sketch;
pub mod weighted;
