//! `near_duplicate(a, b, similarity, config)` and `~=` of texts: what an index can answer instead,
//! and how many rows they keep.
//!
//! 1. A text index serves a call by its support function ([`support`]), as PostgreSQL matches the
//!    call's arguments with the index's column.
//! 2. The index of an exclusion constraint is on `near_text(body, 0.8)`, which is no argument of
//!    the call. So the hook that rewrites quals does that ([`constraint`]).
//! 3. Where row-level security or a security barrier hides rows, only leakproof conditions reach
//!    the index: [`secure`].
//!
//! `shares_passage(a, b, words, config)` is served in the same way; [`passages`] estimates.
//!
//! [`recipe`] says what an index was made for, [`rows`] estimates, by a [`sample`].

pub mod constraint;
pub mod objects;
pub mod passages;
mod recipe;
pub mod rows;
mod sample;
mod secure;
pub mod support;

pub use sample::Others;
