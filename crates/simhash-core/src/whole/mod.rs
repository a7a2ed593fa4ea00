//! Whole tables at once: a [`join`] of fingerprints, texts that are [`sharing`] keys, and what to
//! [`suggest`] for a table.

pub mod join;
pub mod sharing;
pub mod suggest;
