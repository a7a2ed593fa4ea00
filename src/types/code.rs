//! Fingerprints as values of one type: for code that learns only at run time how wide they are.

use simhash_core::Fingerprint;

/// The most words of 64 bits: 1024 bits.
const MOST_WORDS: usize = 16;
/// The most bits.
pub const MOST_BITS: u32 = 64 * MOST_WORDS as u32;

/// The bits of a fingerprint of any width. Codes that are compared have one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The most significant first. Those after the last are 0.
    words: [u64; MOST_WORDS],
    count: usize,
}

impl Code {
    /// The fingerprint 0 of 64 bits.
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

    /// The bits of a string of bytes, with zeros up to a whole word. What is beyond [`MOST_BITS`]
    /// is left out.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; MOST_WORDS];
        for (word, part) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            *word = u64::from_be_bytes(whole);
        }
        Code { words, count: bytes.len().div_ceil(8).clamp(1, MOST_WORDS) }
    }

    /// Its width in bits.
    pub fn bits(&self) -> u32 {
        64 * self.count as u32
    }

    /// The fingerprint, which must be of the code's width.
    #[inline]
    pub fn fingerprint<F: Fingerprint>(&self) -> F {
        let count = F::BITS as usize / 64;
        debug_assert_eq!(self.count, count);
        F::from_words(|index| self.words[count - 1 - index])
    }

    /// The fingerprint at the most significant end of a type that may be wider.
    #[inline]
    pub fn leading<F: Fingerprint>(&self) -> F {
        let count = F::BITS as usize / 64;
        debug_assert!(self.count <= count);
        F::from_words(|index| self.words[count - 1 - index])
    }

    /// The number of bits in which the two differ.
    #[inline]
    pub fn hamming(&self, other: &Self) -> u32 {
        let pairs = self.words[..self.count].iter().zip(&other.words[..other.count]);
        pairs.map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}
