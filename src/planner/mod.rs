//! The planner's part: `hamming(x, y) <= k` becomes something an index can answer, with an
//! estimate.
//!
//! PostgreSQL matches index clauses on `indexed_column OP value`; in `hamming(fp, $1) <= 3` the
//! column sits inside a function. Two steps bring it out:
//!
//! 1. [`support`]: `hamming` has a support function, so this library is loaded while a query's
//!    expressions are simplified, which is before its relations are looked at.
//! 2. [`rewrite`]: the library's hook runs when the first relation is looked at, which is before the
//!    quals are distributed, and rewrites them ([`pattern`] says which) where a simhash index
//!    ([`index`]) could use the result. [`catalog`] says which functions are ours.
//!
//! Everything after that is PostgreSQL's own: partial indexes, joins, partitions, parameters.
//! [`selectivity`] gives the estimates, from the column's statistics ([`sample`]).

mod catalog;
mod index;
mod pattern;
pub mod rewrite;
mod sample;
mod selectivity;
mod support;

pub use catalog::access_method;
pub use selectivity::made_radius;
