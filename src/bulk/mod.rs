//! Deduplicating in bulk: every pair of rows within a distance, and the clusters that pairs make.
//!
//! Where things are: [`target`] (which indexes, and who may ask), [`leaves`] (rows from pages),
//! [`row`] (a row's number, which tells its table), [`heap`] (which rows the query sees),
//! [`session`] (the join, batch by batch), [`team`] and [`worker`] (its parallel workers),
//! [`ranges`] (tables that they read beside each other),
//! [`shared`] and [`message`] (what these share and send), [`pairs`] and [`clusters`] (the
//! answers), [`held`] (what a query may not change meanwhile), [`verify`] (by the texts), [`sets`]
//! (of which each is cut into shingles once), [`servers`] (tables whose parts lie elsewhere),
//! [`suggest`] (which limit to use), [`progress`]
//! (what other sessions see), [`file`] (clusters beyond memory), [`errors`].

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
