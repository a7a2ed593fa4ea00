//! The dictionary that cuts Han text into words, loaded on first use.

use std::io::{self, BufRead, Read};
use std::sync::OnceLock;

#[cfg(feature = "jieba")]
pub(crate) use jieba_rs::Jieba;

use crate::base::interrupt::Interrupt;

static DICTIONARY: OnceLock<Jieba> = OnceLock::new();

/// The words of jieba-rs 0.11. That crate keeps them compressed, behind a lock that stays poisoned
/// if a load fails once.
#[cfg(feature = "jieba")]
pub(crate) static WORDS: &[u8] = include_bytes!("../../data/zh_dictionary.txt");
#[cfg(not(feature = "jieba"))]
pub(crate) static WORDS: &[u8] = b"";

/// Replaces jieba-rs in builds without it. There is no simhasher that would cut a text with it.
#[cfg(not(feature = "jieba"))]
mod absent {
    use std::io::BufRead;

    pub(crate) struct Jieba;

    pub(crate) struct Token<'t> {
        pub(crate) word: &'t str,
    }

    impl Jieba {
        pub(crate) fn empty() -> Self {
            Jieba
        }

        pub(crate) fn with_dict(_: &mut impl BufRead) -> std::io::Result<Self> {
            Ok(Jieba)
        }

        pub(crate) fn cut<'t>(&self, _: &'t str, _: bool) -> Vec<Token<'t>> {
            Vec::new()
        }
    }
}
#[cfg(not(feature = "jieba"))]
pub(crate) use absent::Jieba;

/// Whether the dictionary is in memory.
pub fn is_loaded() -> bool {
    DICTIONARY.get().is_some()
}

/// The dictionary. The first call loads it, which takes 0.1 to 0.4 s and about 33 MB, and can be
/// interrupted. Then the next call loads it.
pub(crate) fn dictionary(interrupt: &Interrupt<'_>) -> &'static Jieba {
    DICTIONARY.get_or_init(|| {
        let mut words = Interruptible { rest: WORDS, interrupt };
        Jieba::with_dict(&mut words).expect("the dictionary is a list of words, counts and tags")
    })
}

/// A reader that hands out a few bytes at a time, so that loading can be interrupted.
struct Interruptible<'a, 'b> {
    rest: &'static [u8],
    interrupt: &'a Interrupt<'b>,
}

impl Interruptible<'_, '_> {
    /// Loading this many takes a fraction of a millisecond.
    const BYTES: usize = 16 << 10;
}

impl BufRead for Interruptible<'_, '_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(&self.rest[..self.rest.len().min(Self::BYTES)])
    }

    fn consume(&mut self, count: usize) {
        self.interrupt.spend(count);
        self.rest = &self.rest[count..];
    }
}

impl Read for Interruptible<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}
