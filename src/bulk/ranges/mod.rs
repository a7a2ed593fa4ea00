//! Reads a block table with several processes at once, for a join that needs only rows with
//! neighbours.
//!
//! In a table of radius 0 no pair spans two ranges ([`has_ranges`]). Each process therefore reads
//! ranges by itself, joins each range with itself, and passes on the rows that have neighbours. The
//! leader joins these as if they were the whole table. Its own work grows with the result, not with
//! the table.
//!
//! Modules: [`range`] (every process reads ranges by it), [`shared`] (shared memory and messages),
//! [`leader`], [`worker`].

mod leader;
mod range;
mod shared;
mod worker;

pub use self::leader::{Ranges, Reader, processes};
