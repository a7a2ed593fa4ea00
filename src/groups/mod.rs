//! Groups that live: the trigger `simhash_cluster()` keeps the id of each row's group in a column,
//! statement by statement.
//!
//! A group is a connected component of near-duplicates. For the rows that a statement has changed:
//! their neighbours, locks of the groups that these are in, and one UPDATE of the ids that are
//! others now. README.md beside this file says what is promised, and why.
//!
//! Five triggers call [`statement::run`], all with the same arguments; [`create`] makes them:
//!
//! | fired | for | does |
//! |---|---|---|
//! | BEFORE INSERT, UPDATE, DELETE | the statement | notes that it is [`under_way`]; takes a lock |
//! | BEFORE UPDATE OF the ids' column | each row | keeps the id, unless it is our [`own_update`] |
//! | AFTER INSERT; UPDATE; DELETE (three) | the statement | finds groups, writes ids |
//!
//! The last ones, from the top:
//!
//! ```text
//! statement       reads the rows before and after (transition, row)
//! └ settle        until nothing has changed meanwhile:
//!   ├ search      rows in progress near the statement's (locks: who waits for whom)
//!   ├ bridges     which groups may have come apart; their rows are read (table)
//!   ├ search      connects fresh rows with what is near (neighbours, components)
//!   ├ assign      which id each group has
//!   ├ locks       of the ids on which this depends
//!   └ table       locks rows, and writes their ids (access: with whose rights)
//! ```
//!
//! And: [`setup`] (what the arguments mean), [`whole`] (all rows of a table at once), [`marks`]
//! (groups that are settled later), [`strangers`] (whose code would run then), [`looks`] (whether
//! rows were seen before their statement's turn), [`merge_command`] (what MERGE must not do),
//! [`keys`] and [`scopes`] (values as numbers), [`sql`] and [`run_as`].

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
