//! The JSON form of a configuration.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::value::{Error as NameError, StrDeserializer};
use serde_json::{Map, Value};

use super::builder::name;
use super::error::{ConfigError, quote};
use super::keys::Config;
use super::shingles::{MAX_SHINGLE, MAX_SIZES, Shingles, Sizes};
use super::spots::Spots;
use super::values::{
    Cap, Kept, MAX_CAP, NormalizeStep, NormalizeSteps, Numbers, Position, StopWords, Tokenizer,
    WEIGHT_UNIT, Weight, names,
};

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
    /// If the text is not a JSON object, has an unknown key or a value of the wrong type or out of
    /// range, or if keys cannot be combined.
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

    fn from_object(object: &Map<String, Value>) -> Result<Self, ConfigError> {
        let mut builder = Config::builder();
        for (key, value) in object {
            builder = match key.as_str() {
                "tokenizer" => builder.tokenizer(named("tokenizer", value, Tokenizer::ALL)?),
                "shingle" => builder.shingle(shingle(value)?),
                "weight" => builder.weight(named("weight", value, Weight::ALL)?),
                "normalize" => builder.normalize(steps(value)?.iter()),
                "dictionary" => {
                    builder.dictionary(name("dictionary", value, "the name of a dictionary")?)
                }
                "stopwords" => builder.stopwords(stop_words(value)?),
                "spots" => builder.spots(spots(value)?),
                "hmm" => builder.hmm(guesses(value)?),
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
}

/// The variant that a JSON string names.
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

fn guesses(value: &Value) -> Result<bool, ConfigError> {
    value.as_bool().ok_or_else(|| ConfigError::invalid("hmm", value, "true or false".into()))
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
    Spots::deserialize(value)
        .ok()
        .filter(|_| value.is_object())
        .ok_or_else(|| ConfigError::invalid_spots(value))
}

fn steps(value: &Value) -> Result<NormalizeSteps, ConfigError> {
    let allowed = || format!("a list of {}", names(NormalizeStep::ALL));
    let list =
        value.as_array().ok_or_else(|| ConfigError::invalid("normalize", value, allowed()))?;
    list.iter()
        .map(|step| choice(step).ok_or_else(|| ConfigError::invalid("normalize", step, allowed())))
        .collect()
}

fn stop_words(value: &Value) -> Result<StopWords, ConfigError> {
    match choice(value) {
        Some(list) => Ok(StopWords::Of(list)),
        None => name("stopwords", value, &StopWords::allowed()).map(StopWords::Named),
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

/// Writes the entries of an object, with a space after each comma and colon.
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
