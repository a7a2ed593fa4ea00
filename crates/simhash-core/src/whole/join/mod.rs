//! All pairs within a Hamming distance: a block table is joined with itself, which is less work
//! than one search for every row.
//!
//! The tables, the pigeonhole argument and the rule that one table emits a pair are those of
//! [`crate::search`]. The work is another. A table's distinct fingerprints lie in memory in key
//! order ([`Chunk`]), under a binary trie whose leaves hold some tens of them. Two subtries are
//! walked down together for as long as their prefixes can belong to fingerprints that the table
//! emits ([`Walk`]). So leaves are compared with leaves, and the trie is deep where the data are
//! dense. A constant block costs a few steps. A dense cluster is a deeper trie. Several processes
//! can share a walk: it is divided into pieces ([`Piece`]).
//!
//! Fingerprints may be in scopes ([`crate::search::scoped`]). Then rows of one scope are compared,
//! and no others: every scope in memory has a trie of its own, and small ones a leaf.
//!
//! A table that does not fit in memory is taken in chunks of its key space. Each is joined with
//! itself and with every later one that it can have a pair with ([`Join`]). Equal fingerprints are
//! one key with many rows: they are compared once. [`Members`] remembers rows by number and unites
//! them into clusters. Where memory does not hold all of these rows, [`components`] makes the
//! clusters of edges in files. [`cover()`] says which rows stay if each that is near an earlier one
//! that stays is dropped.

mod chunk;
mod components;
mod cover;
mod filter;
mod meet;
mod members;
mod neighbours;
mod plan;
mod row_pairs;
mod steps;
mod walk;

pub use chunk::{Chunk, Mark, Node, Tries, bytes_per_row, bytes_per_row_of_tries};
pub use components::{Components, Edge, Log, components};
pub use cover::{Asked, Beside, Nearest, bytes_per_row_of_cover, cover, nearest_of};
pub use members::Members;
pub use neighbours::{has_ranges, mark_neighbours, starts_of_ranges};
pub use plan::{Part, plan_join};
pub use row_pairs::{RowPairs, bytes_per_row_of_pairs};
pub use steps::{Join, Rows, Source, Start, Step, Walking};
pub use walk::{GroupPair, Piece, Walk};
