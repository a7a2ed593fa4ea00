//! Which build of this library a process has loaded. After an upgrade without a restart, sessions
//! have different builds, and new parallel workers another one than their leader.

use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;

/// What the layout of values in memory depends on.
const BUILD: &str =
    concat!("pg_simhash ", env!("CARGO_PKG_VERSION"), " by ", env!("SIMHASH_COMPILER"));

/// A hash of this build. Only processes with the same one may read each other's values in shared
/// memory.
pub fn build() -> u64 {
    let mut hasher = DefaultHasher::new();
    // Read when it runs: the test two_builds changes the text in the library's file.
    hasher.write(black_box(BUILD).as_bytes());
    hasher.finish()
}
