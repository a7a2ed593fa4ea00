//! The SQL functions: arguments in, the core's answer out.

mod call_site;
pub mod distance;
mod fingerprint;
mod tsvector;
