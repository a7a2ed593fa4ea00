//! Which build of this library a process has loaded. After an upgrade without a restart, sessions
//! have different builds, and new parallel workers another one than their leader.

use std::hash::{DefaultHasher, Hasher};

/// What the layout of values in memory depends on.
const BUILD: &str =
    concat!("pg_simhash ", env!("CARGO_PKG_VERSION"), " by ", env!("SIMHASH_COMPILER"));

/// A hash of this build. Only processes with the same one may read each other's values in shared
/// memory.
pub fn build() -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(BUILD.as_bytes());
    hasher.finish()
}
