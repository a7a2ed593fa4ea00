//! Feeds any bytes to the parsers of the core, and to an index whose pages they damage. Each module
//! has a function `run`, which panics on a fault. A refusal of the bytes is no fault.
//!
//! `scripts/run fuzz` runs libFuzzer, which looks for bytes that reach new code. The tests feed
//! random bytes.

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
