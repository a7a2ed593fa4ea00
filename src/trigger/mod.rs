//! The trigger `simhash_dedup()`: it keeps near-duplicates out, or marks them, as rows come in.
//!
//! For a row with a new fingerprint: the locks of its [`family`](crate::family), a
//! [claim](crate::claims) of the row, a search of the family's indexes, then what the trigger's
//! arguments say. The order is an invariant. README.md beside this file says what the trigger
//! promises, and why.
//!
//! Where things are: [`judge`] (what becomes of a row), [`event`] (what fired the trigger),
//! [`arguments`], [`setup`] (what is kept from row to row), [`warnings`], [`generated`] (a
//! fingerprint that is a generated column), [`search`], [`window`] (by time), [`moves`] (updates
//! that move a row to another partition), [`create`], [`changes`] and [`violation`] (the ERROR of
//! action=error).

pub mod arguments;
mod changes;
pub mod create;
mod event;
pub mod generated;
pub mod judge;
mod moves;
pub mod search;
mod setup;
mod violation;
pub mod warnings;
mod window;
