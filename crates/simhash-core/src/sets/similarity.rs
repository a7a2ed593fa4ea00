//! Duplicates verified: a fingerprint proposes, the texts' own shingles decide.

use std::fmt;

use super::shingles::ShingleSet;

/// How similar two sets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// |A n B| / |A u B| (Broder 1997, resemblance).
    #[default]
    Jaccard,
    /// |A n B| / min(|A|, |B|): how much of the smaller set the other contains (Broder 1997,
    /// containment, the greater of both directions).
    Containment,
}

impl Measure {
    const ALL: [Measure; 2] = [Measure::Jaccard, Measure::Containment];

    fn name(self) -> &'static str {
        match self {
            Measure::Jaccard => "jaccard",
            Measure::Containment => "containment",
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

/// From which similarity on two texts are duplicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    measure: Measure,
    least: f64,
}

impl Similarity {
    /// `None` unless `least` is greater than 0 and at most 1.
    ///
    /// ```
    /// use simhash_core::sets::similarity::{Measure, Similarity};
    /// assert!(Similarity::new(Measure::Jaccard, 0.8).is_some());
    /// assert!([0.0, 1.1, f64::NAN].map(|s| Similarity::new(Measure::Jaccard, s)) == [None; 3]);
    /// ```
    pub fn new(measure: Measure, least: f64) -> Option<Self> {
        (least > 0.0 && least <= 1.0).then_some(Similarity { measure, least })
    }

    pub fn least(self) -> f64 {
        self.least
    }

    /// The similarity of two sets, if it is great enough. An empty set is similar to nothing.
    pub fn verified(self, a: &ShingleSet, b: &ShingleSet) -> Option<f64> {
        let (less, more) = (a.len().min(b.len()), a.len().max(b.len()));
        // No more than the smaller set can be common.
        let most = match self.measure {
            Measure::Jaccard => share(less, more),
            Measure::Containment => share(less, less),
        };
        most.filter(|&most| most >= self.least)?;
        let common = a.common(b);
        let of = match self.measure {
            Measure::Jaccard => a.len() + b.len() - common,
            Measure::Containment => less,
        };
        share(common, of).filter(|&similarity| similarity >= self.least)
    }
}

/// The quotient of two numbers. Both are exact as `f64`, so 7 of 10 is the number that a user's 0.7
/// is.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Config, Simhasher};

    fn set(words: &[u8]) -> ShingleSet {
        let config: Config = r#"{"tokenizer": "word"}"#.parse().unwrap();
        let text: Vec<String> =
            words.iter().map(|word| format!("w{}", char::from(b'a' + word))).collect();
        ShingleSet::new(&mut Simhasher::new(config).unwrap(), &text.join(" "), &mut || ())
    }

    proptest! {
        #[test]
        fn verified_are_those_that_the_measures_say(
            a in prop::collection::vec(0u8..9, 0..12),
            b in prop::collection::vec(0u8..9, 0..12),
            least in 1u32..=20,
        ) {
            let (a, b) = (set(&a), set(&b));
            let least = f64::from(least) / 20.0;
            let containment = a.containment(&b).zip(b.containment(&a)).map(|(a, b)| a.max(b));
            let expected = |similarity: Option<f64>| similarity.filter(|&s| s >= least);
            for (measure, similarity) in
                [(Measure::Jaccard, a.jaccard(&b)), (Measure::Containment, containment)]
            {
                let verify = Similarity::new(measure, least).unwrap();
                prop_assert_eq!(verify.verified(&a, &b), expected(similarity));
                prop_assert_eq!(verify.verified(&b, &a), expected(similarity));
            }
        }
    }

    #[test]
    fn a_share_reaches_the_decimal_fraction_that_it_is() {
        let (a, b) = (set(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), set(&[0, 1, 2, 3, 4, 5, 6]));
        let verify = |least| Similarity::new(Measure::Jaccard, least).unwrap().verified(&a, &b);
        assert_eq!(verify(0.7), Some(0.7));
        assert_eq!(verify(0.71), None);
    }

    #[test]
    fn measures_have_names() {
        assert_eq!(Measure::from_name("jaccard"), Some(Measure::Jaccard));
        assert_eq!(Measure::from_name("Jaccard"), None);
        assert_eq!(Measure::names(), "jaccard, containment");
    }
}
