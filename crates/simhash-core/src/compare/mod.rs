//! How alike two texts are, and why: [`similarity`] decides, [`edit`] counts edits of short texts,
//! [`explain`] shows what a fingerprint is made of.

pub mod edit;
pub mod explain;
pub mod similarity;
