//! Verified duplicates: pairs within a distance are candidates, and those whose texts are similar
//! enough by their shingles are duplicates.

use rayon::prelude::*;
use serde::Serialize;
use simhash_core::Fingerprint;
use simhash_core::config::Weight;
use simhash_core::sets::weighted::WeightedSet;

use super::Prepared;
use crate::corpus::SEED;
use crate::method::{Features, Method, apart};
use crate::metrics::{Confusion, Resamples, similar};
use crate::results::rounded;
use crate::truth::{BANDS, Truth, band};

/// One way to propose pairs and one to verify them, on one corpus.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What proposes, by fingerprints of `width` bits.
    pub method: Method,
    pub width: u32,
    /// What verifies: the similarity of these features, with these weights.
    pub verifier: Method,
    pub measure: Measure,
    /// Distinct features of the verifier a text, on average.
    pub features: f64,
    /// Pairs of one group, by band of similarity.
    pub duplicates: [Grid; BANDS.len()],
    /// Pairs of different groups.
    pub others: Grid,
    /// Pairs that count neither way, since they are as similar as near-duplicates.
    pub unlabelled: Grid,
    /// The standard deviation of F1 in resamples of the groups, at each distance and threshold, in
    /// ten-thousandths.
    pub deviation: Vec<Vec<u16>>,
}

/// The similarity of two weighted sets, 0 to 1. |A| is the sum of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// |A n B| / |A u B|
    Jaccard,
    /// |A n B| / min(|A|, |B|)
    Containment,
}

impl Measure {
    fn of(self, a: &WeightedSet, b: &WeightedSet) -> f64 {
        match self {
            Measure::Jaccard => a.jaccard(b).unwrap_or(0.0),
            Measure::Containment => {
                [a.containment(b), b.containment(a)].into_iter().flatten().fold(0.0, f64::max)
            }
        }
    }
}

/// The distances that are distinguished: 0, 1, ... up to three eighths of the width, in 64ths of
/// it.
const DISTANCES: usize = 25;

/// The least similarities that are distinguished. With the first, only the distance decides.
const THRESHOLDS: [f64; 16] =
    [0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9];

/// The place of the greatest threshold that a similarity reaches.
fn place(similarity: f64) -> u8 {
    THRESHOLDS.iter().rposition(|&least| similarity >= least).unwrap_or(0) as u8
}

/// How many pairs there are, by distance and then by place of similarity. Zeros at the end of a
/// distance are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Grid(Vec<Vec<u32>>);

impl Grid {
    fn new() -> Self {
        Grid(vec![Vec::new(); DISTANCES])
    }

    fn add(&mut self, distance: u8, place: u8) {
        let (counts, place) = (&mut self.0[usize::from(distance)], usize::from(place));
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        counts[place] += 1;
    }
}

/// What the truth records about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of one group, in this band of similarity.
    Duplicate(u8),
    Other,
    Unlabelled,
}

/// A pair within the greatest distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    a: u32,
    b: u32,
    /// In 64ths of the width, rounded up.
    distance: u8,
    kind: Kind,
}

/// The methods that propose pairs.
fn proposers() -> [(Method, u32); 6] {
    let (words, pairs, both) = (Features::words(1), Features::words(2), Features::words_of([1, 2]));
    [
        (Method::minhash(pairs), 64),
        (Method::minhash(words), 128),
        (Method::minhash(pairs), 128),
        (Method::minhash(both), 128),
        (Method::new(words, Weight::Uniform), 128),
        (Method::new(pairs, Weight::Idf), 128),
    ]
}

/// The methods that verify pairs.
fn verifiers() -> [Method; 9] {
    let (words, both, characters) =
        (Features::words, Features::words_of([1, 2]), Features::characters);
    let [uniform, idf] =
        [Weight::Uniform, Weight::Idf].map(|weight| move |features| Method::new(features, weight));
    [
        uniform(words(1)),
        uniform(words(2)),
        uniform(words(3)),
        uniform(both),
        uniform(characters(2)),
        uniform(characters(3)),
        idf(words(1)),
        idf(words(2)),
        idf(both),
    ]
}

/// The measures for a proposer. Both are compared for only one, since they differ alike for the
/// others.
fn measures(method: Method, width: u32) -> &'static [Measure] {
    if method == Method::minhash(Features::words(1)) && width == 128 {
        &[Measure::Jaccard, Measure::Containment]
    } else {
        &[Measure::Jaccard]
    }
}

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let resamples = Resamples::new(&prepared.truth, SEED);
    let proposed =
        proposers().map(|(method, width)| (method, width, proposed(prepared, method, width)));
    let mut rows = Vec::new();
    for verifier in verifiers() {
        let sets = sets(prepared, verifier);
        let features = sets.iter().map(WeightedSet::len).sum::<usize>() as f64 / sets.len() as f64;
        for &(method, width, ref candidates) in &proposed {
            for &measure in measures(method, width) {
                let places: Vec<u8> = candidates
                    .par_iter()
                    .map(|pair| place(measure.of(&sets[pair.a as usize], &sets[pair.b as usize])))
                    .collect();
                let Counted { duplicates, others, unlabelled } = counted(candidates, &places);
                let features = rounded(features, 1);
                let deviation = deviation(&prepared.truth, candidates, &places, &resamples);
                rows.push(Row {
                    method,
                    width,
                    verifier,
                    measure,
                    features,
                    duplicates,
                    others,
                    unlabelled,
                    deviation,
                });
            }
        }
    }
    rows
}

/// The set of each tested text.
fn sets(prepared: &Prepared, verifier: Method) -> Vec<WeightedSet> {
    let model = verifier.needs_model().then(|| verifier.features.train(&prepared.training));
    let simhasher = || verifier.simhasher(model.as_ref());
    let texts = prepared.texts();
    texts
        .par_iter()
        .map_init(simhasher, |simhasher, text| WeightedSet::new(simhasher, text, &mut || ()))
        .collect()
}

fn proposed(prepared: &Prepared, method: Method, width: u32) -> Vec<Candidate> {
    fn by<F: Fingerprint>(prepared: &Prepared, method: Method) -> Vec<Candidate> {
        let model = method.needs_model().then(|| method.features.train(&prepared.training));
        let fingerprints = method.fingerprints::<F>(&prepared.texts(), model.as_ref());
        candidates(&prepared.truth, F::BITS, |a, b| apart(fingerprints[a], fingerprints[b]))
    }
    if width == 64 { by::<u64>(prepared, method) } else { by::<u128>(prepared, method) }
}

/// All pairs within the greatest distance.
fn candidates(
    truth: &Truth,
    width: u32,
    distance: impl Fn(usize, usize) -> u32 + Sync,
) -> Vec<Candidate> {
    let candidate = |a: usize, b: usize, kind| {
        let distance = distance(a, b).div_ceil(width / 64);
        let (distance, a, b) = (distance as u8, a as u32, b as u32);
        (usize::from(distance) < DISTANCES).then_some(Candidate { a, b, distance, kind })
    };
    let documents = truth.groups.len();
    let of_groups = (0..documents).into_par_iter().flat_map_iter(|a| {
        let later = (a + 1..documents).filter(move |&b| truth.groups[a] != truth.groups[b]);
        later.filter_map(move |b| {
            let unlabelled = truth.unlabelled[a].binary_search(&(b as u32)).is_ok();
            candidate(a, b, if unlabelled { Kind::Unlabelled } else { Kind::Other })
        })
    });
    let mut candidates: Vec<Candidate> = of_groups.collect();
    candidates.extend(truth.pairs.iter().filter_map(|pair| {
        candidate(pair.a, pair.b, Kind::Duplicate(band(pair.similarity) as u8))
    }));
    candidates
}

#[derive(Debug, PartialEq, Eq)]
struct Counted {
    duplicates: [Grid; BANDS.len()],
    others: Grid,
    unlabelled: Grid,
}

fn counted(candidates: &[Candidate], places: &[u8]) -> Counted {
    let (mut duplicates, mut others) = (std::array::from_fn(|_| Grid::new()), Grid::new());
    let mut unlabelled = Grid::new();
    for (pair, &place) in candidates.iter().zip(places) {
        match pair.kind {
            Kind::Duplicate(band) => &mut duplicates[usize::from(band)],
            Kind::Other => &mut others,
            Kind::Unlabelled => &mut unlabelled,
        }
        .add(pair.distance, place);
    }
    Counted { duplicates, others, unlabelled }
}

/// How many pairs are found at each distance and threshold: within the one, and as similar as the
/// other.
#[derive(Debug, Clone, PartialEq)]
struct Found([[f64; THRESHOLDS.len()]; DISTANCES]);

impl Found {
    fn of(weighed: impl Iterator<Item = (u8, u8, f64)>) -> Self {
        let mut found = [[0.0; THRESHOLDS.len()]; DISTANCES];
        for (distance, place, weight) in weighed {
            found[usize::from(distance)][usize::from(place)] += weight;
        }
        for places in &mut found {
            for place in (1..places.len()).rev() {
                places[place - 1] += places[place];
            }
        }
        for distance in 1..DISTANCES {
            let nearer = found[distance - 1];
            found[distance].iter_mut().zip(nearer).for_each(|(sum, more)| *sum += more);
        }
        Found(found)
    }
}

/// The standard deviation of F1 at each distance and threshold.
fn deviation(
    truth: &Truth,
    candidates: &[Candidate],
    places: &[u8],
    resamples: &Resamples,
) -> Vec<Vec<u16>> {
    let wanted = |kind| matches!(kind, Kind::Duplicate(band) if usize::from(band) < 3);
    let one = |times: &[f64]| {
        let of = |document: u32| times[truth.groups[document as usize] as usize];
        let pairs = || candidates.iter().zip(places).map(|(pair, &place)| (pair, place));
        let right = pairs().filter(|(pair, _)| wanted(pair.kind));
        let tp = Found::of(right.map(|(pair, place)| (pair.distance, place, of(pair.a))));
        let wrong = pairs().filter(|(pair, _)| pair.kind == Kind::Other);
        let fp =
            Found::of(wrong.map(|(pair, place)| (pair.distance, place, of(pair.a) * of(pair.b))));
        let all = truth.pairs.iter().filter(|pair| similar(pair.similarity));
        let all: f64 = all.map(|pair| of(pair.a as u32)).sum();
        (tp, fp, all)
    };
    let resampled: Vec<(Found, Found, f64)> =
        resamples.times().par_iter().map(|t| one(t)).collect();
    let deviation = |distance: usize, place: usize| {
        let f1 = resampled.iter().map(|(tp, fp, all)| {
            let (tp, fp) = (tp.0[distance][place], fp.0[distance][place]);
            Confusion { tp, fp, fn_: all - tp }.f1()
        });
        (standard_deviation(&f1.collect::<Vec<_>>()) * 10_000.0).round() as u16
    };
    (0..DISTANCES)
        .map(|distance| (0..THRESHOLDS.len()).map(|place| deviation(distance, place)).collect())
        .collect()
}

/// The standard deviation of a sample.
fn standard_deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Pair;

    /// Five documents on a line. 0, 1 and 2 are one group, 3 and 4 are others. 3 is an unlabelled
    /// twin of 1.
    fn truth() -> Truth {
        let pair = |a, b, similarity| Pair { a, b, similarity };
        Truth {
            groups: vec![0, 0, 0, 1, 2],
            pairs: vec![pair(0, 1, 0.95), pair(0, 2, 0.6), pair(1, 2, 0.2)],
            unlabelled: vec![vec![], vec![3], vec![], vec![], vec![]],
        }
    }

    fn found() -> Vec<Candidate> {
        let place = [0u32, 2, 8, 4, 60];
        candidates(&truth(), 128, |a, b| place[a].abs_diff(place[b]))
    }

    #[test]
    fn candidates_are_the_pairs_within_three_eighths() {
        let mut found = found();
        found.sort_by_key(|pair| (pair.a, pair.b));
        let candidate = |a, b, distance, kind| Candidate { a, b, distance, kind };
        // Of 128 bits two are a step. Only 3 and 4 are 56 apart, 2 and 4 are 52: both too far.
        let expected = [
            candidate(0, 1, 1, Kind::Duplicate(0)),
            candidate(0, 2, 4, Kind::Duplicate(2)),
            candidate(0, 3, 2, Kind::Other),
            candidate(1, 2, 3, Kind::Duplicate(3)),
            candidate(1, 3, 1, Kind::Unlabelled),
            candidate(2, 3, 2, Kind::Other),
        ];
        assert_eq!(found, expected);
        let odd = candidates(&truth(), 128, |a, b| if (a, b) == (0, 1) { 47 } else { 49 });
        assert_eq!(odd, [candidate(0, 1, 24, Kind::Duplicate(0))]);
    }

    #[test]
    fn a_similarity_has_the_place_of_the_threshold_it_reaches() {
        assert_eq!([0.0, 0.1999, 0.2, 0.5, 0.54, 0.9, 1.0].map(place), [0, 0, 1, 7, 7, 15, 15]);
    }

    #[test]
    fn pairs_are_counted_by_kind_distance_and_similarity() {
        let found = found();
        let similarity = |pair: &Candidate| if pair.kind == Kind::Other { 0.3 } else { 0.6 };
        let places: Vec<u8> = found.iter().map(|pair| place(similarity(pair))).collect();
        let counted = counted(&found, &places);
        let mut others = Grid::new();
        others.0[2] = vec![0, 0, 0, 2];
        assert_eq!(counted.others, others);
        let mut one = Grid::new();
        one.0[1] = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!([&counted.duplicates[0], &counted.unlabelled], [&one, &one]);
        assert_eq!(counted.duplicates[1], Grid::new());
    }

    #[test]
    fn what_is_nearer_and_more_similar_is_found_too() {
        let found = Found::of([(1, 6, 2.0), (3, 4, 5.0), (3, 8, 1.0)].into_iter());
        assert_eq!([0, 1, 2, 3, 24].map(|distance| found.0[distance][0]), [0., 2., 2., 8., 8.]);
        assert_eq!([4, 5, 6, 7, 8, 9].map(|place| found.0[3][place]), [8., 3., 3., 1., 1., 0.]);
    }

    #[test]
    fn measures_by_hand() {
        let mut simhasher = Method::new(Features::words(1), Weight::Uniform).simhasher(None);
        let mut set = |text| WeightedSet::new(&mut simhasher, text, &mut || ());
        let (part, whole, none) = (set("one two three"), set("two three four five six"), set(""));
        for (a, b) in [(&part, &whole), (&whole, &part)] {
            assert_eq!(Measure::Jaccard.of(a, b), 2.0 / 6.0);
            assert_eq!(Measure::Containment.of(a, b), 2.0 / 3.0);
        }
        for measure in [Measure::Jaccard, Measure::Containment] {
            assert_eq!([measure.of(&none, &none), measure.of(&none, &whole)], [0.0, 0.0]);
        }
    }

    #[test]
    fn the_deviation_is_that_of_f1_in_the_resamples() {
        assert_eq!(standard_deviation(&[1.0, 2.0, 3.0, 4.0]), (5.0f64 / 3.0).sqrt());
        let (truth, found) = (truth(), found());
        let resamples = Resamples::of(vec![vec![1.0, 1.0, 1.0], vec![1.0, 3.0, 0.0]]);
        let deviation = |places: &[u8]| deviation(&truth, &found, places, &resamples);
        let all = deviation(&vec![place(0.6); found.len()]);
        // F1 at a step of 1: one of two found, 2 / 3 in both. At 2 there are also two others, and
        // six in the second: 2 / 5 and 2 / 9. At 4 the other is found too: 4 / 6 and 4 / 10.
        let between = |a: f64, b: f64| ((a - b) / 2f64.sqrt() * 10_000.0).round() as u16;
        let expected = [0, between(2.0 / 5.0, 2.0 / 9.0), between(4.0 / 6.0, 4.0 / 10.0)];
        assert_eq!([1, 2, 4].map(|distance| all[distance][9]), expected);
        assert_eq!(all[4][10], 0, "nothing is as similar as that");
        // Where the others are not similar enough, they are not taken.
        let places: Vec<u8> = found.iter().map(|pair| u8::from(pair.kind != Kind::Other)).collect();
        assert_eq!((deviation(&places)[4][1], deviation(&places)[4][0]), (0, expected[2]));
    }
}
