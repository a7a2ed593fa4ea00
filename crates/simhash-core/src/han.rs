//! Han characters and the dictionary that cuts them into words, loaded when it is first needed.

use std::sync::OnceLock;

use jieba_rs::Jieba;

use crate::config::NormalizeSteps;
use crate::normalize::normalize;

static DICTIONARY: OnceLock<Jieba> = OnceLock::new();

/// The dictionary of jieba-rs 0.11, which it keeps compressed, behind a lock that one failure breaks for good.
static WORDS: &[u8] = include_bytes!("../data/zh_dictionary.txt");

/// Loads the dictionary now (0.2 to 0.4 s, about 33 MB) instead of at the first Han character, and fills the
/// character tables that common texts need.
pub fn preload() {
    const COMMON: &str = "你好，世界！ Hello, “world”… café";
    let normalized = normalize(COMMON, NormalizeSteps::default(), &mut || ());
    dictionary().cut(&normalized, true);
}

/// Whether the dictionary is in memory.
pub fn is_loaded() -> bool {
    DICTIONARY.get().is_some()
}

/// The dictionary, loaded on the first call.
pub(crate) fn dictionary() -> &'static Jieba {
    DICTIONARY.get_or_init(|| {
        Jieba::with_dict(&mut &*WORDS).expect("the dictionary is a list of words, counts and tags")
    })
}

/// Whether `c` is a Han character: a CJK ideograph, the iteration mark 々, the zero 〇 or a Hangzhou numeral.
#[inline]
pub fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303B}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFD}')
}
