//! The keys of a configuration, with their defaults.

use super::shingles::Shingles;
use super::spots::Spots;
use super::values::{
    Cap, Kept, NormalizeStep, NormalizeSteps, Numbers, Position, StopWords, Tokenizer, Weight,
};

/// How a text becomes features and their weights.
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
    /// How normalised text is cut into tokens.
    pub tokenizer: Tokenizer,
    /// Consecutive tokens in a feature. If none are given, methods have defaults of their own:
    /// [`Config::shingles`], [`Config::set_shingles`].
    pub shingle: Option<Shingles>,
    /// What a distinct feature weighs.
    pub weight: Weight,
    /// The normalisation steps that are applied, always in the order of [`NormalizeStep::ALL`].
    pub normalize: NormalizeSteps,
    /// The user's dictionary, whose words are tokens ([`crate::words::lists`]).
    pub dictionary: Option<String>,
    /// The stop words that are removed before shingling.
    pub stopwords: StopWords,
    /// Features are spots, not shingles, which begin with the stop words.
    pub spots: Option<Spots>,
    /// Whether jieba guesses words that are not in its dictionary (hidden Markov model).
    pub hmm: bool,
    /// The trained model that [`Weight::Idf`], [`Weight::Tfidf`], [`Weight::Entropy`] and
    /// [`Cap::Percentile`] read.
    pub model: Option<String>,
    /// How a feature's place in the text enters its hash.
    pub position: Position,
    /// The largest weight that counts. A heavier feature weighs this much.
    pub cap: Option<Cap>,
    /// Which numbers of near-duplicates must agree, if it is said: see [`Config::numbers`].
    pub numbers: Option<Numbers>,
    /// Whether [`Tokenizer::Code`] cuts comments into words.
    pub comments: Kept,
    /// Whether [`Tokenizer::Code`] makes tokens of line breaks and indentation.
    pub whitespace: Kept,
}

/// Their names, as they are written.
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
    /// The steps that are applied to a text before it is cut. Source code is cut where its letters
    /// become capital, so its tokens become small and not the text.
    pub fn text_steps(&self) -> NormalizeSteps {
        match self.tokenizer {
            Tokenizer::Code => self.normalize.without(NormalizeStep::Lower),
            _ => self.normalize,
        }
    }

    /// How many tokens make a feature that is weighed and summed: one, unless the configuration
    /// says it.
    pub fn shingles(&self) -> Shingles {
        self.shingle.unwrap_or(Shingles::TOKENS)
    }

    /// How many tokens make an element of a set: two, unless the configuration says it.
    pub fn set_shingles(&self) -> Shingles {
        self.shingle.unwrap_or(Shingles::PAIRS)
    }

    /// The configuration with these shingles, by which texts have the same features and elements.
    /// It names them unless they are single tokens, so that there is one for each. Spots are the
    /// same whatever the shingles.
    pub fn with_shingles(&self, shingles: Shingles) -> Config {
        let named = |&shingles: &Shingles| shingles != Shingles::TOKENS && self.spots.is_none();
        let shingle = Some(shingles).filter(named);
        Config { shingle, ..self.clone() }
    }

    /// Which numbers of near-duplicates must agree: none, unless the configuration says it.
    pub fn numbers(&self) -> Numbers {
        self.numbers.unwrap_or_default()
    }

    /// Whether it names a model or a list of words, which may be deleted.
    pub fn names_something(&self) -> bool {
        self.model.is_some()
            || self.dictionary.is_some()
            || matches!(self.stopwords, StopWords::Named(_))
    }
}
