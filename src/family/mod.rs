//! What the triggers have in common: a table, everything that it is looked at with, and how.
//!
//! Where things are: [`given`] and [`arguments`] (a trigger's arguments, as written and as meant),
//! [`column`], [`generated`] (what a column is computed from), [`tables`] (the tables to look at),
//! [`serving`] (which index finds every row), [`warnings`] (if none does), [`scan`] (reads rows),
//! [`verify`] (by the texts), [`rights`] (who may see a key), [`lock`] (one writer at a time),
//! [`snapshot`] (what is seen), [`changes`] (how long all this is current) and [`create`] (makes
//! triggers).

pub mod arguments;
pub mod changes;
pub mod column;
pub mod create;
pub mod generated;
pub mod given;
pub mod lock;
pub mod rights;
pub mod scan;
pub mod serving;
pub mod snapshot;
pub mod tables;
pub mod verify;
pub mod warnings;
