//! Shingles and many lexicons (F. Jun's thesis), measured on real edits.

use rayon::prelude::*;
use serde::Serialize;
use simhash_core::Simhasher;
use simhash_core::config::Weight;
use simhash_core::features::model::Model;
use simhash_core::methods::lexicons;

use super::Prepared;
use super::settings::{Summary, published};
use crate::corpus::{Document, SEED};
use crate::method::{Features, Method, apart};
use crate::metrics::{Distances, Resamples, similar};

/// How many random parts of the lexicon are used besides the whole.
const PARTS: [usize; 4] = [0, 2, 4, 8];

#[derive(Debug, Serialize)]
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
    let width = u64::BITS;
    let row = |shingle, parts, weight, distances: &Distances| {
        let summary = Summary::new(prepared, distances, &resamples, similar, published(width));
        Row { shingle, parts, weight, width, summary }
    };
    let mut rows = Vec::new();
    for shingle in 1..=3 {
        for weight in [Weight::Tf, Weight::Log] {
            let method = Method::new(Features::words(shingle), weight);
            let fingerprints = method.fingerprints::<u64>(&prepared.texts(), None);
            rows.push(row(shingle, None, weight, &prepared.distances(&fingerprints)));
        }
        let fingerprints = fingerprints(prepared, &model, shingle);
        for parts in PARTS {
            let distances = Distances::measure(&prepared.truth, width, |a, b| {
                let pairs = fingerprints[a].iter().zip(&fingerprints[b]).take(parts + 1);
                pairs.map(|(&a, &b)| apart(a, b)).min().unwrap_or(width)
            });
            rows.push(row(shingle, Some(parts), Weight::Log, &distances));
        }
    }
    rows
}

/// For each document, the fingerprint by the whole lexicon, then those by each of its parts.
fn fingerprints(prepared: &Prepared, model: &Model, shingle: usize) -> Vec<Vec<Option<u64>>> {
    let most = PARTS[PARTS.len() - 1];
    let simhasher = || Method::new(Features::words(1), Weight::Log).simhasher(None);
    let of = |simhasher: &mut Simhasher, document: &Document| {
        lexicons::fingerprints(model, simhasher, &document.text, most, shingle, &mut || ())
    };
    prepared.tested.par_iter().map_init(simhasher, of).collect()
}
