//! The hash of a feature: XXH3 with seed 0, at the fingerprint's own width.

use xxhash_rust::xxh3;

use crate::Fingerprint;

/// The hash of the feature's UTF-8 bytes: XXH3-64 for 64 bits, XXH3-128 for 128 bits, both with
/// seed 0.
///
/// Stored fingerprints depend on it, so it never changes.
///
/// ```
/// use simhash_core::hash::feature_hash;
/// assert_eq!(feature_hash::<u64>(b""), 0x2d06800538d394c2);
/// assert_eq!(feature_hash::<u128>(b""), 0x99aa06d3014798d86001c324468d497f);
/// ```
#[inline]
pub fn feature_hash<F: Fingerprint>(feature: &[u8]) -> F {
    const { assert!(F::BITS == 64 || F::BITS == 128) };
    if F::BITS == 64 {
        F::from_u128(u128::from(xxh3::xxh3_64(feature)))
    } else {
        F::from_u128(xxh3::xxh3_128(feature))
    }
}
