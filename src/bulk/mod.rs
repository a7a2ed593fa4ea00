//! Deduplicates whole tables: pairs of rows within a distance, and the clusters that pairs make.
//!
//! `README.md` has the design. Modules: [`target`] (the indexes, and the caller's privileges),
//! [`leaves`] (rows from pages), [`row`] (a row's number, which includes its table), [`heap`]
//! (which rows the snapshot sees), [`session`] (the join, batch by batch), [`team`] and [`worker`]
//! (its parallel workers), [`ranges`] (block tables that several processes read at once),
//! [`shared`] and [`message`] (shared memory and messages of the join's processes), [`pairs`] and
//! [`clusters`] (the results), [`fingerprints`] (the cover by distance), [`held`] (relations kept
//! in use between rows), [`verify`] (comparison of texts), [`sets`] (the cache of their shingle
//! sets), [`contained`] (rows that share a passage), [`texts`] (tables of texts), [`servers`]
//! (tables with parts on other servers), [`suggest`] (which limit to use), [`progress`] (the view
//! simhash_progress), [`file`] (clusters beyond memory), [`errors`].

pub mod clusters;
pub mod contained;
mod errors;
mod file;
pub mod fingerprints;
mod heap;
pub mod held;
mod indexed;
mod keys;
mod leaves;
pub mod measured;
mod message;
mod order;
pub mod pairs;
mod places;
pub mod progress;
mod ranges;
pub mod row;
pub mod servers;
mod session;
pub mod sets;
mod shared;
mod spool;
pub mod suggest;
pub mod target;
mod team;
pub mod texts;
pub mod verify;
mod worker;
