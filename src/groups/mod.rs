//! Groups that live: the trigger `simhash_cluster()` keeps the id of each row's group in a column,
//! statement by statement.
//!
//! A group is a connected component of near-duplicates. For the rows that a statement has changed:
//! their neighbours, locks of the groups that these are in, and one UPDATE of the ids that are
//! others now. docs/design/groups.md says what is promised, and why.
//!
//! Where things are, in the order of a statement: [`setup`] (the trigger's arguments and what they
//! mean), [`statement`] (what fired the trigger, and what becomes of it), [`transition`] (rows
//! before and after), [`settle`] (the steps), [`locks`] (who writes at the same time),
//! [`components`] (which rows are connected), [`neighbours`] (what is near), [`search`] (connects
//! them), [`bridges`] (whether a group that rows have left holds together), [`names`] (what groups
//! are called), [`table`] (reading and telling rows), [`access`] (with whose rights).
//!
//! And: [`whole`] (all rows of a table at once), [`marks`] (groups that are to be settled later),
//! [`strangers`] (whose code would run then), [`create`], [`keys`], [`scopes`], [`sql`], [`merge`]
//! (what MERGE must not do), [`telling`] (our own updates, recognised) and [`looks`] (whether a
//! statement's rows were seen before its turn).

mod access;
mod assign;
mod bridges;
mod components;
pub mod create;
mod keys;
mod locks;
mod looks;
mod marks;
#[cfg(not(feature = "pg14"))]
pub mod merge_command;
mod neighbours;
mod own_update;
mod row;
mod run_as;
mod scopes;
mod search;
pub mod settle;
mod setup;
mod sql;
pub mod statement;
mod strangers;
mod table;
mod transition;
mod under_way;
mod whole;
