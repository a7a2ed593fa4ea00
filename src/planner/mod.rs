//! The planner's part: `hamming(x, y) <= k` becomes something an index can answer, with an
//! estimate.
//!
//! PostgreSQL matches index clauses on `indexed_column OP value`. In `hamming(fp, $1) <= 3` the
//! column sits inside a function. Two steps bring it out:
//!
//! 1. `hamming` has a support function, so this library is loaded while a query's expressions are
//!    simplified, which is before its relations are looked at.
//! 2. The library's hook ([`rewrite`]) runs when the first relation is looked at, which is before
//!    the quals are distributed. It rewrites quals of some forms ([`pattern`], [`values`],
//!    [`nodes`], [`balls`]) and the order by a distance ([`order`]) where a simhash index
//!    ([`index`]) could use the result. [`measures`] says which functions are ours.
//!
//! Everything after that is PostgreSQL's own: partial indexes, joins, partitions, parameters. Where
//! indexes on either side could serve a clause, [`support`] gives the form for each.
//! [`selectivity`] gives the estimates, from the column's statistics ([`statistics`]). [`near`]
//! does all this for texts.

mod balls;
mod changes;
mod descendants;
pub mod incomparable;
mod index;
mod indexed_columns;
mod measures;
pub mod near;
mod nodes;
mod order;
mod pattern;
pub mod rewrite;
pub mod selectivity;
mod statistics;
pub mod support;
mod values;
pub mod whole;

pub use index::{index_quals, simhash_indexes};
pub use measures::access_method;
pub use near::rows::kept_beside;
pub use selectivity::made_radius;
pub use statistics::number_of_values;
