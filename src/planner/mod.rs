//! Planner support: `hamming(x, y) <= k` becomes a clause that an index can serve, with an estimate
//! of its rows.
//!
//! PostgreSQL matches index clauses on `indexed_column OP value`. In `hamming(fp, $1) <= 3` the
//! column sits inside a function. Two steps bring it out:
//!
//! 1. `hamming` has a support function, so the library is loaded while a query's expressions are
//!    simplified. The planner looks up the query's relations only later.
//! 2. The library's hook ([`rewrite`]) runs at the first relation, before the quals are
//!    distributed. It rewrites quals of some forms ([`pattern`], [`values`], [`nodes`], [`balls`])
//!    and the order by a distance ([`order`]) if a simhash index ([`index`]) could use the result.
//!    [`measures`] decides which functions are ours.
//!
//! The rest is PostgreSQL's own: partial indexes, joins, partitions, parameters. Where indexes on
//! both sides could serve a clause, [`support`] returns the condition for either. [`selectivity`]
//! gives the estimates, from the column's statistics ([`statistics`]). [`near`] does the same for
//! texts.
//!
//! What PostgreSQL passes is read through handles ([`handle`]): [`expr`], [`root`], [`rel`],
//! [`variable`] and [`request`]. They are valid while a hook or a support function runs.

mod balls;
mod changes;
mod descendants;
mod distance;
mod expr;
mod handle;
pub mod incomparable;
mod index;
mod indexed_columns;
mod measures;
pub mod near;
mod nodes;
mod order;
mod pattern;
mod rel;
mod request;
pub mod rewrite;
mod root;
pub mod selectivity;
mod statistics;
pub mod support;
mod table;
mod values;
mod variable;
pub mod whole;

pub use expr::{Constant, Expr};
pub use index::index_quals;
pub use measures::access_method;
pub use near::rows::{is_near_text, kept_beside, near_text_call};
pub use selectivity::made_radius;
pub use statistics::number_of_values;
pub use table::simhash_indexes;
