//! The configuration of a fingerprint: a small JSON object, checked when it is read.
//!
//! Every key has a default, so `{}` is a whole configuration. The text form is canonical: it has
//! only the keys that differ from the default, in one order. So equal configurations have equal
//! texts. The default of "shingle" depends on the method, so it is written if it was given. So is
//! "numbers", of which one configuration may leave the choice to another
//! ([`Numbers::of_both`]). The default of "normalize" depends on the tokenizer.

mod builder;
mod error;
pub mod recipes;
mod shingles;
mod spots;

use std::fmt;
use std::str::FromStr;

use serde::de::value::{Error as NameError, StrDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use builder::ConfigBuilder;
pub use error::ConfigError;
use error::quote;
use shingles::Sizes;
pub use shingles::{MAX_SHINGLE, MAX_SIZES, Shingles};
pub use spots::{MAX_SPOT, Spots};

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

/// Weights are integers in units of 1 / `WEIGHT_UNIT`: see [`crate::features::weight`].
pub const WEIGHT_UNIT: u32 = 1024;

/// The largest absolute cap: the largest term frequency that is told apart.
pub const MAX_CAP: u32 = 1 << 21;

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, default $default:ident, {
        $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+ }

        impl $name {
            /// Every value, in the order in which the documentation lists them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The value's name in a configuration.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }

        impl Default for $name {
            fn default() -> Self { $name::$default }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }
    };
}

choice! {
    /// How normalised text is cut into tokens.
    Tokenizer, default Auto, {
        /// Runs of Han characters through jieba, everything else by [`Tokenizer::Word`].
        Auto = "auto",
        /// Unicode word boundaries (UAX #29).
        Word = "word",
        /// The whole text through jieba.
        Jieba = "jieba",
        /// Extended grapheme clusters (UAX #29): what a reader calls characters.
        Char = "char",
        /// The words of names, symbols, and the words of strings: source code.
        Code = "code",
    }
}

choice! {
    /// What becomes of a part of source code that does not change what a program does.
    Kept, default Drop, {
        /// It is left out.
        Drop = "drop",
        /// There are tokens for it.
        Keep = "keep",
    }
}

impl Tokenizer {
    /// The steps that are applied unless a configuration lists them. Source code keeps its symbols,
    /// lines and data.
    pub fn default_steps(self) -> NormalizeSteps {
        use NormalizeStep::{Digits, Lower, Marks, Nfkc, Simplified};
        match self {
            Tokenizer::Code => [Nfkc, Marks, Lower, Simplified, Digits].into_iter().collect(),
            _ => NormalizeSteps::default(),
        }
    }

    /// Whether it can cut what a step leaves.
    fn takes(self, step: NormalizeStep) -> bool {
        use NormalizeStep::{Confusables, Hyphens, Punctuation, Space};
        self != Tokenizer::Code || !matches!(step, Confusables | Hyphens | Punctuation | Space)
    }
}

choice! {
    /// What a distinct feature weighs.
    Weight, default Uniform, {
        /// 1.
        Uniform = "uniform",
        /// Its number of occurrences.
        Tf = "tf",
        /// 1 + ln(its number of occurrences).
        Log = "log",
        /// 1 to 5 by importance.
        Level = "level",
        /// Inverse document frequency. It needs a model.
        Idf = "idf",
        /// Term frequency times inverse document frequency. It needs a model.
        Tfidf = "tfidf",
        /// E-Simhash's quadratic mean of tf-idf and neighbour entropy. It needs a model.
        Entropy = "entropy",
    }
}

choice! {
    /// The lists of stop words that are always there.
    StopList, default None, {
        /// None.
        None = "none",
        /// English ones.
        En = "en",
        /// Chinese ones.
        Zh = "zh",
        /// English and Chinese ones.
        Auto = "auto",
    }
}

impl StopList {
    /// Every name, for messages.
    pub fn names() -> String {
        names(Self::ALL)
    }
}

impl Numbers {
    /// What two configurations say together. Where both say something, less is compared. Where one
    /// says nothing, the other decides.
    pub fn of_both(a: Option<Numbers>, b: Option<Numbers>) -> Option<Numbers> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if (a as u8) < b as u8 { a } else { b }),
            (a, b) => a.or(b),
        }
    }
}

/// Which stop words are removed before shingling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StopWords {
    /// One of the lists that are always there.
    Of(StopList),
    /// A list of the user's own ([`crate::words::lists`]).
    Named(String),
}

impl Default for StopWords {
    fn default() -> Self {
        StopWords::Of(StopList::None)
    }
}

impl From<StopList> for StopWords {
    fn from(list: StopList) -> Self {
        StopWords::Of(list)
    }
}

impl StopWords {
    /// The value in a configuration.
    pub fn name(&self) -> &str {
        match self {
            StopWords::Of(list) => list.name(),
            StopWords::Named(name) => name,
        }
    }
}

choice! {
    /// How a feature's place in the text enters its hash.
    Position, default None, {
        /// Not at all: a bag of features.
        None = "none",
        /// Its rank among the distinct features, by first occurrence, XORed into the low bits
        /// (E-Simhash).
        Paper = "paper",
        /// The sixteenth of the distinct features in which its rank lies, XORed into the low four
        /// bits.
        Bucket = "bucket",
        /// The eighth of the distinct features in which its rank lies: each eighth has a pattern of
        /// its own, XORed into every fourth bit.
        Spread = "spread",
    }
}

choice! {
    /// Which numbers of two texts must agree for them to be near-duplicates
    /// ([`crate::sets::numbers`]).
    Numbers, default Any, {
        /// None.
        Any = "any",
        /// All, in whatever order: the texts have each as often.
        Same = "same",
        /// All, in the same order.
        Order = "order",
    }
}

choice! {
    /// How a text's features become a fingerprint. This is not part of a configuration, because
    /// every method takes the same features.
    Method, default Simhash, {
        /// The sign of their weighted sum ([`crate::Simhasher`]).
        Simhash = "simhash",
        /// One bit of each component of their MinHash signature ([`crate::sketches::minhash`]).
        Minhash = "minhash",
    }
}

impl Method {
    /// The method of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.name() == name)
    }

    /// Every name, for messages.
    pub fn names() -> String {
        names(Self::ALL)
    }
}

choice! {
    /// One step of normalisation.
    NormalizeStep, default Nfkc, {
        /// Tags, comments, scripts and styles dropped, entities decoded.
        Html = "html",
        /// `data:` URIs and long runs of base64 dropped.
        Data = "data",
        /// UTF-8 that was read as Windows-1252 or Latin-1 put right, where that is certain.
        Mojibake = "mojibake",
        /// A word that a hyphen breaks at the end of a line put together.
        Hyphens = "hyphens",
        /// Letters and digits that look like others become those: Unicode Technical Standard #39.
        Confusables = "confusables",
        /// Unicode normalisation form KC, which also turns full-width forms into half-width ones.
        Nfkc = "nfkc",
        /// The German umlauts become ae, oe and ue, and ß becomes ss.
        German = "german",
        /// Combining marks of Latin, Greek, Cyrillic, Arabic and Hebrew dropped, strokes through
        /// Latin letters, and tatweel.
        Marks = "marks",
        /// Full Unicode case folding, by which the dotless i and the dotted I are i, too.
        Lower = "lower",
        /// Traditional Chinese characters become simplified ones.
        Simplified = "simplified",
        /// The decimal digits of all scripts become 0 to 9, with the Arabic signs between them.
        Digits = "digits",
        /// Punctuation and symbols other than emoji dropped.
        Punctuation = "punctuation",
        /// Invisible format characters dropped, runs of white space become one space, none at the
        /// ends and between Han characters.
        Space = "space",
    }
}

/// The largest weight that counts. A heavier feature weighs this much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cap {
    /// In units of 1 / [`WEIGHT_UNIT`]: 1 to [`MAX_CAP`] · [`WEIGHT_UNIT`].
    Absolute(u32),
    /// The given percentile, 1 to 99, of the model's weights.
    Percentile(u8),
}

/// A set of [`NormalizeStep`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NormalizeSteps(u16);

impl NormalizeSteps {
    /// No step at all.
    pub const NONE: NormalizeSteps = NormalizeSteps(0);

    /// Whether the set holds `step`.
    pub const fn contains(self, step: NormalizeStep) -> bool {
        self.0 & (1 << step as u8) != 0
    }

    /// The set with `step`.
    pub const fn with(self, step: NormalizeStep) -> Self {
        NormalizeSteps(self.0 | 1 << step as u8)
    }

    /// The set without `step`.
    pub const fn without(self, step: NormalizeStep) -> Self {
        NormalizeSteps(self.0 & !(1 << step as u8))
    }

    /// The steps in the order in which they are applied.
    pub fn iter(self) -> impl Iterator<Item = NormalizeStep> {
        NormalizeStep::ALL.iter().copied().filter(move |&step| self.contains(step))
    }
}

impl FromIterator<NormalizeStep> for NormalizeSteps {
    fn from_iter<I: IntoIterator<Item = NormalizeStep>>(steps: I) -> Self {
        steps.into_iter().fold(Self::NONE, Self::with)
    }
}

impl NormalizeStep {
    /// Whether it is applied unless a configuration says otherwise.
    pub fn is_default(self) -> bool {
        !matches!(self, NormalizeStep::Html | NormalizeStep::Confusables | NormalizeStep::German)
    }
}

impl Default for NormalizeSteps {
    fn default() -> Self {
        NormalizeStep::ALL.iter().copied().filter(|step| step.is_default()).collect()
    }
}

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

const KEYS: [&str; 14] = [
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

impl FromStr for Config {
    type Err = ConfigError;

    fn from_str(json: &str) -> Result<Self, ConfigError> {
        Config::parse(json)
    }
}

impl Config {
    /// Reads a JSON object.
    ///
    /// # Errors
    /// Text that is not a JSON object, an unknown key, a value of the wrong type or out of range,
    /// and a combination that cannot work.
    ///
    /// ```
    /// use simhash_core::config::Config;
    /// let error = Config::parse(r#"{"shingel": 2}"#).unwrap_err();
    /// assert_eq!(error.message(), "unknown key \"shingel\"");
    /// assert!(error.hint().contains("shingle"));
    /// ```
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let value: Value =
            serde_json::from_str(json).map_err(|error| ConfigError::NotJson(error.to_string()))?;
        let Value::Object(object) = value else {
            return Err(ConfigError::NotAnObject(quote(&value)));
        };
        Self::from_object(&object)
    }

    /// Begins with the defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    fn from_object(object: &Map<String, Value>) -> Result<Self, ConfigError> {
        let mut builder = Config::builder();
        for (key, value) in object {
            builder =
                match key.as_str() {
                    "tokenizer" => builder.tokenizer(named("tokenizer", value, Tokenizer::ALL)?),
                    "shingle" => builder.shingle(shingle(value)?),
                    "weight" => builder.weight(named("weight", value, Weight::ALL)?),
                    "normalize" => builder.normalize(steps(value)?.iter()),
                    "dictionary" => {
                        builder.dictionary(name("dictionary", value, "the name of a dictionary")?)
                    }
                    "stopwords" => builder.stopwords(stop_words(value)?),
                    "spots" => builder.spots(spots(value)?),
                    "hmm" => builder.hmm(value.as_bool().ok_or_else(|| {
                        ConfigError::invalid("hmm", value, "true or false".into())
                    })?),
                    "model" => builder.model(name("model", value, "the name of a trained model")?),
                    "position" => builder.position(named("position", value, Position::ALL)?),
                    "cap" => builder.cap(cap(value)?),
                    "numbers" => builder.numbers(named("numbers", value, Numbers::ALL)?),
                    "comments" => builder.comments(named("comments", value, Kept::ALL)?),
                    "whitespace" => builder.whitespace(named("whitespace", value, Kept::ALL)?),
                    _ => return Err(ConfigError::UnknownKey(key.clone())),
                };
        }
        builder.build()
    }

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

/// The choice that a JSON string names.
fn choice<'de, T: Deserialize<'de>>(value: &'de Value) -> Option<T> {
    T::deserialize(StrDeserializer::<NameError>::new(value.as_str()?)).ok()
}

fn named<'de, T: Deserialize<'de> + fmt::Display>(
    key: &'static str,
    value: &'de Value,
    all: &[T],
) -> Result<T, ConfigError> {
    choice(value).ok_or_else(|| ConfigError::invalid(key, value, names(all)))
}

fn names<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn shingle(value: &Value) -> Result<Shingles, ConfigError> {
    Shingles::deserialize(value).map_err(|_| {
        let allowed = format!(
            "a whole number from 1 to {MAX_SHINGLE}, or a list of up to {MAX_SIZES} of them"
        );
        ConfigError::invalid("shingle", value, allowed)
    })
}

fn spots(value: &Value) -> Result<Spots, ConfigError> {
    Spots::deserialize(value).ok().filter(|_| value.is_object()).ok_or_else(|| invalid_spots(value))
}

fn invalid_spots(value: &Value) -> ConfigError {
    let allowed = format!(
        "an object with \"chain\" and \"distance\", whole numbers from 1 to {MAX_SPOT}, such as \
         {{\"chain\": 2, \"distance\": 1}}"
    );
    ConfigError::invalid("spots", value, allowed)
}

fn steps(value: &Value) -> Result<NormalizeSteps, ConfigError> {
    let allowed = || format!("a list out of {}", names(NormalizeStep::ALL));
    let list =
        value.as_array().ok_or_else(|| ConfigError::invalid("normalize", value, allowed()))?;
    list.iter()
        .map(|step| choice(step).ok_or_else(|| ConfigError::invalid("normalize", step, allowed())))
        .collect()
}

/// A name. `allowed` says of what.
fn name(key: &'static str, value: &Value, allowed: &str) -> Result<String, ConfigError> {
    value
        .as_str()
        .filter(|name| !name.is_empty() && !name.contains('\0'))
        .map(str::to_owned)
        .ok_or_else(|| ConfigError::invalid(key, value, allowed.into()))
}

fn stop_words(value: &Value) -> Result<StopWords, ConfigError> {
    let allowed = || format!("{}, or the name of a list of stop words", StopList::names());
    match choice(value) {
        Some(list) => Ok(StopWords::Of(list)),
        None => name("stopwords", value, &allowed()).map(StopWords::Named),
    }
}

fn cap(value: &Value) -> Result<Cap, ConfigError> {
    let parsed = match value {
        Value::Number(number) => number.as_f64().and_then(absolute_cap),
        Value::String(text) => percentile_cap(text),
        _ => None,
    };
    parsed.ok_or_else(|| ConfigError::invalid_cap(value))
}

/// Rounds to the nearest unit, because weights are whole numbers of units, and to an `f32`, because
/// weights are published as such.
fn absolute_cap(cap: f64) -> Option<Cap> {
    let units = (cap * f64::from(WEIGHT_UNIT)).round() as f32;
    (cap > 0.0 && units >= 1.0 && f64::from(units) <= f64::from(MAX_CAP) * f64::from(WEIGHT_UNIT))
        .then_some(Cap::Absolute(units as u32))
}

fn percentile_cap(text: &str) -> Option<Cap> {
    let digits = text.strip_suffix('%')?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    let percent: u8 = digits.parse().ok().filter(|_| plain)?;
    (1..=99).contains(&percent).then_some(Cap::Percentile(percent))
}

impl Cap {
    fn to_json(self) -> Value {
        match self {
            Cap::Absolute(units) if units % WEIGHT_UNIT == 0 => Value::from(units / WEIGHT_UNIT),
            Cap::Absolute(units) => Value::from(f64::from(units) / f64::from(WEIGHT_UNIT)),
            Cap::Percentile(percent) => Value::from(format!("{percent}%")),
        }
    }
}

/// The canonical text form: keys that differ from the default, in a fixed order.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Config::default();
        let mut object = ObjectWriter { out: f, empty: true };
        object.out.write_str("{")?;
        if self.tokenizer != default.tokenizer {
            object.entry("tokenizer", self.tokenizer.name().into())?;
        }
        if let Some(shingle) = self.shingle {
            match shingle.into() {
                Sizes::One(size) => object.entry("shingle", size.into())?,
                Sizes::Several(sizes) => {
                    object.list("shingle", sizes.iter().map(usize::to_string))?;
                }
            }
        }
        if self.weight != default.weight {
            object.entry("weight", self.weight.name().into())?;
        }
        if self.normalize != self.tokenizer.default_steps() {
            object.list(
                "normalize",
                self.normalize.iter().map(|step| format!("\"{}\"", step.name())),
            )?;
        }
        if let Some(dictionary) = &self.dictionary {
            object.entry("dictionary", dictionary.as_str().into())?;
        }
        if self.stopwords != default.stopwords {
            object.entry("stopwords", self.stopwords.name().into())?;
        }
        if let Some(spots) = self.spots {
            object.key("spots")?;
            write!(object.out, "{spots}")?;
        }
        if self.hmm != default.hmm {
            object.entry("hmm", self.hmm.into())?;
        }
        if let Some(model) = &self.model {
            object.entry("model", model.as_str().into())?;
        }
        if self.position != default.position {
            object.entry("position", self.position.name().into())?;
        }
        if let Some(cap) = self.cap {
            object.entry("cap", cap.to_json())?;
        }
        if let Some(numbers) = self.numbers {
            object.entry("numbers", numbers.name().into())?;
        }
        if self.comments != default.comments {
            object.entry("comments", self.comments.name().into())?;
        }
        if self.whitespace != default.whitespace {
            object.entry("whitespace", self.whitespace.name().into())?;
        }
        object.out.write_str("}")
    }
}

/// Writes entries with a space after each comma and colon.
struct ObjectWriter<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    empty: bool,
}

impl ObjectWriter<'_, '_> {
    fn key(&mut self, key: &str) -> fmt::Result {
        let comma = if std::mem::take(&mut self.empty) { "" } else { ", " };
        write!(self.out, "{comma}\"{key}\": ")
    }

    fn entry(&mut self, key: &str, value: Value) -> fmt::Result {
        self.key(key)?;
        write!(self.out, "{value}")
    }

    fn list(&mut self, key: &str, values: impl Iterator<Item = String>) -> fmt::Result {
        self.key(key)?;
        write!(self.out, "[{}]", values.collect::<Vec<_>>().join(", "))
    }
}
