//! Deduplicating in bulk: every pair of rows within a distance, and the clusters that pairs make.
//!
//! Where things are: `target` (who may ask of which index), `leaves` (rows from pages), `heap` (which
//! rows the query sees), `session` (the join, batch by batch), `pairs` and `clusters` (the answers),
//! `progress` (what others see of it).

mod clusters;
pub mod heap;
pub mod leaves;
mod pairs;
pub mod progress;
mod session;
mod target;

pub use clusters::clusters;
pub use pairs::pairs;
