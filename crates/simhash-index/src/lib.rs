//! The protocol of the index: B-link trees of fingerprints that any number of processes read and write.
//!
//! Nothing here knows PostgreSQL. Pages come from a [`Store`]: shared buffers with WAL in the extension,
//! a simulation in the tests, where a scheduler picks every step.
//!
//! # Shape
//! Block 0 is the meta page, written once. Blocks 1 to m + 1 are the roots of m + 1 trees and stay roots
//! for ever: a tree for each block table, and one for rows without a fingerprint. Table t holds every row
//! once, keyed by the fingerprint rotated so that block t leads, and its TID.
//!
//! # Invariants, at every moment that locks allow to be seen
//! 1. The live pages of a level partition the key space in the order of their right links.
//! 2. A parent's separators equal its children's low bounds. There is no incomplete split: a split or a
//!    removal changes both pages and the parent in one record.
//! 3. Entries move only to the right, by splits. Key space moves to the left only when it is empty, by
//!    removal.
//! 4. Every page says itself which table, level and range [low, high) it is of. Whoever arrives by stale
//!    information (a copy of its parent, a right link, a link to a block used anew since) sees from the
//!    locked page alone whether it is the right one.
//! 5. Whoever waits for a page has none locked, or only pages above it in its tree and to its left on its
//!    level. Everything else is locked at once or not at all. Nobody serves an interrupt under a lock.
//! 6. A row's entries are all in their tables before its insertion returns.
//! 7. Before a TID may be used anew, vacuum has taken every leaf under a cleanup lock, and after the leaves
//!    their table's root, which may have been a leaf until a moment ago: a scan that keeps a leaf pinned
//!    can rely on the rows that it read there.
//!
//! # Where things are
//! [`store`] what is asked of a store, [`page`] the layout, [`meta`], [`index`] an open index and its
//! copies of inner pages, [`tree`] descents, [`insert`], [`split`] and [`remove`], [`vacuum`], [`range`]
//! and [`nearest`] scans, [`walk`] over a table, [`build`], [`check`] and
//! [`facts`]; [`mutant`] has the faults that the simulation must find.

pub mod allocate;
pub mod build;
pub mod check;
pub mod damage;
pub mod facts;
pub mod index;
pub mod insert;
pub mod meta;
pub mod mutant;
pub mod nearest;
pub mod page;
pub mod range;
pub mod remove;
pub mod split;
pub mod store;
pub mod tree;
pub mod vacuum;
pub mod walk;

pub use damage::Damage;
pub use index::{Budget, Cache, Index};
pub use meta::Meta;
pub use page::Entry;
pub use store::Store;

/// The block of the meta page.
pub const META_BLOCK: u32 = 0;
/// The root of table t is block `FIRST_ROOT + t`, for ever.
pub const FIRST_ROOT: u32 = 1;
/// No block: the right link of the last page of a level.
pub const NO_BLOCK: u32 = u32::MAX;
