//! Errors of configurations.

use std::fmt;

use serde_json::Value;

use super::keys::KEYS;
use super::spots::MAX_SPOT;
use super::values::{MAX_CAP, NormalizeStep, Tokenizer, WEIGHT_UNIT, Weight, names};

/// The reason why a text is not a configuration, or why a [`super::ConfigBuilder`] makes none. It
/// is displayed as its [`message`](Self::message) with its [`hint`](Self::hint).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not JSON; with the parser's message.
    NotJson(String),
    /// The JSON is not an object; with its beginning.
    NotAnObject(String),
    /// There is no key with this name.
    UnknownKey(String),
    /// The key cannot have this value.
    Invalid {
        /// The key.
        key: &'static str,
        /// The value as JSON, shortened if it is long.
        value: String,
        /// The values that the key can have.
        allowed: String,
    },
    /// The weight requires a model, and none is named.
    WeightWithoutModel(Weight),
    /// A percentile as cap requires a model, and none is named.
    CapWithoutModel,
    /// No key uses the model.
    UnusedModel(String),
    /// The tokenizer char uses no dictionary.
    UnusedDictionary(String),
    /// Only [`Tokenizer::Code`] uses this key.
    OnlyForCode {
        /// The key.
        key: &'static str,
        /// Its value.
        value: &'static str,
        /// The tokenizer, which does not use it.
        tokenizer: Tokenizer,
    },
    /// The step removes characters that the tokenizer needs.
    UntakenStep(NormalizeStep, Tokenizer),
    /// A spot begins with a stop word, and the configuration has none.
    SpotsWithoutStopWords,
    /// Spots and shingles exclude each other.
    SpotsAndShingle,
    /// A spot begins with a word, and the tokenizer char makes no words.
    SpotsOfCharacters,
}

impl ConfigError {
    /// What is wrong, quoting the key or value at fault.
    pub fn message(&self) -> String {
        match self {
            Self::NotJson(error) => format!("not valid JSON: {error}"),
            Self::NotAnObject(value) => format!("not a JSON object: {value}"),
            Self::UnknownKey(key) => format!("unknown key {}", quoted(key)),
            Self::Invalid { key, value, .. } => format!("invalid value {value} for \"{key}\""),
            Self::WeightWithoutModel(weight) => {
                format!("\"weight\" \"{weight}\" requires a \"model\"")
            }
            Self::CapWithoutModel => "a percentile as \"cap\" requires a \"model\"".into(),
            Self::UnusedModel(model) => {
                format!("\"model\" {} is not used by this config", quoted(model))
            }
            Self::UnusedDictionary(dictionary) => {
                format!("\"dictionary\" {} is not used by the tokenizer char", quoted(dictionary))
            }
            Self::OnlyForCode { key, value, tokenizer } => {
                format!("\"{key}\" \"{value}\" is not used by the tokenizer {tokenizer}")
            }
            Self::UntakenStep(step, tokenizer) => format!(
                "the step \"{step}\" of \"normalize\" removes what the tokenizer {tokenizer} \
                 requires"
            ),
            Self::SpotsWithoutStopWords => "\"spots\" require \"stopwords\"".into(),
            Self::SpotsAndShingle => "\"spots\" and \"shingle\" cannot be used together".into(),
            Self::SpotsOfCharacters => "\"spots\" are not supported by the tokenizer char".into(),
        }
    }

    /// The allowed values.
    pub fn hint(&self) -> String {
        match self {
            Self::NotJson(_) | Self::NotAnObject(_) => {
                "A configuration must be a JSON object such as {\"shingle\": 2}.".into()
            }
            Self::UnknownKey(_) => format!("The keys are {}.", KEYS.join(", ")),
            Self::Invalid { allowed, .. } => format!("Allowed: {allowed}."),
            Self::WeightWithoutModel(_) => {
                "Name a trained model, or use one of the weights uniform, tf, log, level.".into()
            }
            Self::CapWithoutModel => {
                "Name a trained model, or give the cap as a number greater than 0.".into()
            }
            Self::UnusedModel(_) => {
                "A model is used by the weights idf, tfidf, entropy, and by a percentile as cap."
                    .into()
            }
            Self::UnusedDictionary(_) => {
                "A dictionary is used by the tokenizers auto, word, jieba and code.".into()
            }
            Self::OnlyForCode { .. } => "It is used by the tokenizer code.".into(),
            Self::UntakenStep(_, tokenizer) => {
                let taken = NormalizeStep::ALL.iter().copied();
                let taken: Vec<_> = taken.filter(|&step| tokenizer.takes(step)).collect();
                format!(
                    "With the tokenizer {tokenizer} omit \"normalize\", or list only steps out of \
                     {}.",
                    names(&taken)
                )
            }
            Self::SpotsWithoutStopWords => {
                "A spot begins with a stop word: set \"stopwords\" to \"auto\", \"en\" or \"zh\", \
                 or name a list made by simhash_stopwords."
                    .into()
            }
            Self::SpotsAndShingle => {
                "Features are either spots or shingles. The number of tokens of a spot is its \
                 \"chain\"."
                    .into()
            }
            Self::SpotsOfCharacters => {
                "Spots require words: use the tokenizer auto, word or jieba.".into()
            }
        }
    }

    pub(super) fn invalid(key: &'static str, value: &Value, allowed: String) -> Self {
        Self::Invalid { key, value: quote(value), allowed }
    }

    pub(super) fn invalid_spots(value: &Value) -> Self {
        let allowed = format!(
            "an object with \"chain\" and \"distance\", whole numbers from 1 to {MAX_SPOT}, such \
             as {{\"chain\": 2, \"distance\": 1}}"
        );
        Self::invalid("spots", value, allowed)
    }

    /// The error for a cap that is out of range.
    pub(super) fn invalid_cap(value: &Value) -> Self {
        let allowed = format!(
            "a number from 1/{WEIGHT_UNIT} to {MAX_CAP}, or with a model a percentile, \"1%\" to \
             \"99%\""
        );
        Self::invalid("cap", value, allowed)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message(), self.hint())
    }
}

impl std::error::Error for ConfigError {}

/// The value as JSON, shortened if it is long.
pub(super) fn quote(value: &Value) -> String {
    const LONGEST: usize = 64;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

fn quoted(text: &str) -> String {
    quote(&Value::from(text))
}
