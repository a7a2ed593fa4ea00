//! Verification of duplicates: a fingerprint proposes them, and the texts' own shingles decide.

use std::fmt;

use crate::Simhasher;
use crate::config::recipes::set_config;
use crate::config::{Config, Position, Shingles};
use crate::sets::shingles::ShingleSet;
use crate::sets::weighted::WeightedSet;

/// A measure of the similarity of two sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// |A n B| / |A u B| (Broder 1997, resemblance).
    #[default]
    Jaccard,
    /// |A n B| / min(|A|, |B|): the share of the smaller set that the other one contains (Broder
    /// 1997, containment, the greater of both directions).
    Containment,
    /// Jaccard with the weights of the configuration: the sum of the shingles' smaller weights
    /// divided by the sum of their greater weights (Ioffe, ICDM 2010).
    Weighted,
}

impl Measure {
    const ALL: [Measure; 3] = [Measure::Jaccard, Measure::Containment, Measure::Weighted];

    fn name(self) -> &'static str {
        match self {
            Measure::Jaccard => "jaccard",
            Measure::Containment => "containment",
            Measure::Weighted => "weighted",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// All names, for messages.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The least similarity at which two texts are duplicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    measure: Measure,
    least: f64,
}

impl Similarity {
    /// `None` unless `least` is greater than 0 and at most 1.
    ///
    /// ```
    /// use simhash_core::compare::similarity::{Measure, Similarity};
    /// assert!(Similarity::new(Measure::Jaccard, 0.8).is_some());
    /// assert!([0.0, 1.1, f64::NAN].map(|s| Similarity::new(Measure::Jaccard, s)) == [None; 3]);
    /// ```
    pub fn new(measure: Measure, least: f64) -> Option<Self> {
        (least > 0.0 && least <= 1.0).then_some(Similarity { measure, least })
    }

    /// The same measure, with any similarity above 0.
    pub fn of_any(self) -> Self {
        Similarity { least: f64::MIN_POSITIVE, ..self }
    }

    pub fn measure(self) -> Measure {
        self.measure
    }

    pub fn least(self) -> f64 {
        self.least
    }

    /// The sizes of shingles that a configuration sets. The default is pairs of tokens, or single
    /// tokens if a model gives the weights, because models count these by default.
    pub fn shingles(self, config: &Config) -> Shingles {
        match (self.measure, &config.model) {
            (Measure::Weighted, Some(_)) => config.shingles(),
            _ => config.set_shingles(),
        }
    }

    /// The part of a configuration that the comparison depends on: the shingles, with the given
    /// sizes, the numbers that must agree, and for [`Measure::Weighted`] the weights.
    pub fn config(self, config: &Config, shingles: Shingles) -> Config {
        match self.measure {
            Measure::Jaccard | Measure::Containment => {
                Config { numbers: config.numbers, ..set_config(config, shingles) }
            }
            Measure::Weighted => {
                Config { position: Position::None, ..config.with_shingles(shingles) }
            }
        }
    }

    /// The set of a text. The simhasher is made from [`Similarity::config`].
    pub fn set(
        self,
        simhasher: &mut Simhasher,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> TextSet {
        match self.measure {
            Measure::Jaccard | Measure::Containment => {
                TextSet::Plain(ShingleSet::new(simhasher, text, interrupt))
            }
            Measure::Weighted => TextSet::Weighted(WeightedSet::new(simhasher, text, interrupt)),
        }
    }

    /// The similarity of two sets, if it is great enough and the texts' numbers agree. An empty set
    /// is not similar to any set.
    pub fn verified(self, a: &TextSet, b: &TextSet) -> Option<f64> {
        if a.numbers() != b.numbers() {
            return None;
        }
        let similarity = match (a, b) {
            (TextSet::Plain(a), TextSet::Plain(b)) => self.of_plain(a, b),
            (TextSet::Weighted(a), TextSet::Weighted(b)) => a.jaccard(b),
            _ => None,
        };
        similarity.filter(|&similarity| similarity >= self.least)
    }

    fn of_plain(self, a: &ShingleSet, b: &ShingleSet) -> Option<f64> {
        match self.measure {
            Measure::Containment => {
                let less = a.len().min(b.len());
                (less > 0).then(|| a.common(b) as f64 / less as f64)
            }
            Measure::Jaccard | Measure::Weighted => a.jaccard_from(b, self.least),
        }
    }
}

/// The set by which a text is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSet {
    Plain(ShingleSet),
    Weighted(WeightedSet),
}

impl Default for TextSet {
    fn default() -> Self {
        Self::Plain(ShingleSet::default())
    }
}

impl TextSet {
    /// Whether it is not similar to any set, not even to itself.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Plain(set) => set.is_empty(),
            Self::Weighted(set) => set.weighs_nothing(),
        }
    }

    fn numbers(&self) -> u64 {
        match self {
            Self::Plain(set) => set.numbers(),
            Self::Weighted(set) => set.numbers(),
        }
    }

    /// The size in memory, in bytes.
    pub fn memory(&self) -> usize {
        match self {
            Self::Plain(set) => set.memory(),
            Self::Weighted(set) => set.memory(),
        }
    }

    /// A hash of the set, by which equal sets are found.
    pub fn digest(&self) -> u128 {
        match self {
            Self::Plain(set) => set.digest(),
            Self::Weighted(set) => set.digest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(words: &[u8]) -> String {
        let words: Vec<String> =
            words.iter().map(|word| format!("w{}", char::from(b'a' + word))).collect();
        words.join(" ")
    }

    fn plain(words: &[u8]) -> ShingleSet {
        ShingleSet::new(&mut simhasher(), &text(words), &mut || ())
    }

    fn simhasher() -> Simhasher {
        Simhasher::new(r#"{"tokenizer": "word", "weight": "tf"}"#.parse().unwrap()).unwrap()
    }

    /// The result for two texts, with at least `least` as the similarity.
    fn verified(measure: Measure, least: f64, [a, b]: [&[u8]; 2]) -> Option<f64> {
        let similarity = Similarity::new(measure, least).unwrap();
        let [a, b] = [a, b].map(|words| similarity.set(&mut simhasher(), &text(words), &mut || ()));
        assert_eq!(similarity.verified(&a, &b), similarity.verified(&b, &a));
        assert_eq!(a.digest() == b.digest(), a == b);
        similarity.verified(&a, &b)
    }

    proptest! {
        #[test]
        fn verified_are_those_that_the_measures_say(
            a in prop::collection::vec(0u8..9, 0..12),
            b in prop::collection::vec(0u8..9, 0..12),
            least in 1u32..=20,
        ) {
            let least = f64::from(least) / 20.0;
            let (x, y) = (plain(&a), plain(&b));
            let containment = x.containment(&y).zip(y.containment(&x)).map(|(a, b)| a.max(b));
            let count = |words: &[u8], word| words.iter().filter(|&&w| w == word).count() as f64;
            let sum = |of: fn(f64, f64) -> f64| -> f64 {
                (0..9).map(|word| of(count(&a, word), count(&b, word))).sum()
            };
            let weighted = (sum(f64::max) > 0.0).then(|| sum(f64::min) / sum(f64::max));
            let expected = |similarity: Option<f64>| similarity.filter(|&s| s >= least);
            for (measure, similarity) in [
                (Measure::Jaccard, x.jaccard(&y)),
                (Measure::Containment, containment),
                (Measure::Weighted, weighted),
            ] {
                prop_assert_eq!(verified(measure, least, [&a, &b]), expected(similarity));
            }
        }
    }

    #[test]
    fn a_share_reaches_the_decimal_fraction_that_it_is() {
        let texts: [&[u8]; 2] = [&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], &[0, 1, 2, 3, 4, 5, 6]];
        assert_eq!(verified(Measure::Jaccard, 0.7, texts), Some(0.7));
        assert_eq!(verified(Measure::Jaccard, 0.71, texts), None);
    }

    #[test]
    fn nothing_is_similar_to_an_empty_set() {
        for measure in Measure::ALL {
            assert_eq!(verified(measure, 0.1, [&[], &[]]), None);
        }
    }

    #[test]
    fn measures_have_names() {
        assert_eq!(Measure::from_name("jaccard"), Some(Measure::Jaccard));
        assert_eq!(Measure::from_name("Jaccard"), None);
        assert_eq!(Measure::names(), "jaccard, containment, weighted");
    }
}
