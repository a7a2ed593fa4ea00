//! Tests of the crate through its public interface. They are one program, so that their common
//! dependencies are compiled once. Tests that need a process of their own (`dictionary`), or that
//! read files of other parts of the project, are beside it.

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
