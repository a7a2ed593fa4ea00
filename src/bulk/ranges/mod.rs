//! A table of an index that several processes read at the same time, for a join that needs only
//! rows with neighbours.
//!
//! Of a table whose radius is 0 no pair is of two ranges ([`has_ranges`]). So each process reads
//! ranges by itself, joins each with itself, and hands on the rows that have neighbours. The leader
//! joins these as if they were the whole table. What one process does alone grows with what is
//! found, and not with the table.
//!
//! Where things are: [`range`] (what every process does: it reads a range), [`shared`] (the memory
//! between them, and the messages), [`leader`], [`worker`].

mod leader;
mod range;
mod shared;
mod worker;

pub use self::leader::{Ranges, Reader, processes};
