//! The index's pages in PostgreSQL: shared buffers, locks on them, and the WAL of their changes.
//!
//! What pages hold and in which order they are locked is the business of `simhash-index`; this is the
//! store that it works on. All access to shared buffers goes through the guards of [`buffer`], all
//! changes through [`wal`].

pub mod buffer;
pub mod cache;
pub mod order;
pub mod relation;
pub mod store;
pub mod wal;

pub use buffer::{Exclusive, Pinned, Shared};
pub use cache::{Index, open};
pub use relation::IndexRel;

/// A page as bytes.
pub type PageBytes = [u8; pgrx::pg_sys::BLCKSZ as usize];
