//! The values of a configuration's keys.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Weights are integers in units of 1 / `WEIGHT_UNIT`: see [`crate::features::weight`].
pub const WEIGHT_UNIT: u32 = 1024;

/// The greatest absolute cap, and the greatest term frequency that is distinguished.
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
    /// The way in which normalised text is cut into tokens.
    Tokenizer, default Auto, {
        /// Runs of Han characters by jieba, everything else by [`Tokenizer::Word`].
        Auto = "auto",
        /// Unicode word boundaries (UAX #29).
        Word = "word",
        /// The whole text by jieba.
        Jieba = "jieba",
        /// Extended grapheme clusters (UAX #29): what a reader calls characters.
        Char = "char",
        /// The words of names, symbols, and the words of strings: source code.
        Code = "code",
    }
}

choice! {
    /// The treatment of parts of source code that do not change what a program does.
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

    /// Whether the tokenizer can cut text after this step.
    pub(super) fn takes(self, step: NormalizeStep) -> bool {
        use NormalizeStep::{Confusables, Hyphens, Punctuation, Space};
        self != Tokenizer::Code || !matches!(step, Confusables | Hyphens | Punctuation | Space)
    }
}

choice! {
    /// The weight of a distinct feature.
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
    /// The built-in lists of stop words.
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
    /// The setting that two configurations have in common. If both have one, the less strict one
    /// applies. If one has none, the other's applies.
    pub fn of_both(a: Option<Numbers>, b: Option<Numbers>) -> Option<Numbers> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if (a as u8) < b as u8 { a } else { b }),
            (a, b) => a.or(b),
        }
    }
}

/// The stop words that are removed before shingling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StopWords {
    /// A built-in list.
    Of(StopList),
    /// A user's list ([`crate::words::lists`]).
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
    /// The valid values, for messages.
    pub(super) fn allowed() -> String {
        format!("{}, or the name of a list of stop words", StopList::names())
    }

    /// The value in a configuration.
    pub fn name(&self) -> &str {
        match self {
            StopWords::Of(list) => list.name(),
            StopWords::Named(name) => name,
        }
    }
}

choice! {
    /// The way in which a feature's position in the text enters its hash.
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
    /// The numbers that must agree for two texts to be near-duplicates ([`crate::sets::numbers`]).
    Numbers, default Any, {
        /// None.
        Any = "any",
        /// All, in any order: both texts have each number equally often.
        Same = "same",
        /// All, in the same order.
        Order = "order",
    }
}

choice! {
    /// The way in which a text's features become a fingerprint. It is not part of a configuration,
    /// because both methods take the same features.
    Method, default Simhash, {
        /// The sign of their weighted sum ([`crate::Simhasher`]).
        Simhash = "simhash",
        /// One bit of each component of their MinHash signature ([`crate::sketches::minhash`]).
        Minhash = "minhash",
    }
}

impl Method {
    /// The method with this name.
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
        /// Drops tags, comments, scripts and styles, and decodes entities.
        Html = "html",
        /// Drops `data:` URIs and long runs of base64.
        Data = "data",
        /// Repairs UTF-8 that was read as Windows-1252 or Latin-1, where that is certain.
        Mojibake = "mojibake",
        /// Joins a word that a hyphen breaks at the end of a line.
        Hyphens = "hyphens",
        /// Replaces letters and digits by those that they look like: Unicode Technical Standard
        /// #39.
        Confusables = "confusables",
        /// Unicode normalisation form KC, which also turns full-width forms into half-width ones.
        Nfkc = "nfkc",
        /// Replaces the German umlauts by ae, oe and ue, and ß by ss.
        German = "german",
        /// Drops combining marks of Latin, Greek, Cyrillic, Arabic and Hebrew, strokes through
        /// Latin letters, and tatweel.
        Marks = "marks",
        /// Full Unicode case folding, with the dotless i and the dotted I folded to i as well.
        Lower = "lower",
        /// Replaces traditional Chinese characters by simplified ones.
        Simplified = "simplified",
        /// Replaces the decimal digits of all scripts by 0 to 9, with the Arabic signs between
        /// them.
        Digits = "digits",
        /// Drops punctuation and symbols other than emoji.
        Punctuation = "punctuation",
        /// Drops invisible format characters, and turns each run of white space into one space, or
        /// none at the ends and between Han characters.
        Space = "space",
    }
}

/// The greatest weight. A heavier feature gets this weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cap {
    /// In units of 1 / [`WEIGHT_UNIT`], from 1 to [`MAX_CAP`] · [`WEIGHT_UNIT`].
    Absolute(u32),
    /// This percentile of the model's weights, from 1 to 99.
    Percentile(u8),
}

/// A set of [`NormalizeStep`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NormalizeSteps(u16);

impl NormalizeSteps {
    /// No step at all.
    pub const NONE: NormalizeSteps = NormalizeSteps(0);

    /// Whether the set contains `step`.
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
    /// Whether the step is applied by default.
    pub fn is_default(self) -> bool {
        !matches!(self, NormalizeStep::Html | NormalizeStep::Confusables | NormalizeStep::German)
    }
}

impl Default for NormalizeSteps {
    fn default() -> Self {
        NormalizeStep::ALL.iter().copied().filter(|step| step.is_default()).collect()
    }
}

pub(super) fn names<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl Cap {
    /// The written form.
    pub(super) fn to_json(self) -> Value {
        match self {
            Cap::Absolute(units) if units % WEIGHT_UNIT == 0 => Value::from(units / WEIGHT_UNIT),
            Cap::Absolute(units) => Value::from(f64::from(units) / f64::from(WEIGHT_UNIT)),
            Cap::Percentile(percent) => Value::from(format!("{percent}%")),
        }
    }
}
