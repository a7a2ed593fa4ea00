//! What the triggers of `simhash_dedup` and `simhash_cluster` share: the tables that belong to a
//! trigger's table, and how their rows are read.
//!
//! Files: [`given`] and [`arguments`] (a trigger's arguments, as written and as meant), [`column`],
//! [`value`] and [`row`] (handles), [`on`] (open tables, their triggers and indexes), [`generated`]
//! (the columns that a generated column reads), [`tables`] (the family, and its lock), [`serving`]
//! (which index finds every row), [`warnings`] (if none does), [`scan`] (reads rows), [`verify`]
//! (compares texts), [`written`] (new values for a row), [`rights`] (which roles may read a key),
//! [`snapshot`] (which rows are visible), [`changes`] (until when all this is current) and
//! [`create`] (creates triggers).

pub mod arguments;
pub mod changes;
pub mod column;
pub mod create;
pub mod generated;
pub mod given;
pub mod on;
pub mod rights;
pub mod row;
pub mod scan;
pub mod serving;
pub mod snapshot;
pub mod tables;
pub mod value;
pub mod verify;
pub mod warnings;
pub mod written;
