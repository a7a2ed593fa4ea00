//! The weight of a distinct feature, in whole units of 1 / [`WEIGHT_UNIT`].
//!
//! Sums of whole numbers depend neither on the order nor on the machine. Every weight is also
//! exactly an `f32`, so summing the published weights gives the same signs.

use crate::base::lazy::Lazy;
use crate::config::{Cap, MAX_CAP, WEIGHT_UNIT, Weight};
use crate::features::model::{Model, Term};

/// The weights of a model are in units of 1 / `MODEL_UNIT`, because a term frequency times an IDF
/// is small.
pub const MODEL_UNIT: u32 = 1 << 18;

/// The greatest weight of a model: 64. Up to that, all weights in these units are exactly an `f32`.
const MOST_MODEL_UNITS: u32 = 1 << 24;

/// The computation of weights from counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighting {
    scheme: Weight,
    cap: u32,
}

impl Weighting {
    /// The model determines a cap that is a percentile. Without a model such a cap has no effect.
    pub(crate) fn new(scheme: Weight, cap: Option<Cap>, model: Option<&Model>) -> Self {
        let cap = match cap {
            Some(Cap::Absolute(units)) => {
                let scale = if reads_model(scheme) { MODEL_UNIT / WEIGHT_UNIT } else { 1 };
                Some(units.saturating_mul(scale))
            }
            Some(Cap::Percentile(percent)) => {
                model.and_then(|model| model.percentile(scheme, percent))
            }
            None => None,
        };
        Weighting { scheme, cap: cap.unwrap_or(u32::MAX) }
    }

    /// The weight of a feature by a model's statistics, in units of 1 / [`MODEL_UNIT`]. The feature
    /// has `count` of the text's `all` occurrences of features.
    #[inline]
    pub(crate) fn by_model(self, count: u32, all: u64, term: Term) -> u32 {
        model_units(self.scheme, f64::from(count) / all as f64, term).min(self.cap)
    }

    /// Converts a weight from this scheme's units to a number.
    pub(crate) fn number(self, units: u32) -> f32 {
        let unit = if reads_model(self.scheme) { MODEL_UNIT } else { WEIGHT_UNIT };
        (f64::from(units) / f64::from(unit)) as f32
    }

    /// The weight of a feature, in units. `number` is its term frequency, or its level for the
    /// scheme `level`.
    #[inline]
    pub(crate) fn units(self, number: u32) -> u32 {
        let units = match self.scheme {
            Weight::Tf => number.min(MAX_CAP) * WEIGHT_UNIT,
            Weight::Log => log_units(number),
            Weight::Level => number * WEIGHT_UNIT,
            Weight::Uniform | Weight::Idf | Weight::Tfidf | Weight::Entropy => WEIGHT_UNIT,
        };
        units.min(self.cap)
    }
}

/// Whether the scheme uses the statistics of a model.
pub(crate) fn reads_model(scheme: Weight) -> bool {
    matches!(scheme, Weight::Idf | Weight::Tfidf | Weight::Entropy)
}

/// The weight of a term with the given frequency in its document, in units of 1 / [`MODEL_UNIT`].
/// A weight below 0 counts as 0.
///
/// `entropy` is E-Simhash's (Zhang, Sheng, Zhang and Yang 2020): the quadratic mean of tf-idf and
/// neighbour entropy.
pub(crate) fn model_units(scheme: Weight, frequency: f64, term: Term) -> u32 {
    let tfidf = frequency * term.idf;
    let weight = match scheme {
        Weight::Idf => term.idf,
        Weight::Tfidf => tfidf,
        _ => libm::sqrt((tfidf * tfidf + term.entropy * term.entropy) / 2.0),
    };
    // The cast turns a negative weight into 0.
    (libm::round(weight * f64::from(MODEL_UNIT)) as u32).min(MOST_MODEL_UNITS)
}

/// 1 + ln(tf) as published.
pub(crate) fn log_weight(tf: u32) -> f32 {
    (f64::from(log_units(tf)) / f64::from(WEIGHT_UNIT)) as f32
}

/// 1 + ln(tf), rounded to units.
#[inline]
fn log_units(tf: u32) -> u32 {
    const TABLE: usize = 256;
    static UNITS: Lazy<[u32; TABLE]> =
        Lazy::new(|| std::array::from_fn(|tf| compute_log_units(tf as u32)));
    match UNITS.get(tf as usize) {
        Some(&units) => units,
        None => compute_log_units(tf),
    }
}

/// Uses the logarithm of the `libm` crate, which is the same on every machine.
fn compute_log_units(tf: u32) -> u32 {
    libm::round(f64::from(WEIGHT_UNIT) * (1.0 + libm::log(f64::from(tf.max(1))))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_weigh_as_documented() {
        let units = |scheme, number| Weighting::new(scheme, None, None).units(number);
        assert_eq!([1, 2, 7].map(|tf| units(Weight::Uniform, tf)), [1024; 3]);
        assert_eq!([1, 2, 7].map(|tf| units(Weight::Tf, tf)), [1024, 2048, 7168]);
        // 1 + ln 2 = 1.693147..., 1 + ln 10 = 3.302585..., 1 + ln 1000 = 7.907755...
        assert_eq!([1, 2, 10, 1000].map(|tf| units(Weight::Log, tf)), [1024, 1734, 3382, 8098]);
        assert_eq!(units(Weight::Level, 5), 5 * 1024);
    }

    #[test]
    fn a_cap_clips() {
        let capped = Weighting::new(Weight::Tf, Some(Cap::Absolute(2560)), None);
        assert_eq!([1, 2, 3, 1000].map(|tf| capped.units(tf)), [1024, 2048, 2560, 2560]);
    }

    #[test]
    fn every_weight_is_exactly_a_float() {
        for scheme in [Weight::Tf, Weight::Log] {
            for tf in (1..3000).chain([MAX_CAP - 1, MAX_CAP, u32::MAX]) {
                let units = Weighting::new(scheme, None, None).units(tf);
                assert_eq!(
                    f64::from(Weighting::new(Weight::Tf, None, None).number(units))
                        * f64::from(WEIGHT_UNIT),
                    f64::from(units)
                );
            }
        }
        for units in [1, 1023, (1 << 24) - 1] {
            assert_eq!(
                f64::from(Weighting::new(Weight::Tf, None, None).number(units))
                    * f64::from(WEIGHT_UNIT),
                f64::from(units)
            );
        }
    }
}
