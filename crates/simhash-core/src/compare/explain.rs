//! Explains why two fingerprints differ: the features of two texts side by side, and the share of
//! the distance that each feature causes.
//!
//! The shares of all features add up to the distance, with either method:
//! - A bit of a simhash is the sign of a sum over the features. If the bit differs, a feature's
//!   share is the change of its own term divided by the change of the whole sum. A feature that
//!   works against the difference has a negative share.
//! - A bit of a one-bit MinHash comes from the first feature in one permutation. If the bit
//!   differs, at least one text's first feature is absent from the other text. If both are, each
//!   gets half of the bit.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::simd::least;
use crate::base::sort::sort_checked;
use crate::config::Method;
use crate::sketches::simhash::{Feature, Features, Texts};
use crate::{Fingerprint, Simhasher};

/// A feature of one text or of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// A text that has it (0 or 1), and its number there.
    place: (u32, u32),
    /// Its weight in each text. `None` if it is absent.
    pub weights: [Option<f32>; 2],
    /// Its share of the distance, in bits.
    pub share: f64,
}

impl Row {
    /// The side that has it: `a`, `b` or `both`.
    pub fn side(&self) -> &'static str {
        match self.weights {
            [_, None] => "a",
            [None, _] => "b",
            _ => "both",
        }
    }

    /// The weights, with 0 for an absent feature.
    fn numbers(&self) -> [f64; 2] {
        self.weights.map(|weight| weight.map_or(0.0, f64::from))
    }
}

/// The comparison of two texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    texts: [Texts; 2],
    /// Every feature once, the most important ones first: by the absolute value of the share, then
    /// by the difference of the weights, then by weight, then in the order of the texts.
    pub rows: Vec<Row>,
    /// The distance of the fingerprints. `None` if a text has no fingerprint.
    pub distance: Option<u32>,
    /// The sum of the features' smaller weights divided by the sum of their greater weights: with
    /// equal weights, the Jaccard similarity. `None` if no feature of either text has a positive
    /// weight.
    pub similarity: Option<f64>,
}

impl Explanation {
    /// The feature of a row: a token, or the tokens of a shingle with one space between them.
    pub fn feature(&self, row: &Row) -> &str {
        let (side, place) = row.place;
        self.texts[side as usize].get(place as usize)
    }
}

/// Compares two texts. `F` is the width of the fingerprints. `None` if the features of one text
/// have more than `limit` bytes in total.
///
/// For `minhash`, `simhasher` must be made from a [`recipe`](crate::config::recipes::recipe).
///
/// ```
/// use simhash_core::config::{Config, Method};
/// use simhash_core::{Simhasher, compare::explain::explain};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let texts = ["the cat sat", "the dog sat"];
/// let found =
///     explain::<u64>(Method::Minhash, &mut simhasher, texts, 1000, &mut || ()).unwrap();
/// let sides: Vec<_> = found.rows.iter().map(|row| (found.feature(row), row.side())).collect();
/// assert_eq!(sides[2..], [("the", "both"), ("sat", "both")]);
/// assert_eq!(found.similarity, Some(0.5));
/// let shares: f64 = found.rows.iter().map(|row| row.share).sum();
/// assert_eq!(Some(shares), found.distance.map(f64::from));
/// ```
pub fn explain<F: Fingerprint>(
    method: Method,
    simhasher: &mut Simhasher,
    texts: [&str; 2],
    limit: usize,
    interrupt: &mut dyn FnMut(),
) -> Option<Explanation> {
    let [a, b] = texts;
    let a = simhasher.features::<F>(a, limit, interrupt)?;
    let b = simhasher.features::<F>(b, limit, interrupt)?;
    let interrupt = &Interrupt::new(interrupt);
    let both = Both { features: [&a, &b], sides: sides([&a, &b], feature_hash, interrupt) };
    let (distance, shares) = match method {
        Method::Simhash => shares_of_sums(&both, interrupt),
        Method::Minhash => shares_of_least(&both, interrupt),
    };
    let mut rows = Vec::with_capacity(shares.len());
    rows.extend(both.sides.iter().zip(shares).map(|(&sides, share)| {
        interrupt.spend(64);
        both.row(sides, share)
    }));
    drop(both.sides);
    let similarity = similarity(&rows, interrupt);
    let rows = ordered(rows, interrupt);
    Some(Explanation { texts: [a.into_texts(), b.into_texts()], rows, distance, similarity })
}

/// The rows in the order of [`Explanation::rows`].
fn ordered(rows: Vec<Row>, interrupt: &Interrupt) -> Vec<Row> {
    // Non-negative floats have the order of their bit patterns.
    let key = |row: &Row| {
        let [a, b] = row.numbers();
        [row.share.abs(), (a - b).abs(), a.max(b)].map(|number| Reverse(number.to_bits()))
    };
    let spent = || interrupt.spend(64);
    let places = rows.iter().enumerate().inspect(|_| spent());
    let mut places: Vec<_> = places.map(|(place, row)| (key(row), place)).collect();
    sort_checked(&mut places, &mut || interrupt.check());
    places.into_iter().inspect(|_| spent()).map(|(_, place)| rows[place]).collect()
}

/// The number of a feature in each text. It is compact, because there is one for each feature.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sides([u32; 2]);

impl Sides {
    const ABSENT: u32 = u32::MAX;

    fn get(self, side: usize) -> Option<usize> {
        Some(self.0[side]).filter(|&place| place != Self::ABSENT).map(|place| place as usize)
    }

    /// A text that has the feature, and its number there.
    fn first(self) -> (u32, u32) {
        let [a, b] = self.0;
        if a == Self::ABSENT { (1, b) } else { (0, a) }
    }

    fn is_of_one(self) -> bool {
        self.0.contains(&Self::ABSENT)
    }
}

/// The distinct features of two texts.
struct Both<'a, F> {
    features: [&'a Features<F>; 2],
    sides: Vec<Sides>,
}

impl<F: Fingerprint> Both<'_, F> {
    /// A feature in each text.
    fn get(&self, sides: Sides) -> [Option<Feature<'_, F>>; 2] {
        [0, 1].map(|side| Some(self.features[side].get(sides.get(side)?)))
    }

    /// The features of one text.
    fn of(&self, side: usize) -> impl Iterator<Item = Feature<'_, F>> {
        self.sides.iter().filter_map(move |sides| Some(self.features[side].get(sides.get(side)?)))
    }

    fn row(&self, sides: Sides, share: f64) -> Row {
        let weights = self.get(sides).map(|feature| Some(feature?.weight));
        Row { place: sides.first(), weights, share }
    }
}

/// All distinct features, in the order in which the texts have them.
fn sides<F: Fingerprint>(
    features: [&Features<F>; 2],
    hash_of: impl Fn(&[u8]) -> u64,
    interrupt: &Interrupt,
) -> Vec<Sides> {
    let mut sides: Vec<Sides> = Vec::new();
    // The index in `sides` of the first feature with each hash, and of other features with the same
    // hash.
    let mut places: Counter<u64> = Counter::new();
    let mut others: HashMap<&str, u32> = HashMap::new();
    for (side, of_text) in features.into_iter().enumerate() {
        for (number, feature) in of_text.iter().enumerate() {
            let (hash, next) = (hash_of(feature.text.as_bytes()), sides.len() as u32);
            let place = match places.get(hash) {
                None => {
                    places.reserve(1, interrupt);
                    places.count(hash, Some(next));
                    next
                }
                Some(known) => {
                    let (side, number) = sides[known as usize].first();
                    if features[side as usize].get(number as usize).text == feature.text {
                        known
                    } else {
                        *others.entry(feature.text).or_insert(next)
                    }
                }
            };
            if place == next {
                sides.push(Sides([Sides::ABSENT; 2]));
            }
            sides[place as usize].0[side] = number as u32;
            interrupt.spend(64 + feature.text.len());
        }
    }
    sides
}

fn similarity(rows: &[Row], interrupt: &Interrupt) -> Option<f64> {
    let (mut least, mut greatest) = (0.0, 0.0);
    for [a, b] in rows.iter().map(Row::numbers) {
        least += a.min(b);
        greatest += a.max(b);
        interrupt.spend(16);
    }
    (greatest > 0.0).then(|| least / greatest)
}

/// The amount that a feature adds to the sum of a bit: its weight, negated if the bit of its hash
/// is clear. There is no branch, because it would be unpredictable.
#[inline]
fn signed(weight: f32, word: u64, bit: usize) -> f64 {
    f64::from_bits(f64::from(weight).to_bits() ^ (!word >> bit) << 63)
}

/// The sums of the bits, whose signs are the fingerprint. They are exact: weights are multiples of
/// 2^-18, and a text is too short for a sum of 2^35.
fn sums<F: Fingerprint>(both: &Both<'_, F>, side: usize, interrupt: &Interrupt) -> Vec<f64> {
    let mut sums = vec![0.0; F::BITS as usize];
    for feature in both.of(side) {
        for (index, sums) in sums.chunks_mut(64).enumerate() {
            let word = feature.hash.word(index);
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += signed(feature.weight, word, bit);
            }
        }
        interrupt.spend(F::BITS as usize);
    }
    sums
}

fn shares_of_sums<F: Fingerprint>(
    both: &Both<'_, F>,
    interrupt: &Interrupt,
) -> (Option<u32>, Vec<f64>) {
    let weighs = |side| both.of(side).inspect(|_| interrupt.spend(16)).any(|f| f.weight > 0.0);
    if !weighs(0) || !weighs(1) {
        return (None, vec![0.0; both.sides.len()]);
    }
    let [a, b] = [0, 1].map(|side| sums(both, side, interrupt));
    // The bits that differ, with the change of each one's sum.
    let changes: Vec<(usize, f64)> = (0..F::BITS as usize)
        .filter(|&bit| (a[bit] > 0.0) != (b[bit] > 0.0))
        .map(|bit| (bit, b[bit] - a[bit]))
        .collect();
    let shares = both.sides.iter().map(|&sides| {
        interrupt.spend(16 + changes.len());
        let sides = both.get(sides);
        if let [Some(a), Some(b)] = sides
            && a.weight == b.weight
            && a.hash == b.hash
        {
            return 0.0;
        }
        let change = |bit: usize| {
            let of = |feature: Feature<'_, F>| {
                signed(feature.weight, feature.hash.word(bit / 64), bit % 64)
            };
            let [a, b] = sides.map(|side| side.map_or(0.0, of));
            b - a
        };
        changes.iter().map(|&(bit, whole)| change(bit) / whole).sum()
    });
    (Some(changes.len() as u32), shares.collect())
}

fn shares_of_least<F: Fingerprint>(
    both: &Both<'_, F>,
    interrupt: &Interrupt,
) -> (Option<u32>, Vec<f64>) {
    let sides = &both.sides;
    let mut shares = vec![0.0; sides.len()];
    // The hashes of each text's features, with their indexes in `sides`.
    let [a, b] = [0, 1].map(|side| {
        let present = sides.iter().enumerate().filter_map(|(place, sides)| {
            let feature = both.features[side].get(sides.get(side)?);
            interrupt.spend(16 + feature.text.len());
            Some((feature_hash(feature.text.as_bytes()), place as u64))
        });
        present.collect::<Vec<(u64, u64)>>()
    });
    let shift = u32::BITS - F::BITS.ilog2();
    let mut distance = 0;
    for lane in 0..F::BITS {
        let Some((a, b)) = first(&a, shift, lane).zip(first(&b, shift, lane)) else {
            return (None, shares);
        };
        interrupt.spend(4 * sides.len());
        if (least::mix(a.0) ^ least::mix(b.0)) >> 31 == 0 {
            continue;
        }
        distance += 1;
        let causes = [a.1, b.1].map(|place| sides[place].is_of_one().then_some(place));
        let number = causes.iter().flatten().count();
        for place in causes.into_iter().flatten() {
            shares[place] += 1.0 / number as f64;
        }
    }
    (Some(distance), shares)
}

/// The least value in a lane, and the index of the feature that has it.
fn first(features: &[(u64, u64)], shift: u32, lane: u32) -> Option<(u32, usize)> {
    let values = features
        .iter()
        .map(|&(hash, place)| u64::from(least::value(hash, shift, lane)) << 32 | place);
    values.min().map(|first| ((first >> 32) as u32, first as u32 as usize))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Config;
    use crate::base::bits::B256;
    use crate::config::recipes::recipe;
    use crate::sets::shingles::ShingleSet;
    use crate::sketches::minhash::Fingerprinter;

    fn check<F: Fingerprint>(method: Method, config: &str, texts: [&str; 2]) {
        let mut config: Config = config.parse().unwrap();
        if method == Method::Minhash {
            config = recipe(&config);
        }
        let simhasher = || Simhasher::new(config.clone()).unwrap();
        let nothing = &mut || ();
        let found = explain::<F>(method, &mut simhasher(), texts, usize::MAX, nothing).unwrap();
        let mut fingerprinter = Fingerprinter::new(method, simhasher(), F::BITS);
        let [a, b] = texts.map(|text| fingerprinter.fingerprint::<F>(text, &mut || ()));
        let distance = a.zip(b).map(|(a, b)| (a ^ b).count_ones());
        assert_eq!(found.distance, distance, "{method} {config} {texts:?}");
        let shares: f64 = found.rows.iter().map(|row| row.share).sum();
        let expected = f64::from(distance.unwrap_or(0));
        assert!((shares - expected).abs() < 1e-6, "{shares} of {expected}");
        // The weights are those of the features.
        for (side, text) in texts.into_iter().enumerate() {
            let features = simhasher().features::<F>(text, usize::MAX, &mut || ()).unwrap();
            let mut listed: Vec<(&str, f32)> = found
                .rows
                .iter()
                .filter_map(|row| Some((found.feature(row), row.weights[side]?)))
                .collect();
            let mut expected: Vec<(&str, f32)> =
                features.iter().map(|f| (f.text, f.weight)).collect();
            listed.sort_by(|x, y| x.0.cmp(y.0));
            expected.sort_by(|x, y| x.0.cmp(y.0));
            assert_eq!(listed, expected);
        }
        if method == Method::Minhash {
            let [a, b] = texts.map(|text| ShingleSet::new(&mut simhasher(), text, &mut || ()));
            assert_eq!(found.similarity, a.jaccard(&b));
        }
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_distance(
            a in "[a-e ]{0,60}",
            b in "[a-e ]{0,60}",
            config in prop::sample::select(vec![
                "{}",
                r#"{"weight": "log", "shingle": [1, 2]}"#,
                r#"{"weight": "tf", "tokenizer": "char", "shingle": 3, "cap": 2.5}"#,
                r#"{"position": "spread"}"#,
            ]),
        ) {
            for method in [Method::Simhash, Method::Minhash] {
                check::<u64>(method, config, [&a, &b]);
                check::<u128>(method, config, [&a, &b]);
                check::<B256>(method, config, [&a, &b]);
            }
        }
    }

    #[test]
    fn features_with_one_hash_are_told_apart() {
        let config: Config = r#"{"shingle": [1, 2]}"#.parse().unwrap();
        let features = |text| {
            let mut simhasher = Simhasher::new(config.clone()).unwrap();
            simhasher.features::<u64>(text, usize::MAX, &mut || ()).unwrap()
        };
        let (a, b) = (features("a b c d a b"), features("d c b a b e"));
        let nothing = &mut || ();
        let interrupt = &Interrupt::new(nothing);
        let expected = sides([&a, &b], feature_hash, interrupt);
        assert_eq!(expected.iter().filter(|sides| !sides.is_of_one()).count(), 5);
        for values in 1..4 {
            let found = sides([&a, &b], |text| feature_hash::<u64>(text) % values, interrupt);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_matters_most_comes_first() {
        let config = r#"{"weight": "tf"}"#.parse().unwrap();
        let mut simhasher = Simhasher::new(config).unwrap();
        let texts = ["x x x x x y z", "y z z"];
        let explain = |limit, simhasher: &mut Simhasher| {
            explain::<u128>(Method::Simhash, simhasher, texts, limit, &mut || ())
        };
        let found = explain(usize::MAX, &mut simhasher).unwrap();
        let rows: Vec<_> =
            found.rows.iter().map(|r| (found.feature(r), r.side(), r.weights)).collect();
        assert_eq!(
            rows,
            [
                ("x", "a", [Some(5.0), None]),
                ("z", "both", [Some(1.0), Some(2.0)]),
                ("y", "both", [Some(1.0), Some(1.0)]),
            ]
        );
        assert_eq!(found.similarity, Some(2.0 / 8.0));
        assert_eq!(explain(2, &mut simhasher), None);
    }
}
