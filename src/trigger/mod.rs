//! The trigger `simhash_dedup()`: it keeps near-duplicates out, or marks them, when a row is
//! written.
//!
//! For a row with a new fingerprint the order of steps is an invariant: the locks of its
//! [`family`](crate::family), a [claim](crate::claims) of the row, a search of the family's
//! indexes, then the action that the trigger's arguments name. README.md beside this file says what
//! the trigger promises, and why.
//!
//! Files: [`judge`] (the steps), [`event`] (what fired the trigger), [`arguments`], [`setup`] (what
//! is kept across rows), [`warnings`], [`generated`] (a fingerprint that is a generated column),
//! [`search`], [`window`] (rows of a period), [`moves`] (updates that move a row to another
//! partition), [`create`] and [`violation`] (the ERROR of action=error).

pub mod arguments;
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
