//! What the keys of a configuration can be.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub(super) fn takes(self, step: NormalizeStep) -> bool {
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
    /// What they can be, for messages.
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

pub(super) fn names<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl Cap {
    /// As it is written.
    pub(super) fn to_json(self) -> Value {
        match self {
            Cap::Absolute(units) if units % WEIGHT_UNIT == 0 => Value::from(units / WEIGHT_UNIT),
            Cap::Absolute(units) => Value::from(f64::from(units) / f64::from(WEIGHT_UNIT)),
            Cap::Percentile(percent) => Value::from(format!("{percent}%")),
        }
    }
}
