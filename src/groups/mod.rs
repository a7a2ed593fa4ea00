//! Groups that live: the trigger `simhash_cluster()` keeps the id of each row's group in a column,
//! statement by statement.
//!
//! A group is a connected component of near-duplicates. For the rows that a statement has changed:
//! the family's lock, a snapshot taken after it, their neighbours, and one UPDATE of the ids that
//! are others now. docs/design/groups.md says what is promised, and why.
//!
//! Where things are: [`setup`] (the trigger's arguments and what they mean), [`statement`] (what
//! fired the trigger, and what becomes of it), [`transition`] (rows before and after), [`regroup`]
//! (which rows are connected), [`search`] (connects them), [`neighbours`] (what is near), [`ids`]
//! (what the groups are called), [`whole`] (all rows of a table at once), [`table`] (reading and
//! telling rows), [`access`] (with whose rights), [`marks`] (groups that are to be settled later),
//! [`settle`], [`strangers`] (whose code would run then), [`create`], [`keys`], [`scopes`],
//! [`sql`], [`merge`] (rows that MERGE moves between partitions), [`own`] (our own updates,
//! recognised, and what happens inside) and [`looks`] (whether a statement's rows were seen or
//! missed before its turn).

mod access;
pub mod create;
mod ids;
mod keys;
mod looks;
mod marks;
#[cfg(not(feature = "pg14"))]
pub mod merge;
mod neighbours;
mod own;
mod regroup;
mod scopes;
mod search;
pub mod settle;
mod setup;
mod sql;
pub mod statement;
mod strangers;
mod table;
mod transition;
mod whole;
