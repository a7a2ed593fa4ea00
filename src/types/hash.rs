//! Hashes that sessions compare with each other.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A hash that is the same in every session.
pub fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
