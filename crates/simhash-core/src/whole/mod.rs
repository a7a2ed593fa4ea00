//! Operations on whole tables: the [`join`] of fingerprints, texts [`sharing`] keys, and limits to
//! [`suggest`].

pub mod join;
pub mod sharing;
pub mod suggest;
