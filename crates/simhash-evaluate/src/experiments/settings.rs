//! Every sensible setting of simhash on all pairs of a corpus: what it finds at each distance.

use std::sync::Arc;

use serde::Serialize;
use simhash_core::Fingerprint;
use simhash_core::config::{Position, Weight};
use simhash_core::features::model::Model;

use super::Prepared;
use crate::corpus::SEED;
use crate::method::{Features, Method};
use crate::metrics::{Distances, Resamples, Wanted, at_rate, best, confusions, similar};
use crate::results::rounded;

/// One setting on one corpus.
#[derive(Debug, Serialize)]
pub struct Row {
    pub method: Method,
    pub width: u32,
    /// The number of pairs of one group, by band of similarity, at distances 0, 1, 2, ... up to
    /// three eighths of the width.
    pub duplicates: [Vec<u64>; 4],
    /// The same of pairs of different groups.
    pub others: Vec<u64>,
    /// The same of pairs that count neither way, since they are as similar as near-duplicates.
    pub unlabelled: Vec<u64>,
    /// Only of [`choices`]: for each distance that is stored, F1 in resamples of the groups, in
    /// thousandths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resampled: Vec<Vec<u16>>,
    pub summary: Summary,
}

/// The main figures.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// F1 at the published distance, 3 of 64 or 10 of 128.
    pub f1_published: f64,
    /// The distance with the greatest F1.
    pub best: usize,
    pub f1: f64,
    pub precision: f64,
    pub recall: f64,
    /// F1 at that distance in resamples of the groups.
    pub f1_resampled: Vec<f64>,
    /// Recall at the greatest distance that takes at most 1e-5 of the other pairs.
    pub recall_1e5: Option<f64>,
}

/// The published distance of near-duplicates.
pub fn published(width: u32) -> usize {
    if width == 64 { 3 } else { 10 }
}

impl Summary {
    pub fn new(
        prepared: &Prepared,
        distances: &Distances,
        resamples: &Resamples,
        wanted: Wanted,
        published: usize,
    ) -> Self {
        let truth = &prepared.truth;
        let curve = confusions(truth, distances, wanted);
        let best = best(&curve);
        let resampled = resamples.confusions(truth, distances, best, wanted);
        let at_1e5 = at_rate(&curve, 1e-5);
        Summary {
            f1_published: rounded(curve[published].f1(), 4),
            best,
            f1: rounded(curve[best].f1(), 4),
            precision: rounded(curve[best].precision(), 4),
            recall: rounded(curve[best].recall(), 4),
            f1_resampled: resampled.into_iter().map(|found| rounded(found.f1(), 4)).collect(),
            recall_1e5: at_1e5.map(|distance| rounded(curve[distance].recall(), 4)),
        }
    }
}

pub const WEIGHTS: [Weight; 6] =
    [Weight::Uniform, Weight::Tf, Weight::Log, Weight::Level, Weight::Idf, Weight::Tfidf];

/// Words, and pairs of them.
fn words_and_pairs() -> Features {
    Features::words_of([1, 2])
}

/// The settings that a user would choose from. Their F1 is resampled at each distance.
fn choices() -> [Method; 7] {
    let (words, pairs) = (Features::words(1), Features::words(2));
    [
        Method::default_of_simhash(),
        Method::new(words, Weight::Log),
        Method::new(pairs, Weight::Uniform),
        Method::minhash(words),
        Method::minhash(pairs),
        Method::minhash(words_and_pairs()),
        Method::new(pairs, Weight::Idf),
    ]
}

/// The settings that are compared, grouped by features, because these share a model.
fn grid() -> Vec<(Features, Vec<Method>)> {
    let (words, characters) = (Features::words, Features::characters);
    let all = [words(1), words(2), words(3), characters(2), characters(3), characters(4)];
    let fewer = [words(1).without_stop_words(), words(2).without_stop_words()];
    let of = |features: Features, weights: &[Weight]| {
        weights.iter().map(|&weight| Method::new(features, weight)).collect()
    };
    let mut grid: Vec<(Features, Vec<Method>)> = Vec::new();
    for features in all {
        let mut methods: Vec<Method> = of(features, &WEIGHTS);
        for capped in [false, true] {
            methods.push(Method { capped, ..Method::new(features, Weight::Entropy) });
        }
        if features == words(1) {
            for position in [Position::Paper, Position::Bucket, Position::Spread] {
                methods.push(Method {
                    capped: true,
                    position,
                    ..Method::new(features, Weight::Entropy)
                });
            }
        }
        methods.push(Method::minhash(features));
        grid.push((features, methods));
    }
    let both = words_and_pairs();
    grid.push((both, vec![Method::new(both, Weight::Uniform), Method::minhash(both)]));
    grid.extend(
        fewer.map(|features| (features, of(features, &[Weight::Uniform, Weight::Tf, Weight::Log]))),
    );
    grid
}

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let resamples = Resamples::new(&prepared.truth, SEED);
    let mut rows = Vec::new();
    for (features, methods) in grid() {
        let model = methods
            .iter()
            .any(|method| method.needs_model())
            .then(|| features.train(&prepared.training));
        for method in methods {
            rows.push(row::<u64>(prepared, method, model.as_ref(), &resamples));
            rows.push(row::<u128>(prepared, method, model.as_ref(), &resamples));
        }
    }
    rows
}

fn row<F: Fingerprint>(
    prepared: &Prepared,
    method: Method,
    model: Option<&Arc<Model>>,
    resamples: &Resamples,
) -> Row {
    let distances = prepared.distances(&method.fingerprints::<F>(&prepared.texts(), model));
    // All distances of the default are stored, for histograms.
    let whole = method == Method::default_of_simhash();
    let kept = if whole { F::BITS as usize } else { F::BITS as usize * 3 / 8 } + 1;
    let is_choice = choices().contains(&method);
    let resampled = (0..=if is_choice { F::BITS as usize * 3 / 8 } else { 0 })
        .filter(|_| is_choice)
        .map(|distance| {
            let found = resamples.confusions(&prepared.truth, &distances, distance, similar);
            found.into_iter().map(|confusion| (confusion.f1() * 1000.0).round() as u16).collect()
        });
    let summary = Summary::new(prepared, &distances, resamples, similar, published(F::BITS));
    Row {
        method,
        width: F::BITS,
        duplicates: distances.by_band(&prepared.truth).map(|mut counts| {
            counts.truncate(kept);
            counts
        }),
        others: distances.others[..kept].to_vec(),
        unlabelled: distances.unlabelled[..kept].to_vec(),
        resampled: resampled.collect(),
        summary,
    }
}
