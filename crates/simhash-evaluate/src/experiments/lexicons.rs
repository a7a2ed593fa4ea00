//! Shingles and many lexicons (F. Jun's thesis) on real edits.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use simhash_core::Fingerprint;
use simhash_core::config::Weight;
use simhash_core::models::{Model, lexicons};

use super::Prepared;
use super::settings::{Summary, published};
use crate::corpus::SEED;
use crate::method::{Features, Method, apart};
use crate::metrics::{Distances, Resamples, similar};

/// Random parts of the lexicon, beside the whole.
pub const PARTS: [usize; 4] = [0, 2, 4, 8];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub shingle: usize,
    /// `None`: plain simhash, without a lexicon.
    pub parts: Option<usize>,
    pub weight: Weight,
    pub width: u32,
    pub summary: Summary,
}

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let resamples = Resamples::new(&prepared.truth, SEED);
    let model = Features::words(1).train(&prepared.training);
    let mut rows = Vec::new();
    for shingle in 1..=3 {
        for weight in [Weight::Tf, Weight::Log] {
            let method = Method::new(Features::words(shingle), weight);
            let distances = prepared.distances(&method.fingerprints::<u64>(&prepared.texts(), None));
            rows.push(row(prepared, &resamples, &distances, shingle, None, weight, u64::BITS));
        }
        rows.extend(by_lexicons::<u64>(prepared, &resamples, &model, shingle));
    }
    rows
}

fn by_lexicons<F: Fingerprint>(
    prepared: &Prepared,
    resamples: &Resamples,
    model: &Model,
    shingle: usize,
) -> Vec<Row> {
    let most = PARTS[PARTS.len() - 1];
    let simhasher = || Method::new(Features::words(1), Weight::Log).simhasher(None);
    let fingerprints: Vec<Vec<Option<F>>> = prepared
        .tested
        .par_iter()
        .map_init(simhasher, |simhasher, document| {
            lexicons::fingerprints(model, simhasher, &document.text, most, shingle, &mut || ())
        })
        .collect();
    PARTS
        .iter()
        .map(|&parts| {
            let distances = Distances::measure(&prepared.truth, F::BITS, |a, b| {
                let pairs = fingerprints[a].iter().zip(&fingerprints[b]).take(parts + 1);
                pairs.map(|(&a, &b)| apart(a, b)).min().unwrap_or(F::BITS)
            });
            row(prepared, resamples, &distances, shingle, Some(parts), Weight::Log, F::BITS)
        })
        .collect()
}

fn row(
    prepared: &Prepared,
    resamples: &Resamples,
    distances: &Distances,
    shingle: usize,
    parts: Option<usize>,
    weight: Weight,
    width: u32,
) -> Row {
    let summary = Summary::new(prepared, distances, resamples, similar, published(width));
    Row { shingle, parts, weight, width, summary }
}
