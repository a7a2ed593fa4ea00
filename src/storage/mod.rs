//! The index's pages in PostgreSQL: shared buffers, locks on them, and the WAL of their changes.
//!
//! The crate `simhash-index` decides what pages hold and in which order they are locked. This room
//! is the store that it works on: [`store`] implements its trait. Shared buffers are read through
//! the guards of [`buffer`] only and changed through [`wal`] only. [`order`] checks the order of
//! locks in tests. [`cache`] is what a backend remembers of the indexes that it has opened.

mod buffer;
mod cache;
mod heap;
mod order;
mod relation;
mod store;
mod wal;

pub use buffer::{Pinned, Shared};
pub use cache::{Index, family, forget_file, meta, note, open};
pub(crate) use cache::{with_block_key_type, with_fingerprint_type, with_key_type};
pub use heap::row_header;
pub use order::check_for_interrupts;
pub use relation::{IndexRel, PageBytes};
pub use store::leaves_read;
