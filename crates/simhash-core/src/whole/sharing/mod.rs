//! Whole tables of texts: all pairs of near-duplicates, the rows that a cover keeps, clusters.
//!
//! Two texts can be near-duplicates only if their sketches share enough keys ([`crate::sets`]). An
//! index has the postings (key, row) in the order of the key. So the rows of one key lie together,
//! and one walk over the index tells which rows share which keys: `Shared`. Keys of one row only
//! say nothing and are left out, and so are rows with fewer keys than the law asks for. What is
//! left is looked up in memory, row by row. Nothing ever lists all pairs of rows that share a key.
//!
//! Rows are known by their places, the numbers from 0 in the order in which they are taken. Copies
//! are folded first ([`classes`]): rows with the same keys are asked for their texts, and those of
//! equal sets stand for each other. Candidates are compared by their sets of shingles
//! ([`compare`]).
//!
//! Where memory does not hold all rows with keys in common, places are taken in blocks: each with
//! itself and with every block before it ([`blocks`]). Each of these is a walk over the index.

pub mod blocks;
mod classes;
mod clusters;
mod compare;
mod cover;
mod pairs;
mod rows;
mod shared;

#[cfg(test)]
mod tests;

pub use clusters::{Cluster, Clusters, Member, chain, star};
pub use compare::Law;
pub use cover::{Cover, cover};
pub use pairs::{Pairs, Same};
pub use rows::Rows;
pub use shared::Full;
pub(crate) use shared::is_shared;
