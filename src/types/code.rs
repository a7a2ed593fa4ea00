//! Fingerprints of all widths as values of one type, for code that learns the width only at run
//! time.

use simhash_core::Fingerprint;

/// The maximal number of 64-bit words: 1024 bits.
const MOST_WORDS: usize = 16;
/// The maximal number of bits.
pub const MOST_BITS: u32 = 64 * MOST_WORDS as u32;

/// The bits of a fingerprint of any width. Only codes of equal width are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The most significant word first. The words from `count` on are 0.
    words: [u64; MOST_WORDS],
    count: usize,
}

impl Code {
    /// The 64-bit fingerprint 0.
    pub const ZERO_64: Code = Code { words: [0; MOST_WORDS], count: 1 };

    #[inline]
    pub fn new<F: Fingerprint>(fp: F) -> Self {
        const { assert!(F::BITS as usize <= 64 * MOST_WORDS) };
        let count = F::BITS as usize / 64;
        let mut words = [0; MOST_WORDS];
        for (place, word) in words[..count].iter_mut().enumerate() {
            *word = fp.word(count - 1 - place);
        }
        Code { words, count }
    }

    /// The bits of a byte string, padded with zeros to a whole word. Bits beyond [`MOST_BITS`] are
    /// omitted.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; MOST_WORDS];
        for (word, part) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            *word = u64::from_be_bytes(whole);
        }
        Code { words, count: bytes.len().div_ceil(8).clamp(1, MOST_WORDS) }
    }

    /// The width in bits.
    pub fn bits(&self) -> u32 {
        64 * self.count as u32
    }

    /// Converts to a fingerprint type of the code's width.
    #[inline]
    pub fn fingerprint<F: Fingerprint>(&self) -> F {
        let count = F::BITS as usize / 64;
        debug_assert_eq!(self.count, count);
        F::from_words(|index| self.words[count - 1 - index])
    }

    /// Converts to a fingerprint type of at least the code's width. The code's bits become the most
    /// significant ones.
    #[inline]
    pub fn leading<F: Fingerprint>(&self) -> F {
        let count = F::BITS as usize / 64;
        debug_assert!(self.count <= count);
        F::from_words(|index| self.words[count - 1 - index])
    }

    /// The number of bits in which the two codes differ.
    #[inline]
    pub fn hamming(&self, other: &Self) -> u32 {
        let pairs = self.words[..self.count].iter().zip(&other.words[..other.count]);
        pairs.map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}
