//! The index's pages: their layout, locks on them, the WAL of their changes, and the meta page.
//!
//! Everything here deals in fixed-width unsigned keys and TIDs; what a key means is the access
//! method's business. All access to shared buffers goes through the guards of [`buffer`], all
//! changes through [`wal`].

pub mod allocate;
pub mod buffer;
pub mod damage;
pub mod meta;
pub mod order;
pub mod page;
pub mod relation;
pub mod wal;

pub use buffer::{Exclusive, Pinned, Shared};
pub use page::Entry;
pub use relation::IndexRel;

/// A page as bytes.
pub type PageBytes = [u8; pgrx::pg_sys::BLCKSZ as usize];

/// The block of the meta page.
pub const META_BLOCK: u32 = 0;
/// The root of table t is block `FIRST_ROOT + t`, for ever.
pub const FIRST_ROOT: u32 = 1;
/// No block: the right link of the last page of a level.
pub const NO_BLOCK: u32 = pgrx::pg_sys::InvalidBlockNumber;
