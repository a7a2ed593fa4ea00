//! Stores the index's pages in PostgreSQL: shared buffers, locks on them, and the WAL of their
//! changes.
//!
//! The crate `simhash-index` decides what pages contain and in which order they are locked. It
//! works on a trait, which [`store`] implements. Shared buffers are read only through the guards of
//! [`buffer`] and changed only through [`wal`]. [`order`] checks the order of locks in tests.
//! [`cache`] keeps, per backend, what the indexes' meta pages and inner pages say.

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
