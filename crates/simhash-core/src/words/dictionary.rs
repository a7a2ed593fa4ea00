//! The dictionary that cuts Han text into words. It is loaded when it is first needed.

use std::io::{self, BufRead, Read};
use std::sync::OnceLock;

use jieba_rs::Jieba;

use crate::base::interrupt::Interrupt;

static DICTIONARY: OnceLock<Jieba> = OnceLock::new();

/// The words of jieba-rs 0.11. That crate keeps them compressed, and behind a lock that breaks for
/// good if a load fails once.
pub(crate) static WORDS: &[u8] = include_bytes!("../../data/zh_dictionary.txt");

/// Whether the dictionary is in memory.
pub fn is_loaded() -> bool {
    DICTIONARY.get().is_some()
}

/// The dictionary. The first call loads it, which takes 0.1 to 0.4 s and about 33 MB, and can be
/// interrupted: then the next call loads it.
pub(crate) fn dictionary(interrupt: &Interrupt<'_>) -> &'static Jieba {
    DICTIONARY.get_or_init(|| {
        let mut words = Interruptible { rest: WORDS, interrupt };
        Jieba::with_dict(&mut words).expect("the dictionary is a list of words, counts and tags")
    })
}

/// Bytes that are handed out a few at a time.
struct Interruptible<'a, 'b> {
    rest: &'static [u8],
    interrupt: &'a Interrupt<'b>,
}

impl Interruptible<'_, '_> {
    /// Taking them in takes a fraction of a millisecond.
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
