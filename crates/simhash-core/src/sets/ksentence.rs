//! KSentence: the K longest sentences of a text, hashed by MD5; equal hashes mean duplicates.
//!
//! Where the survey is silent: a sentence ends at every punctuation mark (Unicode category P) and line break;
//! its length is in characters (Unicode scalar values) after white space is collapsed; equally long
//! sentences go by their bytes, so the order of the sentences in the text does not matter; the sentences
//! are joined by line feeds, the longest first.

use md5::{Digest, Md5};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::config::{Config, NormalizeStep, NormalizeSteps};

/// What a text goes through first: the default normalisation but for the steps that would take the ends of its
/// sentences away.
pub fn normalize_config() -> Config {
    let normalize =
        NormalizeSteps::default().without(NormalizeStep::Punctuation).without(NormalizeStep::Space);
    Config { normalize, ..Config::default() }
}

/// The MD5 of the `k` longest sentences of a text normalised by [`normalize_config`]; `None` when it has no
/// sentence.
///
/// ```
/// use simhash_core::sets::ksentence::ksentence;
/// let a = ksentence("a first sentence. and the second one, with a part", 2);
/// assert!(a.is_some());
/// assert_eq!(a, ksentence("and the second one; a   first sentence!\nno.", 2));
/// assert_ne!(a, ksentence("and the second one; a first sentence", 1));
/// assert_eq!(ksentence("... !", 2), None);
/// ```
pub fn ksentence(normalized: &str, k: usize) -> Option<[u8; 16]> {
    let mut sentences: Vec<(usize, String)> = normalized
        .split(ends_sentence)
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|sentence| !sentence.is_empty())
        .map(|sentence| (sentence.chars().count(), sentence))
        .collect();
    sentences.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let longest: Vec<&str> = sentences.iter().take(k).map(|(_, sentence)| sentence.as_str()).collect();
    (!longest.is_empty()).then(|| Md5::digest(longest.join("\n")).into())
}

fn ends_sentence(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
        || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: Option<[u8; 16]>) -> String {
        bytes.map_or("none".into(), |bytes| bytes.iter().map(|b| format!("{b:02x}")).collect())
    }

    /// Expected values: `printf '...' | md5sum`.
    #[test]
    fn hashes_the_longest_sentences() {
        let text = "床前明月光，疑是地上霜。举头望明月\n低头思故乡 ok";
        // printf '低头思故乡 ok\n举头望明月' | md5sum
        assert_eq!(hex(ksentence(text, 2)), KSENTENCE_2);
        // All four: the three of five characters by their bytes.
        assert_eq!(hex(ksentence(text, 9)), KSENTENCE_4);
    }

    const KSENTENCE_2: &str = "62537c5387e1a5bbb74638965f19ba3b";
    const KSENTENCE_4: &str = "539035a3b29a8486cc837094bc20e25d";
}
