//! The configuration of a fingerprint: a small JSON object, checked when it is read.
//!
//! Every key has a default, so `{}` is a complete configuration. The text form is canonical: it has
//! only the keys that differ from the default, in a fixed order, so equal configurations have equal
//! texts. Two keys are written whenever they were given: "shingle", because its default depends on
//! the method, and "numbers", because one configuration may leave it to another one
//! ([`Numbers::of_both`]). The default of "normalize" depends on the tokenizer.

mod builder;
mod error;
mod json;
mod keys;
pub mod recipes;
mod shingles;
mod spots;
mod values;

pub use builder::ConfigBuilder;
pub use error::ConfigError;
pub use keys::Config;
pub use shingles::{MAX_SHINGLE, MAX_SIZES, Shingles};
pub use spots::{MAX_SPOT, Spots};
pub use values::{
    Cap, Kept, MAX_CAP, Method, NormalizeStep, NormalizeSteps, Numbers, Position, StopList,
    StopWords, Tokenizer, WEIGHT_UNIT, Weight,
};
