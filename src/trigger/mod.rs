//! The trigger `simhash_dedup()`: it keeps near-duplicates out, or marks them, as rows come in.
//!
//! For a row with a new fingerprint: the locks of its [`family`], a snapshot taken after
//! them, a search of the family's indexes, then what the trigger's arguments say. The order is an
//! invariant: see [`lock`]. docs/design/trigger.md says what the trigger promises, and why.
//!
//! Where things are: [`judge`] (what becomes of a row), [`event`] (what fired the trigger),
//! [`given`] and [`arguments`] (the trigger's arguments, as written and as meant), [`watch`] (what
//! is kept from row to row), [`warnings`], [`column`], [`generated`] (a fingerprint that is a
//! generated column), [`family`] (the tables to look at), [`serving`] (which index finds every
//! row), [`lock`], [`search`], [`verify`] (by the texts), [`window`] (by time), [`moves`] (updates
//! that move a row to another partition), [`changes`], [`rights`] and [`violation`] (the ERROR of
//! action=error).

pub mod arguments;
mod changes;
pub mod column;
mod event;
pub mod family;
pub mod generated;
pub mod given;
pub mod judge;
pub mod lock;
mod moves;
mod rights;
pub mod search;
pub mod serving;
pub mod verify;
mod violation;
pub mod warnings;
pub mod watch;
mod window;
