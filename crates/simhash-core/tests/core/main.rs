//! What the crate does, through its public interface. One program, so that what all of it needs is
//! compiled once. Beside it are tests that need a process of their own (`dictionary`), and those
//! that read files which are not the crate's.

mod code;
mod common;
mod config;
mod features;
mod golden;
mod join;
mod normalize;
mod passages;
mod search_plans;
mod simhash;
mod spots;
mod tokens;
mod unicode;
mod values;
