//! Planner support for `near_duplicate(a, b, similarity, config)` and `~=` of texts: conditions
//! that an index can serve, and estimates of rows.
//!
//! 1. For an index on a text, the call's support function ([`support`]) returns the condition when
//!    PostgreSQL matches the call's arguments with the index's column.
//! 2. The index of an exclusion constraint is on `near_text(body, 0.8)`, which is no argument of
//!    the call. So the hook that rewrites quals makes its condition ([`constraint`]).
//! 3. Where row-level security or a security barrier hides rows, only leakproof conditions reach
//!    the index: [`secure`].
//!
//! An index serves `shares_passage(a, b, words, config)` in the same way. [`passages`] has its
//! estimates.
//!
//! [`recipe`] reads what an index was made for. [`rows`] makes the estimates, from a [`sample`].

pub mod constraint;
pub mod objects;
pub mod passages;
mod recipe;
pub mod rows;
mod sample;
mod secure;
pub mod support;

pub use sample::Others;
