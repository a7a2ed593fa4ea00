//! The SQL functions: arguments in, the core's answer out.

mod call_site;
mod distance;
mod fingerprint;
mod tsvector;
