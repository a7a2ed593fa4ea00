//! Simhash: a text's weighted features summed, bit by bit, into one fingerprint (Charikar 2002; Manku, Jain
//! and Das Sarma 2007).

use std::fmt;

use crate::config::{Config, Weight};
use crate::hash::feature_hash;
use crate::{Fingerprint, normalize, tokenize};

/// Why a [`Simhasher`] cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimhasherError {
    /// The configuration reads the statistics of this trained model.
    NeedsModel(String),
}

impl fmt::Display for SimhasherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimhasherError::NeedsModel(name) => write!(f, "the statistics of model \"{name}\" are needed"),
        }
    }
}

impl std::error::Error for SimhasherError {}

/// One distinct feature of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature<F> {
    /// The token, or the shingle's tokens with one space between them.
    pub text: String,
    /// What it weighs, exactly.
    pub weight: f32,
    /// What is summed: the feature's hash with its position in it, if the configuration has one.
    pub hash: F,
}

/// Fingerprints texts by one configuration, reusing its buffers from text to text.
///
/// `interrupt` is called at least about every millisecond; it may unwind.
///
/// ```
/// use simhash_core::{Config, Simhasher};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let a: Option<u64> = simhasher.fingerprint("Hello, World!", &mut || ());
/// let b = simhasher.fingerprint("hello   world", &mut || ());
/// assert_eq!(a, b);
/// assert_eq!(simhasher.fingerprint::<u64>("...", &mut || ()), None);
/// ```
pub struct Simhasher {
    config: Config,
}

impl Simhasher {
    /// A simhasher for `config`.
    ///
    /// # Errors
    /// [`SimhasherError::NeedsModel`] when the weights or the cap come from a trained model.
    pub fn new(config: Config) -> Result<Self, SimhasherError> {
        match &config.model {
            Some(model) => Err(SimhasherError::NeedsModel(model.clone())),
            None => Ok(Simhasher { config }),
        }
    }

    /// The text's fingerprint; `None` when it has no features.
    pub fn fingerprint<F: Fingerprint>(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> Option<F> {
        let features = self.features::<F>(text, interrupt);
        if features.is_empty() {
            return None;
        }
        let mut bits = 0u128;
        for bit in 0..F::BITS {
            let sum: f64 = features
                .iter()
                .map(|f| {
                    if f.hash.to_u128() >> bit & 1 == 1 { f64::from(f.weight) } else { -f64::from(f.weight) }
                })
                .sum();
            bits |= u128::from(sum > 0.0) << bit;
        }
        Some(F::from_u128(bits))
    }

    /// The text's distinct features, in the order in which they first occur. The fingerprint is the sign of
    /// their weighted sum, bit by bit: 1 where it is greater than 0.
    pub fn features<F: Fingerprint>(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> Vec<Feature<F>> {
        let tokens = self.tokens(text, interrupt);
        let k = self.config.shingle.min(tokens.len()).max(1);
        let mut features: Vec<(Feature<F>, u32)> = Vec::new();
        for shingle in tokens.windows(k) {
            let text = shingle.join(" ");
            let hash = feature_hash::<F>(text.as_bytes());
            match features.iter_mut().find(|(feature, _)| feature.hash == hash) {
                Some((_, tf)) => *tf += 1,
                None => features.push((Feature { text, weight: 0.0, hash }, 1)),
            }
        }
        features
            .into_iter()
            .map(|(feature, tf)| {
                let weight = match self.config.weight {
                    Weight::Tf => tf as f32,
                    Weight::Log => ((1.0 + libm::log(f64::from(tf))) * 1024.0).round() as f32 / 1024.0,
                    _ => 1.0,
                };
                Feature { weight, ..feature }
            })
            .collect()
    }

    /// Hands every feature of the text to `sink`, in order, as often as it occurs.
    pub fn for_each_feature(&mut self, text: &str, interrupt: &mut dyn FnMut(), sink: &mut dyn FnMut(&str)) {
        let tokens = self.tokens(text, interrupt);
        let k = self.config.shingle.min(tokens.len()).max(1);
        tokens.windows(k).for_each(|shingle| sink(&shingle.join(" ")));
    }

    /// The text after the configuration's normalisation steps.
    pub fn normalize(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> String {
        normalize::normalize(text, self.config.normalize, interrupt)
    }

    /// The tokens of the normalised text, stop words removed.
    pub fn tokens(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> Vec<String> {
        let text = self.normalize(text, interrupt);
        tokenize::tokens(&text, &self.config, interrupt)
    }
}

/// Why a weight cannot be summed; `index` counts from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WeightError {
    /// NaN or infinite.
    NotFinite { index: usize, weight: f32 },
    /// Less than zero.
    Negative { index: usize, weight: f32 },
}

impl fmt::Display for WeightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightError::NotFinite { index, weight } => {
                write!(f, "weight {weight} at index {index} is not finite")
            }
            WeightError::Negative { index, weight } => {
                write!(f, "weight {weight} at index {index} is negative")
            }
        }
    }
}

impl std::error::Error for WeightError {}

/// The fingerprint of the caller's own features and weights.
///
/// The sum is exact, so the order of the features does not matter and equal features add up. `None` when
/// there is no feature, or none that weighs more than 0.
///
/// # Errors
/// A weight that is NaN, infinite or negative.
///
/// ```
/// use simhash_core::simhash::from_features;
/// let a = from_features::<u64>([(&b"cat"[..], 2.0), (&b"dog"[..], 0.5)]).unwrap();
/// let b = from_features::<u64>([(&b"dog"[..], 0.5), (&b"cat"[..], 1.0), (&b"cat"[..], 1.0)]).unwrap();
/// assert!(a.is_some() && a == b);
/// assert_eq!(from_features::<u64>([(&b"cat"[..], 0.0)]), Ok(None));
/// assert!(from_features::<u64>([(&b"cat"[..], -1.0)]).is_err());
/// ```
pub fn from_features<'a, F: Fingerprint>(
    features: impl IntoIterator<Item = (&'a [u8], f32)>,
) -> Result<Option<F>, WeightError> {
    let mut sums = vec![0f64; F::BITS as usize];
    let mut total = 0f64;
    for (index, (feature, weight)) in features.into_iter().enumerate() {
        if !weight.is_finite() {
            return Err(WeightError::NotFinite { index, weight });
        }
        if weight < 0.0 {
            return Err(WeightError::Negative { index, weight });
        }
        total += f64::from(weight);
        let hash = feature_hash::<F>(feature).to_u128();
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { f64::from(weight) } else { -f64::from(weight) };
        }
    }
    let bits = sums.iter().enumerate().fold(0u128, |bits, (bit, &sum)| bits | u128::from(sum > 0.0) << bit);
    Ok((total > 0.0).then(|| F::from_u128(bits)))
}
