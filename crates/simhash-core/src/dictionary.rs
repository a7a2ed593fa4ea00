//! The dictionary that cuts Han text into words. It is loaded when it is first needed.

use std::sync::OnceLock;

use jieba_rs::Jieba;

static DICTIONARY: OnceLock<Jieba> = OnceLock::new();

/// The words of jieba-rs 0.11. That crate keeps them compressed, and behind a lock that breaks for
/// good if a load fails once.
pub(crate) static WORDS: &[u8] = include_bytes!("../data/zh_dictionary.txt");

/// Whether the dictionary is in memory.
pub fn is_loaded() -> bool {
    DICTIONARY.get().is_some()
}

/// The dictionary. The first call loads it, which takes 0.2 to 0.4 s and about 33 MB.
pub(crate) fn dictionary() -> &'static Jieba {
    DICTIONARY.get_or_init(|| {
        Jieba::with_dict(&mut &*WORDS).expect("the dictionary is a list of words, counts and tags")
    })
}
