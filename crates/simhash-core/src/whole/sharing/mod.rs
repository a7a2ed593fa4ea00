//! Whole tables of texts: all pairs of near-duplicates, the rows that a cover keeps, clusters.
//!
//! Two texts can be near-duplicates only if their sketches share enough keys ([`crate::sets`]). An
//! index has the postings (key, row) in the order of the key. So the rows of one key are adjacent,
//! and one walk over the index finds which rows share which keys: `Shared`. Keys of a single row
//! are left out, and so are rows with fewer keys than the law requires. The remaining rows are
//! looked up in memory, one by one. All pairs of rows that share a key are never listed.
//!
//! The place of a row is its number from 0 in the order in which rows are taken. Copies are folded
//! first ([`classes`]). Candidates are compared by their sets of shingles ([`compare`]).
//!
//! Where memory does not hold all rows with keys in common, places are divided into blocks
//! ([`blocks`]). Each block is joined with itself and with every block before it. Each of these
//! joins is a walk over the index.

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
