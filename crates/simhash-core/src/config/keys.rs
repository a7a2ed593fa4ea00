//! The keys of a configuration, with their defaults.

use super::shingles::Shingles;
use super::spots::Spots;
use super::values::{
    Cap, Kept, NormalizeStep, NormalizeSteps, Numbers, Position, StopWords, Tokenizer, Weight,
};

/// The settings by which a text becomes features with weights.
///
/// ```
/// use simhash_core::config::{Config, Tokenizer};
/// let config = r#"{"shingle": 2, "tokenizer": "char", "weight": "uniform"}"#;
/// let config: Config = config.parse().unwrap();
/// assert_eq!(config.tokenizer, Tokenizer::Char);
/// assert_eq!(config.to_string(), r#"{"tokenizer": "char", "shingle": 2}"#);
/// assert_eq!(Config::default().to_string(), "{}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Config {
    /// The way in which normalised text is cut into tokens.
    pub tokenizer: Tokenizer,
    /// The numbers of consecutive tokens in a feature. If none are given, the default depends on
    /// the method: [`Config::shingles`], [`Config::set_shingles`].
    pub shingle: Option<Shingles>,
    /// The weight of a distinct feature.
    pub weight: Weight,
    /// The normalisation steps, which are always applied in the order of [`NormalizeStep::ALL`].
    pub normalize: NormalizeSteps,
    /// The user's dictionary, whose words become tokens ([`crate::words::lists`]).
    pub dictionary: Option<String>,
    /// The stop words that are removed before shingling.
    pub stopwords: StopWords,
    /// If set, features are spots, which begin with stop words, instead of shingles.
    pub spots: Option<Spots>,
    /// Whether jieba guesses words that are not in its dictionary (hidden Markov model).
    pub hmm: bool,
    /// The trained model for [`Weight::Idf`], [`Weight::Tfidf`], [`Weight::Entropy`] and
    /// [`Cap::Percentile`].
    pub model: Option<String>,
    /// The way in which a feature's position in the text enters its hash.
    pub position: Position,
    /// The greatest weight. A heavier feature gets this weight.
    pub cap: Option<Cap>,
    /// The numbers that must agree in near-duplicates, if set: see [`Config::numbers`].
    pub numbers: Option<Numbers>,
    /// Whether [`Tokenizer::Code`] cuts comments into words.
    pub comments: Kept,
    /// Whether [`Tokenizer::Code`] turns line breaks and indentation into tokens.
    pub whitespace: Kept,
}

/// The names of the keys.
pub(super) const KEYS: [&str; 14] = [
    "tokenizer",
    "shingle",
    "weight",
    "normalize",
    "dictionary",
    "stopwords",
    "spots",
    "hmm",
    "model",
    "position",
    "cap",
    "numbers",
    "comments",
    "whitespace",
];

impl Default for Config {
    fn default() -> Self {
        Config {
            tokenizer: Tokenizer::default(),
            shingle: None,
            weight: Weight::default(),
            normalize: NormalizeSteps::default(),
            dictionary: None,
            stopwords: StopWords::default(),
            spots: None,
            hmm: true,
            model: None,
            position: Position::default(),
            cap: None,
            numbers: None,
            comments: Kept::default(),
            whitespace: Kept::default(),
        }
    }
}

impl Config {
    /// The steps that are applied to a text before it is cut into tokens. Source code is cut at
    /// capital letters, so lower-casing is applied to its tokens instead of the text.
    pub fn text_steps(&self) -> NormalizeSteps {
        match self.tokenizer {
            Tokenizer::Code => self.normalize.without(NormalizeStep::Lower),
            _ => self.normalize,
        }
    }

    /// The numbers of tokens in a feature that is weighed and summed. The default is one.
    pub fn shingles(&self) -> Shingles {
        self.shingle.unwrap_or(Shingles::TOKENS)
    }

    /// The numbers of tokens in an element of a set. The default is two.
    pub fn set_shingles(&self) -> Shingles {
        self.shingle.unwrap_or(Shingles::PAIRS)
    }

    /// The configuration with these shingles, both for features and for set elements. Single tokens
    /// are left implicit, so that equal shingles give equal configurations. With spots, shingles do
    /// not matter and are omitted.
    pub fn with_shingles(&self, shingles: Shingles) -> Config {
        let named = |&shingles: &Shingles| shingles != Shingles::TOKENS && self.spots.is_none();
        let shingle = Some(shingles).filter(named);
        Config { shingle, ..self.clone() }
    }

    /// The numbers that must agree in near-duplicates. By default none must.
    pub fn numbers(&self) -> Numbers {
        self.numbers.unwrap_or_default()
    }

    /// Whether it names a model or a word list, which may be deleted.
    pub fn names_something(&self) -> bool {
        self.model.is_some()
            || self.dictionary.is_some()
            || matches!(self.stopwords, StopWords::Named(_))
    }
}
