//! All pairs within a Hamming distance: a block table is joined with itself, which is less work
//! than one search for every row.
//!
//! The tables, the pigeonhole argument and the rule that one table emits a pair are those of
//! [`crate::search`]. The rest differs. A table's distinct fingerprints are in memory in key order
//! ([`Chunk`]), under a binary trie with tens of fingerprints in each leaf. Two tries are walked
//! down together as long as their prefixes can belong to pairs that the table emits ([`Walk`]). So
//! leaves are compared with leaves, and the trie is deep where the data are dense: a constant block
//! costs a few steps, and a dense cluster makes the trie deeper. Several processes can share a
//! walk, divided into pieces ([`Piece`]).
//!
//! Fingerprints may be in scopes ([`crate::search::scoped`]). Then only rows of one scope are
//! compared: every scope in memory has a trie of its own, which is a leaf for a small scope.
//!
//! A table that does not fit in memory is read in chunks of its key space. Each chunk is joined
//! with itself and with every later one that it can have a pair with ([`Join`]). Equal fingerprints
//! are one key with many rows, and are compared once. [`Members`] numbers rows and unites them into
//! clusters. Where memory does not hold all of these rows, [`components`] finds the clusters from
//! edges in files. [`cover()`] finds the rows that remain if every row near an earlier remaining
//! one is dropped.

mod chunk;
mod components;
mod cover;
mod filter;
mod meet;
mod members;
mod message;
mod neighbours;
mod plan;
mod row_pairs;
mod steps;
mod walk;

pub use chunk::{Chunk, Mark, Node, Tries, bytes_per_row, bytes_per_row_of_tries};
pub use components::{Components, Edge, Log, components};
pub use cover::{Asked, Beside, Nearest, bytes_per_row_of_cover, cover, nearest_of};
pub use members::Members;
pub use message::Message;
pub use neighbours::{has_ranges, mark_neighbours, starts_of_ranges};
pub use plan::{Part, plan_join};
pub use row_pairs::{RowPairs, bytes_per_row_of_pairs};
pub use steps::{Join, Rows, Source, Start, Step, Walking};
pub use walk::{GroupPair, Piece, Walk, parcels};
