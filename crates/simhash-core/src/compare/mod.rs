//! Comparison of two texts: [`similarity`] decides whether they are duplicates, [`edit`] counts
//! edits of short texts, and [`explain`] shows the features behind the fingerprints.

pub mod edit;
pub mod explain;
pub mod similarity;
