//! Normalisation: the differences between texts that should not count, taken away.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};

use crate::config::{NormalizeStep, NormalizeSteps};

/// Normalises `text` by `steps`.
pub fn normalize(text: &str, steps: NormalizeSteps, interrupt: &mut dyn FnMut()) -> String {
    interrupt();
    let mut text = text.to_owned();
    if steps.contains(NormalizeStep::Nfkc) {
        text = text.nfkc().collect();
    }
    if steps.contains(NormalizeStep::Lower) {
        text = text.chars().default_case_fold().collect();
    }
    if steps.contains(NormalizeStep::Punctuation) {
        text = text.chars().map(|c| if is_punctuation(c) { ' ' } else { c }).collect();
    }
    if steps.contains(NormalizeStep::Space) {
        text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    text
}

fn is_punctuation(c: char) -> bool {
    matches!(c.general_category_group(), GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol)
        && (c.is_ascii() || !c.is_emoji_char())
}
