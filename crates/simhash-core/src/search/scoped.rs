//! The keys of an index's tables, fingerprints in scopes, and the payloads stored beside them.
//!
//! A row has a *scope*, the values of the columns that are compared by equality, and a *payload*,
//! the values of columns that are only returned. The scope is the most significant part of a key,
//! so the rows of a scope are adjacent in every table. Scopes and payloads are strings of bytes,
//! whose lengths are fixed for an index.

use std::fmt::Debug;

use crate::base::fingerprint::Fingerprint;
use crate::base::key::Key;

/// The most bytes of a scope.
pub const MOST_SCOPE: usize = 56;
/// The most bytes of a payload.
pub const MOST_PAYLOAD: usize = 40;

/// A string of bytes, of which an index uses the first ones. All others are zero.
pub trait Bytes: Copy + Ord + Debug + 'static {
    /// The most bytes that it can hold.
    const BYTES: usize;
    /// All zeroes.
    const ZERO: Self;

    /// Reads the first bytes.
    ///
    /// # Panics
    /// When there are more than `BYTES`, as in `store`. `()` ignores its bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Writes the first bytes.
    fn store(self, bytes: &mut [u8]);
    /// The least string above this one in which only the first `length` bytes may be non-zero.
    /// `None` if there is none.
    fn successor(self, length: usize) -> Option<Self>;
}

impl Bytes for () {
    const BYTES: usize = 0;
    const ZERO: Self = ();

    #[inline]
    fn load(_: &[u8]) -> Self {}
    #[inline]
    fn store(self, _: &mut [u8]) {}
    #[inline]
    fn successor(self, _: usize) -> Option<Self> {
        None
    }
}

/// Up to eight bytes as the most significant bytes of a word, by two loads that may overlap. A copy
/// to a buffer would make the load of the word wait for the stores.
#[inline]
fn word_of(part: &[u8]) -> u64 {
    if let Some(&whole) = part.first_chunk() {
        u64::from_be_bytes(whole)
    } else if let (Some(&first), Some(&last)) = (part.first_chunk(), part.last_chunk()) {
        u64::from(u32::from_be_bytes(first)) << 32
            | u64::from(u32::from_be_bytes(last)) << (8 * (8 - part.len()))
    } else {
        part.iter()
            .zip(1..)
            .fold(0, |word, (&byte, place)| word | u64::from(byte) << (64 - 8 * place))
    }
}

/// Words of eight bytes, the first byte of each most significant, so words compare as the bytes do.
impl<const W: usize> Bytes for [u64; W] {
    const BYTES: usize = 8 * W;
    const ZERO: Self = [0; W];

    #[inline]
    fn load(bytes: &[u8]) -> Self {
        assert!(bytes.len() <= Self::BYTES, "{} bytes of {}", bytes.len(), Self::BYTES);
        let mut words = [0; W];
        for (word, part) in words.iter_mut().zip(bytes.chunks(8)) {
            *word = word_of(part);
        }
        words
    }

    #[inline]
    fn store(self, bytes: &mut [u8]) {
        assert!(bytes.len() <= Self::BYTES, "{} bytes of {}", bytes.len(), Self::BYTES);
        for (word, part) in self.iter().zip(bytes.chunks_mut(8)) {
            part.copy_from_slice(&word.to_be_bytes()[..part.len()]);
        }
    }

    fn successor(mut self, length: usize) -> Option<Self> {
        let mut used = length.min(Self::BYTES);
        while used > 0 {
            let word = (used - 1) / 8;
            // One in the last byte of the word that is used.
            let unit = 1 << (8 * (7 - (used - 1) % 8));
            let (sum, carries) = self[word].overflowing_add(unit);
            self[word] = sum;
            if !carries {
                return Some(self);
            }
            used = word * 8;
        }
        None
    }
}

/// A scope and a rotated fingerprint. A table is ordered by them, and by the row's address among
/// equal ones.
pub trait TreeKey: Copy + Ord + Debug + 'static {
    type Fingerprint: Key;
    type Scope: Bytes;
    type Payload: Bytes;
    /// Bytes of a fingerprint on a page, if every index with such keys stores as many.
    const STORED: usize = Self::Fingerprint::BYTES;
    /// The least key.
    const MIN: Self;

    fn new(scope: Self::Scope, fingerprint: Self::Fingerprint) -> Self;
    fn scope(self) -> Self::Scope;
    fn fingerprint(self) -> Self::Fingerprint;
    /// The leading bits, from which a search by interpolation estimates a key's place. `scope` is
    /// the length of scopes in bytes.
    fn top(self, scope: usize) -> u64;
}

/// A key without scope or payload.
impl<F: Key> TreeKey for F {
    type Fingerprint = F;
    type Scope = ();
    type Payload = ();
    const MIN: Self = F::ZERO;

    #[inline]
    fn new((): (), fingerprint: F) -> Self {
        fingerprint
    }
    #[inline]
    fn scope(self) {}
    #[inline]
    fn fingerprint(self) -> F {
        self
    }
    #[inline]
    fn top(self, _: usize) -> u64 {
        Fingerprint::top(self)
    }
}

/// The 32-bit key of a posting, without scope or payload. As a fingerprint it occupies the most
/// significant bits, as all narrow ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting(u32);

impl TreeKey for Posting {
    type Fingerprint = u64;
    type Scope = ();
    type Payload = ();
    const STORED: usize = 4;
    const MIN: Self = Self(0);

    #[inline]
    fn new((): (), fingerprint: u64) -> Self {
        Self((fingerprint >> 32) as u32)
    }
    #[inline]
    fn scope(self) {}
    #[inline]
    fn fingerprint(self) -> u64 {
        u64::from(self.0) << 32
    }
    #[inline]
    fn top(self, _: usize) -> u64 {
        self.fingerprint()
    }
}

/// A key in a scope of up to `8 * W` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scoped<F, const W: usize> {
    scope: [u64; W],
    fingerprint: F,
}

impl<F: Key, const W: usize> TreeKey for Scoped<F, W> {
    type Fingerprint = F;
    type Scope = [u64; W];
    type Payload = [u64; MOST_PAYLOAD / 8];
    const MIN: Self = Self { scope: [0; W], fingerprint: F::ZERO };

    #[inline]
    fn new(scope: [u64; W], fingerprint: F) -> Self {
        Self { scope, fingerprint }
    }
    #[inline]
    fn scope(self) -> [u64; W] {
        self.scope
    }
    #[inline]
    fn fingerprint(self) -> F {
        self.fingerprint
    }
    #[inline]
    fn top(self, scope: usize) -> u64 {
        let first = self.scope.first().copied().unwrap_or(0);
        first | self.fingerprint.top().checked_shr(8 * scope as u32).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_its_bytes_and_zeroes() {
        let bytes: Vec<u8> = (1..=16).map(|i| i * 15).collect();
        for length in 0..=16 {
            let mut whole = bytes[..length].to_vec();
            whole.resize(16, 0);
            let words = [0, 8].map(|at| u64::from_be_bytes(whole[at..at + 8].try_into().unwrap()));
            assert_eq!(<[u64; 2]>::load(&bytes[..length]), words, "{length}");
        }
    }

    #[test]
    fn scopes_compare_and_count_as_their_bytes() {
        let scope = |bytes: &[u8]| <[u64; 3]>::load(bytes);
        let strings: [&[u8]; 6] = [
            &[0],
            &[0, 1],
            &[1, 0, 0, 0, 0, 0, 0, 0],
            &[1, 0, 0, 0, 0, 0, 0, 0, 9],
            &[1, 0, 0, 0, 0, 0, 1],
            &[255; 20],
        ];
        assert!(strings.windows(2).all(|pair| scope(pair[0]) < scope(pair[1])));
        for bytes in strings {
            let mut stored = vec![7; bytes.len()];
            scope(bytes).store(&mut stored);
            assert_eq!(stored, bytes);
        }
        assert_eq!(scope(&[0, 255]).successor(2), Some(scope(&[1, 0])));
        assert_eq!(scope(&[255, 255]).successor(2), None);
        assert_eq!(scope(&[255; 9]).successor(9), None);
        assert_eq!(scope(&[3, 255, 255, 255, 255, 255, 255, 255, 255]).successor(9), {
            Some(scope(&[4]))
        });
        assert_eq!(scope(&[5; 24]).successor(24).map(|next| next[2] & 255), Some(6));
        assert_eq!(scope(&[]).successor(0), None);
    }
}
