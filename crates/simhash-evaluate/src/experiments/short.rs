//! Simhash, MinHash, KSentence and shingle Jaccard on the groups of short texts.

use rayon::prelude::*;
use serde::Serialize;
use simhash_core::config::{Config, Weight};
use simhash_core::methods::ksentence::{ksentence, normalize_config};
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sketches::minhash::MinHasher;
use simhash_core::{Fingerprint, Simhasher};

use super::Prepared;
use super::settings::{Summary, published};
use crate::corpus::SEED;
use crate::method::{Features, Method};
use crate::metrics::{Distances, Resamples, all};

#[derive(Debug, Serialize)]
pub struct Row {
    pub method: String,
    /// The unit of the summary's distances: bits, components that differ, or hundredths of the
    /// Jaccard distance.
    pub unit: &'static str,
    pub summary: Summary,
}

const COMPONENTS: usize = 128;
const HUNDREDTHS: u32 = 100;

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let (words, characters) = (Features::words, Features::characters);
    let experiment = Experiment { prepared, resamples: Resamples::new(&prepared.truth, SEED) };
    let mut rows = Vec::new();
    for features in [words(1), words(2), characters(2)] {
        rows.push(experiment.simhash::<u64>(features));
        rows.push(experiment.simhash::<u128>(features));
    }
    for features in [words(1), words(2), words(5), characters(2), characters(3), characters(5)] {
        rows.push(experiment.jaccard(features));
    }
    for features in [words(1), characters(2)] {
        rows.push(experiment.minhash(features));
    }
    rows.extend([1, 2, 5].map(|k| experiment.ksentence(k)));
    rows
}

struct Experiment<'a> {
    prepared: &'a Prepared,
    resamples: Resamples,
}

impl Experiment<'_> {
    fn row(
        &self,
        method: String,
        unit: &'static str,
        published: usize,
        distances: &Distances,
    ) -> Row {
        let summary = Summary::new(self.prepared, distances, &self.resamples, all, published);
        Row { method, unit, summary }
    }

    /// The result of `make` for each text.
    fn made<M, T: Send>(
        &self,
        new: impl Fn() -> M + Sync + Send,
        make: impl Fn(&mut M, &str) -> T + Sync + Send,
    ) -> Vec<T> {
        let texts = self.prepared.texts();
        texts.par_iter().map_init(new, |maker, text| make(maker, text)).collect()
    }

    fn simhash<F: Fingerprint>(&self, features: Features) -> Row {
        let method = Method::new(features, Weight::Log);
        let fingerprints = method.fingerprints::<F>(&self.prepared.texts(), None);
        let label = format!("simhash, {} bits, {}", F::BITS, method.label());
        self.row(label, "bits", published(F::BITS), &self.prepared.distances(&fingerprints))
    }

    fn jaccard(&self, features: Features) -> Row {
        let sets = self.made(
            || simhasher(features.config()),
            |simhasher, text| ShingleSet::new(simhasher, text, &mut || ()),
        );
        let distances = Distances::measure(&self.prepared.truth, HUNDREDTHS, |a, b| {
            let similarity = sets[a].jaccard(&sets[b]).unwrap_or(0.0);
            HUNDREDTHS - (f64::from(HUNDREDTHS) * similarity) as u32
        });
        self.row(format!("Jaccard, {}", features.label()), "hundredths", 50, &distances)
    }

    fn minhash(&self, features: Features) -> Row {
        let signatures = self.made(
            || (simhasher(features.config()), MinHasher::new(COMPONENTS)),
            |(simhasher, minhasher), text| minhasher.text_signature(simhasher, text, &mut || ()),
        );
        let distances = Distances::measure(&self.prepared.truth, COMPONENTS as u32, |a, b| {
            differing(&signatures[a], &signatures[b])
        });
        let label = format!("MinHash, {COMPONENTS} components, {}", features.label());
        self.row(label, "components", COMPONENTS / 2, &distances)
    }

    fn ksentence(&self, k: usize) -> Row {
        let keys = self.made(
            || simhasher(normalize_config()),
            |simhasher, text| ksentence(&simhasher.normalize(text, &mut || ()), k, &mut || ()),
        );
        let mut distances = Distances::measure(&self.prepared.truth, 1, |a, b| {
            u32::from(keys[a].is_none() || keys[a] != keys[b])
        });
        // Only the equality of keys counts: everything is within a distance of 1.
        distances.others.push(0);
        self.row(format!("KSentence, K = {k}"), "equality", 0, &distances)
    }
}

fn differing(a: &Option<Vec<u32>>, b: &Option<Vec<u32>>) -> u32 {
    match (a, b) {
        (Some(a), Some(b)) => a.iter().zip(b).filter(|(x, y)| x != y).count() as u32,
        _ => COMPONENTS as u32,
    }
}

fn simhasher(config: Config) -> Simhasher {
    Simhasher::new(config).expect("no model is needed")
}
