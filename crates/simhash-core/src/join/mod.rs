//! All pairs within a Hamming distance: a block table joined with itself, not one search for every row.
//!
//! The tables, the pigeonhole argument and the rule that one table emits a pair are those of
//! [`crate::search`]. What differs is the work: a table's distinct fingerprints lie in memory in key
//! order ([`Run`]) under a binary trie whose leaves hold some tens of them, and two subtries are
//! walked down together for as long as their prefixes can belong to fingerprints that the table emits
//! ([`Walk`]). So what is compared are leaves against leaves, as deep as the data are dense at that
//! place; a constant block costs a few steps, a dense cluster is a deeper trie.
//!
//! A table that does not fit in memory is taken in chunks of its key space, each joined with itself and
//! with every later one that it can have a pair with ([`Join`]). Equal fingerprints are one key with many
//! rows: they are compared once. [`Members`] remembers rows by number and unites them into clusters.

mod chunks;
mod meet;
mod members;
mod memory;
mod plan;
mod run;
mod sort;
mod walk;

pub use chunks::{Join, Position, Rows, Source, Step};
pub use members::Members;
pub use memory::NoMemory;
pub use plan::cheapest;
pub use run::{Run, bytes_per_row};
pub use sort::{sort_checked, sort_checked_by, sort_in_pieces};
pub use walk::{Found, Walk};
