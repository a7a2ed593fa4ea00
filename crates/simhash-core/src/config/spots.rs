//! Spots: which chains of tokens are features, and with what they go together.

use std::fmt;

use serde_json::Value;

use super::{Config, ConfigError, StopList, StopWords, Tokenizer, invalid};

/// The longest chain of a spot, and the greatest distance in it.
pub const MAX_SPOT: usize = 100;

/// The chain of a spot signature (Theobald, Siddharth and Paepcke, SIGIR 2008): after a
/// stop word, every `distance`th of the tokens that are none, `chain` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spots {
    /// Tokens in a chain, beside the stop word before it: 1 to [`MAX_SPOT`].
    pub chain: usize,
    /// From one to the next, in tokens that are no stop words: 1 to [`MAX_SPOT`].
    pub distance: usize,
}

impl Default for Spots {
    fn default() -> Self {
        Spots { chain: 2, distance: 1 }
    }
}

/// An object with both keys, in a fixed order.
impl fmt::Display for Spots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"chain\": {}, \"distance\": {}}}", self.chain, self.distance)
    }
}

/// An object such as `{"chain": 2, "distance": 1}`. A key that is left out has its default.
pub(super) fn parse(value: &Value) -> Result<Spots, ConfigError> {
    let allowed = || {
        format!(
            "an object with \"chain\" and \"distance\", whole numbers from 1 to {MAX_SPOT}, such \
             as {{\"chain\": 2, \"distance\": 1}}"
        )
    };
    let wrong = || invalid("spots", value, allowed());
    let mut spots = Spots::default();
    for (key, value) in value.as_object().ok_or_else(wrong)? {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        let number = number.filter(|number| (1..=MAX_SPOT).contains(number)).ok_or_else(wrong)?;
        match key.as_str() {
            "chain" => spots.chain = number,
            "distance" => spots.distance = number,
            _ => return Err(wrong()),
        }
    }
    Ok(spots)
}

/// What a configuration with spots must have beside them, and must not.
pub(super) fn check_combination(config: &Config) -> Result<(), ConfigError> {
    let wrong = |message: &str, hint: &str| {
        Err(ConfigError { message: message.into(), hint: hint.into() })
    };
    if config.stopwords == StopWords::Of(StopList::None) {
        return wrong(
            "\"spots\" need \"stopwords\"",
            "A spot begins with a stop word: say \"stopwords\": \"auto\", \"en\" or \"zh\", or name \
             a list made by simhash_stopwords.",
        );
    }
    if config.shingle.is_some() {
        return wrong(
            "\"spots\" and \"shingle\" exclude each other",
            "Features are spots or shingles. How many tokens a spot has is its \"chain\".",
        );
    }
    if config.tokenizer == Tokenizer::Char {
        return wrong(
            "\"spots\" are not made by the tokenizer char",
            "Stop words are words: use the tokenizer auto, word or jieba.",
        );
    }
    Ok(())
}
