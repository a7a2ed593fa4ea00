//! The hash of a feature: XXH3, at the fingerprint's own width.

use xxhash_rust::xxh3;

use crate::Fingerprint;

/// The seed of the low half of a hash of 256 bits: the fraction of the golden ratio.
///
/// XXH3 XORs short inputs with a sum of the seed. So with a small seed, 64 bits of a short word's
/// low half would be 64 bits of another word's high half.
const LOW_HALF: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of the feature's UTF-8 bytes: XXH3-64 for 64 bits, XXH3-128 for 128 bits, both with
/// seed 0. For 256 bits it is two XXH3-128 hashes: the high half with seed 0, and the low half with
/// the seed `9e3779b97f4a7c15`.
///
/// Stored fingerprints depend on it, so it never changes.
///
/// ```
/// use simhash_core::base::bits::B256;
/// use simhash_core::base::hash::feature_hash;
/// assert_eq!(feature_hash::<u64>(b""), 0x2d06800538d394c2);
/// assert_eq!(feature_hash::<u128>(b""), 0x99aa06d3014798d86001c324468d497f);
/// assert_eq!(feature_hash::<B256>(b"").words()[..2], [0x99aa06d3014798d8, 0x6001c324468d497f]);
/// ```
#[inline]
pub fn feature_hash<F: Fingerprint>(feature: &[u8]) -> F {
    const { assert!(F::BITS == 64 || F::BITS == 128 || F::BITS == 256) };
    match F::BITS {
        64 => F::from_number(xxh3::xxh3_64(feature)),
        128 => from_halves(xxh3::xxh3_128(feature), 0),
        _ => from_halves(xxh3::xxh3_128_with_seed(feature, LOW_HALF), xxh3::xxh3_128(feature)),
    }
}

/// The fingerprint whose words 0 and 1 are `low`, and words 2 and 3, if there are any, `high`.
#[inline]
fn from_halves<F: Fingerprint>(low: u128, high: u128) -> F {
    F::from_words(|index| if index < 2 { low.word(index) } else { high.word(index - 2) })
}
