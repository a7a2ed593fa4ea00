//! Groups that live: the trigger `simhash_cluster()` keeps the id of each row's group in a column,
//! statement by statement.
//!
//! A *group* is a connected component of two or more near-duplicates. README.md beside this file
//! says what is promised, and why. This comment is the map: how one statement gets its ids.
//!
//! # Eleven terms
//!
//! - *Key*: the value that identifies a row, in the column of `key=`. [`keys`] numbers these
//!   values.
//! - *Id*: the value in the column of `cluster=`. It is the key of a row that is or was in the
//!   group, and NULL in a row without near rows.
//! - *Point*: what a row is searched by, a fingerprint or a hash of a text, together with its
//!   scope. Rows at one point are near the same rows.
//! - *Near*: in one scope, and within the distance or similar; with `fp=` and `similarity=`, both.
//! - *Fresh*: a row whose group has to be found, because the statement added or changed the row, or
//!   because the row's group may have come apart.
//! - *Standing*: any other row that a search has found. It represents its whole group, so a group
//!   of a million rows is joined through one of them.
//! - *Component*: rows and groups that the search has connected with each other ([`components`]).
//! - *Dirty search*: a search that also sees rows of other transactions in progress.
//! - *Gate*: a lock named by a transaction's number. A transaction takes its own gate before its
//!   dirty search. While another transaction holds that gate, it waits ([`locks`]).
//! - *Look*: one call of [`settle::settle`] or of `whole::regroup_all`.
//! - *Doubtful*: an id by which rows may have been connected that are not near ([`under_way`]).
//!
//! # The triggers
//!
//! [`create`] makes five, with the same arguments. All call [`statement::run`], by way of
//! src/functions/groups.rs.
//!
//! | fires | for | does |
//! |---|---|---|
//! | BEFORE INSERT, UPDATE, DELETE | the statement | notes it ([`under_way`]); may take a lock |
//! | BEFORE UPDATE OF the ids' column | each row | keeps the id, unless it is our [`own_update`] |
//! | AFTER INSERT; UPDATE; DELETE (three) | the statement | finds groups, writes ids |
//!
//! # The path of an INSERT
//!
//! 1. [`statement`], BEFORE: `before` notes that an INSERT is under way, and takes no lock.
//!    PostgreSQL then stores the rows, with NULL for an id, and copies them into the transition
//!    table.
//! 2. [`statement`], AFTER: `inserted` reads the transition table (`transition`, `row`) and raises
//!    an ERROR if a row has an id. The key and the point of each row that can be in a group are put
//!    into a `Components`: these rows are fresh. For an INSERT of a large part of the table, if the
//!    column's lock can be had exclusively at once, [`whole`] finds all groups instead, and the
//!    path ends.
//! 3. `apply` takes the lock of the column of ids, shared ([`locks`]). While it is held, no other
//!    transaction can find all groups anew. Then `apply` calls [`settle::settle`], which does the
//!    rest.
//! 4. `locks::Gates` takes the transaction's own gate. [`search`] does the dirty search. If other
//!    transactions in progress have near rows, `Gates::deal_with` takes their gates, or waits for
//!    these. If it gives way to an older transaction, this step begins again.
//! 5. A round begins, one pass of the loop in `settle`. [`search`] asks the indexes for the rows
//!    near each fresh point ([`neighbours`]), with the latest snapshot. It connects fresh rows with
//!    rows near them, and standing rows with their groups. The first round uses the dirty search's
//!    result if no transaction has ended since. If a row on which the dirty search relied is gone,
//!    the ids are given back, and step 4 is repeated.
//! 6. If the search has found new doubtful ids, all rows of these groups become fresh
//!    (`table::rows_of`), and another round begins.
//! 7. [`assign`] names each component. The least id of its groups becomes the id of all its rows. A
//!    component without groups is named by the least key of its rows that is no other group's id.
//! 8. `locks::Ids` locks the ids on which this depends: shared if rows join a group, exclusively if
//!    an id ends. If a lock was missing and a transaction has ended meanwhile, another round
//!    begins.
//! 9. `table::lock_rows` locks the rows that get another id, except the statement's own. If one of
//!    them has changed or is gone, another round begins.
//! 10. `table::write_ids` writes all ids by one UPDATE, usually with the table owner's privileges
//!     ([`access`], [`strangers`]). That UPDATE fires the triggers too; [`own_update`] recognises
//!     it.
//!
//! Say rows 3 and 5 are near the new row 9, and row 3 has id 1. If row 5 has no id, rows 5 and 9
//! get id 1. If row 5 has id 2, group 2 ends, and row 9 and all rows of group 2 get id 1.
//!
//! # Other statements
//!
//! Rows that an UPDATE changes, or a DELETE removes, leave their groups. In each round, [`bridges`]
//! says which groups may have come apart, and the rows of these become fresh before the search.
//! With `settle=later` these and doubtful groups only get a mark ([`marks`]), and
//! `simhash_cluster_settle` enters at [`settle`] or [`whole`].
//!
//! Also here: [`setup`] (what the arguments mean), [`merge_command`] (refuses what MERGE does not
//! report to triggers), [`scopes`] (scopes as numbers), [`sql`] (parts of our statements) and
//! [`run_as`] (roles and settings).

mod access;
mod assign;
mod bridges;
mod components;
pub mod create;
mod keys;
mod locks;
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
