//! The protocol of the index: B-link trees of fingerprints that any number of processes read and
//! write.
//!
//! Nothing here knows PostgreSQL. Pages come from a [`Store`]. In the extension that is shared
//! buffers with WAL. In the tests it is a simulation, where a scheduler picks every step.
//!
//! # Shape
//! Page 0 is the meta page, written once. A fingerprint has m blocks, and the index has m + 1
//! tables: a block table for each block, and the table of NULLs for rows without a fingerprint.
//! Each is a tree. Pages 1 to m + 1 are their roots, and stay roots for ever. Block table t holds
//! every row once, ordered by its scope (the values of the columns that are compared by equality,
//! if there are some), by the fingerprint rotated so that block t leads, and then by TID.
//!
//! An index of [`postings`] has three such trees instead: two of them hold the keys of texts, of
//! which a row has many, and the third holds every row once. A posting is in one of the two.
//!
//! # Invariants, at every moment that locks allow to be seen
//! 1. The live pages of a level partition the key space in the order of their right links.
//! 2. A parent's separators equal its children's low bounds. There is no incomplete split: a split
//!    or a removal changes both pages and the parent in one record.
//! 3. Entries move only to the right, by splits, and from the tree of recent postings to that of
//!    settled ones. Key space moves to the left only when it is empty, by removal.
//! 4. Every page says which table and level it is of, and which range [low, high). A process may
//!    arrive by stale information: by an old copy of the parent, by a right link, by a link to a
//!    page that was reused since. It sees from the locked page alone whether that is the right one.
//! 5. A process that waits for a page has no page locked but those above it in its tree and those
//!    to its left on its level. Everything else is locked at once or not at all: the other leaves
//!    of an insertion, and the leaf to which postings settle. No process serves an interrupt while
//!    it holds a lock.
//! 6. A row's entries are all in their tables before its insertion returns.
//! 7. Before a TID may be reused, vacuum takes every leaf under a cleanup lock, and then the root
//!    of every table, which may have been a leaf until a moment ago. So a scan that keeps a leaf
//!    pinned can rely on the rows that it read there.
//!
//! # Where things are
//! - [`store`]: what the index asks of a store. [`page`], [`form`] and [`meta`]: the layout
//!   of pages. [`key`]: what orders them.
//! - [`index`]: an open index and its copies of inner pages. [`tree`]: descents to a leaf.
//! - [`insert`], [`split`], [`allocate`], [`reclaim`], [`remove`], [`vacuum`]: all code that
//!   changes an index.
//! - [`postings`]: how texts are inserted, how their keys settle, and which rows share some of
//!   them.
//! - [`range`] and [`nearest`] scans, in which [`scopes`], and a [`walk`] over a table.
//! - [`build`], [`check`] and [`facts`]. [`runs`]: how many postings share a key.

pub mod allocate;
pub mod build;
pub mod check;
pub mod damage;
pub mod facts;
pub mod form;
pub mod index;
pub mod insert;
pub mod key;
pub mod meta;
pub mod nearest;
pub mod page;
pub mod postings;
pub mod range;
pub mod reclaim;
pub mod remove;
pub mod runs;
pub mod scopes;
pub mod split;
pub mod store;
pub mod tree;
pub mod vacuum;
pub mod walk;

pub use damage::Damage;
pub use index::{Budget, Cache, FIRST_ROOT, Index};
pub use key::{Posting, Scoped, Shape, TreeKey};
pub use meta::{Family, META_PAGE, Meta};
pub use page::{Entry, NO_PAGE, Row};
pub use scopes::Scopes;
pub use store::{Dead, Lock, Store};
