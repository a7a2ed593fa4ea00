//! Encodes the columns before an index's fingerprint, which are compared by equality alone, as
//! bytes of a fixed length.
//!
//! Equal values have equal bytes. Indexes store these bytes, so the encoding must never change.

use sha2::{Digest, Sha256};

use crate::base::interrupt::Interrupt;

/// The bytes of a [`digest`].
pub const DIGEST: usize = 16;

/// Writes the low bytes of a number that fits `room`, the most significant first and with the sign
/// bit flipped. So the bytes sort as the numbers do.
///
/// ```
/// use simhash_core::search::scope::{from_ordered, ordered};
/// let bytes = |number| {
///     let mut bytes = [0; 2];
///     ordered(number, &mut bytes);
///     bytes
/// };
/// assert_eq!(bytes(-32768), [0, 0]);
/// assert_eq!(bytes(-1), [0x7f, 0xff]);
/// assert_eq!(bytes(258), [0x81, 0x02]);
/// assert_eq!(from_ordered(&bytes(-1)), -1);
/// ```
pub fn ordered(number: i64, room: &mut [u8]) {
    let bytes = number.to_be_bytes();
    debug_assert!(from_end(number, room.len()) == number, "the number fits");
    room.copy_from_slice(&bytes[bytes.len() - room.len()..]);
    room[0] ^= SIGN;
}

/// The number that [`ordered`] wrote as these one to eight bytes.
pub fn from_ordered(bytes: &[u8]) -> i64 {
    let unsigned = bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let sign = u64::from(SIGN) << (8 * (bytes.len() - 1));
    from_end((unsigned ^ sign) as i64, bytes.len())
}

const SIGN: u8 = 0x80;

/// The low `bytes` bytes of a number, with their sign.
fn from_end(number: i64, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes as u32;
    number << unused >> unused
}

/// The first 128 bits of the SHA-256 of a value of any length. No collision is known, and finding
/// one takes about 2^64 digests.
///
/// ```
/// use simhash_core::search::scope::digest;
/// // printf abc | sha256sum | cut -c 1-32
/// assert_eq!(digest(b"abc", &mut || ()), *b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\
///     \x41\x41\x40\xde\x5d\xae\x22\x23");
/// ```
pub fn digest(value: &[u8], interrupt: &mut dyn FnMut()) -> [u8; DIGEST] {
    let interrupt = Interrupt::new(interrupt);
    let mut sha256 = Sha256::new();
    for piece in value.chunks(16 << 10) {
        sha256.update(piece);
        interrupt.spend(2 * piece.len());
    }
    let mut first = [0; DIGEST];
    first.copy_from_slice(&sha256.finalize()[..DIGEST]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(number: i64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        ordered(number, &mut bytes);
        bytes
    }

    #[test]
    fn bytes_are_ordered_as_numbers_are_and_give_them_back() {
        for length in 1..=8 {
            let most = i64::MAX >> (64 - 8 * length);
            let mut numbers = vec![-most - 1, -most, -128, -2, -1, 0, 1, 2, 127, most - 1, most];
            numbers.sort_unstable();
            numbers.dedup();
            let bytes: Vec<_> = numbers.iter().map(|&number| bytes_of(number, length)).collect();
            assert!(bytes.is_sorted_by(|a, b| a < b), "{length} bytes");
            let back: Vec<_> = bytes.iter().map(|bytes| from_ordered(bytes)).collect();
            assert_eq!(back, numbers, "{length} bytes");
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Expected values: `... | sha256sum | cut -c 1-32`.
    #[test]
    fn digests_values_of_any_length() {
        let mut checks = 0;
        let mut digest_of = |value: &[u8]| hex(&digest(value, &mut || checks += 1));
        // printf ''
        assert_eq!(digest_of(b""), EMPTY);
        // printf 'Zoë 你好'
        assert_eq!(digest_of("Zoë 你好".as_bytes()), GREETING);
        // head -c 1000000 /dev/zero
        assert_eq!(digest_of(&vec![0; 1_000_000]), ZEROS);
        assert!(checks >= 60, "{checks} checks for interrupts in a megabyte");
    }

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb924";
    const GREETING: &str = "faff04ce59db5c71ef0ef7e5bf055ff0";
    const ZEROS: &str = "d29751f2649b32ff572b5e0a9f541ea6";
}
