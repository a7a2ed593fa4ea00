//! What a distinct feature weighs, in whole units of 1 / [`WEIGHT_UNIT`].
//!
//! Whole numbers make the sum independent of order and machine; every weight is also exactly an `f32`, so
//! whoever adds the published weights gets the same signs.

use std::sync::LazyLock;

use crate::config::{Cap, MAX_CAP, WEIGHT_UNIT, Weight};

/// How weights are computed from what was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighting {
    scheme: Weight,
    cap: u32,
}

impl Weighting {
    /// The built-in schemes; those that need a model weigh like `uniform` and must not get here.
    pub(crate) fn new(scheme: Weight, cap: Option<Cap>) -> Self {
        let cap = match cap {
            Some(Cap::Absolute(units)) => units,
            Some(Cap::Percentile(_)) | None => u32::MAX,
        };
        Weighting { scheme, cap }
    }

    /// The weight of a feature, in units: `number` is its term frequency, or its level for the scheme `level`.
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

/// A weight in units as the number it stands for.
pub(crate) fn from_units(units: u32) -> f32 {
    (f64::from(units) / f64::from(WEIGHT_UNIT)) as f32
}

/// 1 + ln(tf), rounded to units.
#[inline]
fn log_units(tf: u32) -> u32 {
    const TABLE: usize = 256;
    static UNITS: LazyLock<[u32; TABLE]> =
        LazyLock::new(|| std::array::from_fn(|tf| compute_log_units(tf as u32)));
    match UNITS.get(tf as usize) {
        Some(&units) => units,
        None => compute_log_units(tf),
    }
}

/// With the logarithm of the `libm` crate, which is the same on every machine.
fn compute_log_units(tf: u32) -> u32 {
    libm::round(f64::from(WEIGHT_UNIT) * (1.0 + libm::log(f64::from(tf.max(1))))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_weigh_as_documented() {
        let units = |scheme, number| Weighting::new(scheme, None).units(number);
        assert_eq!([1, 2, 7].map(|tf| units(Weight::Uniform, tf)), [1024; 3]);
        assert_eq!([1, 2, 7].map(|tf| units(Weight::Tf, tf)), [1024, 2048, 7168]);
        // 1 + ln 2 = 1.693147..., 1 + ln 10 = 3.302585..., 1 + ln 1000 = 7.907755...
        assert_eq!([1, 2, 10, 1000].map(|tf| units(Weight::Log, tf)), [1024, 1734, 3382, 8098]);
        assert_eq!(units(Weight::Level, 5), 5 * 1024);
    }

    #[test]
    fn a_cap_clips() {
        let capped = Weighting::new(Weight::Tf, Some(Cap::Absolute(2560)));
        assert_eq!([1, 2, 3, 1000].map(|tf| capped.units(tf)), [1024, 2048, 2560, 2560]);
    }

    #[test]
    fn every_weight_is_exactly_a_float() {
        for scheme in [Weight::Tf, Weight::Log] {
            for tf in (1..3000).chain([MAX_CAP - 1, MAX_CAP, u32::MAX]) {
                let units = Weighting::new(scheme, None).units(tf);
                assert_eq!(f64::from(from_units(units)) * f64::from(WEIGHT_UNIT), f64::from(units));
            }
        }
        for units in [1, 1023, (1 << 24) - 1] {
            assert_eq!(f64::from(from_units(units)) * f64::from(WEIGHT_UNIT), f64::from(units));
        }
    }
}
