//! A builder of configurations.

use serde_json::Value;

use super::error::ConfigError;
use super::keys::Config;
use super::shingles::Shingles;
use super::spots::{MAX_SPOT, Spots};
use super::values::{
    Cap, Kept, MAX_CAP, NormalizeStep, NormalizeSteps, Numbers, Position, StopList, StopWords,
    Tokenizer, WEIGHT_UNIT, Weight,
};

/// Makes a [`Config`]. A key that is not set has its default. [`build`](Self::build) checks the
/// combination, as reading JSON does.
///
/// ```
/// use simhash_core::config::{Config, ConfigError, Shingles, Tokenizer, Weight};
/// let config = Config::builder().tokenizer(Tokenizer::Char).shingle(Shingles::PAIRS).build()?;
/// assert_eq!(config, r#"{"tokenizer": "char", "shingle": 2}"#.parse()?);
/// let error = Config::builder().weight(Weight::Idf).build().unwrap_err();
/// assert_eq!(error, ConfigError::WeightWithoutModel(Weight::Idf));
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConfigBuilder {
    config: Config,
    normalize: Option<NormalizeSteps>,
    comments: Option<Kept>,
    whitespace: Option<Kept>,
}

impl Config {
    /// Begins with the defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }
}

impl ConfigBuilder {
    /// The way in which normalised text is cut into tokens.
    #[must_use]
    pub fn tokenizer(mut self, tokenizer: Tokenizer) -> Self {
        self.config.tokenizer = tokenizer;
        self
    }

    /// The numbers of consecutive tokens in a feature.
    #[must_use]
    pub fn shingle(mut self, shingle: Shingles) -> Self {
        self.config.shingle = Some(shingle);
        self
    }

    /// The weight of a distinct feature.
    #[must_use]
    pub fn weight(mut self, weight: Weight) -> Self {
        self.config.weight = weight;
        self
    }

    /// The normalisation steps. The default is that of the tokenizer
    /// ([`Tokenizer::default_steps`]).
    #[must_use]
    pub fn normalize(mut self, steps: impl IntoIterator<Item = NormalizeStep>) -> Self {
        self.normalize = Some(steps.into_iter().collect());
        self
    }

    /// The user's dictionary.
    #[must_use]
    pub fn dictionary(mut self, name: impl Into<String>) -> Self {
        self.config.dictionary = Some(name.into());
        self
    }

    /// The stop words: a [`StopList`] or a user's list.
    #[must_use]
    pub fn stopwords(mut self, words: impl Into<StopWords>) -> Self {
        self.config.stopwords = words.into();
        self
    }

    /// Makes features of spots instead of shingles.
    #[must_use]
    pub fn spots(mut self, spots: Spots) -> Self {
        self.config.spots = Some(spots);
        self
    }

    /// Whether jieba guesses words that are not in its dictionary.
    #[must_use]
    pub fn hmm(mut self, guesses: bool) -> Self {
        self.config.hmm = guesses;
        self
    }

    /// The trained model for weights, and for a cap that is a percentile.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.config.model = Some(name.into());
        self
    }

    /// The way in which a feature's position in the text enters its hash.
    #[must_use]
    pub fn position(mut self, position: Position) -> Self {
        self.config.position = position;
        self
    }

    /// The greatest weight. Its units are rounded to an `f32`, as in the text form.
    #[must_use]
    pub fn cap(mut self, cap: Cap) -> Self {
        self.config.cap = Some(cap);
        self
    }

    /// The numbers that must agree in near-duplicates.
    #[must_use]
    pub fn numbers(mut self, numbers: Numbers) -> Self {
        self.config.numbers = Some(numbers);
        self
    }

    /// Whether [`Tokenizer::Code`] cuts comments into words.
    #[must_use]
    pub fn comments(mut self, kept: Kept) -> Self {
        self.comments = Some(kept);
        self
    }

    /// Whether [`Tokenizer::Code`] turns line breaks and indentation into tokens.
    #[must_use]
    pub fn whitespace(mut self, kept: Kept) -> Self {
        self.whitespace = Some(kept);
        self
    }

    /// Checks the keys and makes the configuration.
    ///
    /// # Errors
    /// If a value is out of range, a name is empty, or keys cannot be combined.
    pub fn build(self) -> Result<Config, ConfigError> {
        let Self { mut config, normalize, comments, whitespace } = self;
        config.normalize = normalize.unwrap_or(config.tokenizer.default_steps());
        check_values(&config)?;
        check_spots(&config)?;
        check_names(&config)?;
        if let Some(step) = config.normalize.iter().find(|&step| !config.tokenizer.takes(step)) {
            return Err(ConfigError::UntakenStep(step, config.tokenizer));
        }
        for (key, kept) in [("comments", comments), ("whitespace", whitespace)] {
            if let (Some(kept), true) = (kept, config.tokenizer != Tokenizer::Code) {
                let (value, tokenizer) = (kept.name(), config.tokenizer);
                return Err(ConfigError::OnlyForCode { key, value, tokenizer });
            }
        }
        if let Some(Cap::Absolute(units)) = &mut config.cap {
            *units = (*units as f32) as u32;
        }
        config.comments = comments.unwrap_or_default();
        config.whitespace = whitespace.unwrap_or_default();
        Ok(config)
    }
}

/// Checks each value by itself.
fn check_values(config: &Config) -> Result<(), ConfigError> {
    for (key, named, allowed) in [
        ("dictionary", &config.dictionary, "the name of a dictionary"),
        ("model", &config.model, "the name of a trained model"),
    ] {
        if let Some(named) = named {
            name(key, &Value::from(named.as_str()), allowed)?;
        }
    }
    if let StopWords::Named(named) = &config.stopwords {
        // Otherwise the text form would name the built-in list.
        if StopList::ALL.iter().any(|list| list.name() == named) {
            let value = Value::from(named.as_str());
            return Err(ConfigError::invalid("stopwords", &value, "another name".into()));
        }
        name("stopwords", &Value::from(named.as_str()), &StopWords::allowed())?;
    }
    let is_in_range = match config.cap {
        None => true,
        Some(Cap::Absolute(units)) => (1..=MAX_CAP * WEIGHT_UNIT).contains(&units),
        Some(Cap::Percentile(percent)) => (1..=99).contains(&percent),
    };
    match config.cap {
        Some(cap) if !is_in_range => Err(ConfigError::invalid_cap(&cap.to_json())),
        _ => Ok(()),
    }
}

/// Checks spots, and the keys that they require or exclude.
fn check_spots(config: &Config) -> Result<(), ConfigError> {
    let Some(Spots { chain, distance }) = config.spots else { return Ok(()) };
    if !(1..=MAX_SPOT).contains(&chain) || !(1..=MAX_SPOT).contains(&distance) {
        let value = serde_json::json!({ "chain": chain, "distance": distance });
        return Err(ConfigError::invalid_spots(&value));
    }
    if config.stopwords == StopWords::Of(StopList::None) {
        return Err(ConfigError::SpotsWithoutStopWords);
    }
    if config.shingle.is_some() {
        return Err(ConfigError::SpotsAndShingle);
    }
    if config.tokenizer == Tokenizer::Char {
        return Err(ConfigError::SpotsOfCharacters);
    }
    Ok(())
}

/// Checks that every named model or dictionary is used, and that every required one is named.
fn check_names(config: &Config) -> Result<(), ConfigError> {
    if let (Some(dictionary), Tokenizer::Char) = (&config.dictionary, config.tokenizer) {
        return Err(ConfigError::UnusedDictionary(dictionary.clone()));
    }
    let trained = matches!(config.weight, Weight::Idf | Weight::Tfidf | Weight::Entropy);
    let percentile = matches!(config.cap, Some(Cap::Percentile(_)));
    match (&config.model, trained, percentile) {
        (None, true, _) => Err(ConfigError::WeightWithoutModel(config.weight)),
        (None, false, true) => Err(ConfigError::CapWithoutModel),
        (Some(model), false, false) => Err(ConfigError::UnusedModel(model.clone())),
        _ => Ok(()),
    }
}

/// Reads a name. `allowed` describes the valid values.
pub(super) fn name(key: &'static str, value: &Value, allowed: &str) -> Result<String, ConfigError> {
    value
        .as_str()
        .filter(|name| !name.is_empty() && !name.contains('\0'))
        .map(str::to_owned)
        .ok_or_else(|| ConfigError::invalid(key, value, allowed.into()))
}
