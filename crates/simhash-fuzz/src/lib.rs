//! What any bytes do to the parsers of the core and to an index whose pages they damage. Each
//! module has a function `run` that panics if something is wrong; that bytes are refused is not.
//!
//! `make fuzz` has libFuzzer look for such bytes, led by what code they reach. The tests feed it
//! random ones.

#![allow(clippy::disallowed_types, reason = "memory is not refused here")]

pub mod config;
mod damaged;
pub mod fingerprint;
mod input;
pub mod model;
pub mod pages;
mod postings;
pub mod seeds;
mod store;
pub mod text;
