//! Short texts: simhash, MinHash, KSentence and shingle Jaccard by their groups, and their speed.

use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use simhash_core::config::{Config, Weight};
use simhash_core::sets::ksentence::{ksentence, normalize_config};
use simhash_core::sets::minhash::MinHasher;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::{Fingerprint, Simhasher};

use super::Prepared;
use super::settings::{Summary, published};
use crate::corpus::SEED;
use crate::method::{Features, Method, apart};
use crate::metrics::{Distances, Resamples, all};
use crate::results::rounded;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub method: String,
    /// What the summary's distances are of: bits, components that differ, hundredths of 1 - Jaccard.
    pub unit: String,
    pub summary: Summary,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Speed {
    pub method: String,
    /// Documents a second, one thread, two significant digits.
    pub per_second: f64,
}

const COMPONENTS: usize = 128;
const HUNDREDTHS: u32 = 100;

fn simhashes() -> [(Method, u32); 6] {
    let of = |features| Method::new(features, Weight::Log);
    let [words, pairs, characters] =
        [Features::words(1), Features::words(2), Features::characters(2)].map(of);
    [(words, 64), (words, 128), (pairs, 64), (pairs, 128), (characters, 64), (characters, 128)]
}

fn sets() -> [Features; 6] {
    [
        Features::words(1),
        Features::words(2),
        Features::words(5),
        Features::characters(2),
        Features::characters(3),
        Features::characters(5),
    ]
}

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let resamples = Resamples::new(&prepared.truth, SEED);
    let texts = prepared.texts();
    let row = |method: String, unit: &str, published: usize, distances: &Distances| Row {
        method,
        unit: unit.into(),
        summary: Summary::new(prepared, distances, &resamples, all, published),
    };
    let mut rows = Vec::new();
    for (method, width) in simhashes() {
        let distances =
            if width == 64 { simhash::<u64>(prepared, method) } else { simhash::<u128>(prepared, method) };
        rows.push(row(
            format!("simhash, {width} bits, {}", method.label()),
            "bits",
            published(width),
            &distances,
        ));
    }
    for features in sets() {
        let sets: Vec<ShingleSet> = texts
            .par_iter()
            .map_init(
                || simhasher(features.config()),
                |simhasher, text| ShingleSet::new(simhasher, text, &mut || ()),
            )
            .collect();
        let distances = Distances::measure(&prepared.truth, HUNDREDTHS, |a, b| {
            HUNDREDTHS - (f64::from(HUNDREDTHS) * sets[a].jaccard(&sets[b]).unwrap_or(0.0)) as u32
        });
        rows.push(row(format!("Jaccard, {}", features.label()), "hundredths", 50, &distances));
    }
    for features in [Features::words(1), Features::characters(2)] {
        let new = || (simhasher(features.config()), MinHasher::new(COMPONENTS));
        let signatures: Vec<Option<Vec<u32>>> = texts
            .par_iter()
            .map_init(new, |(simhasher, minhasher), text| {
                minhasher.text_signature(simhasher, text, &mut || ())
            })
            .collect();
        let distances = Distances::measure(&prepared.truth, COMPONENTS as u32, |a, b| {
            differing(&signatures[a], &signatures[b])
        });
        rows.push(row(
            format!("MinHash, {COMPONENTS} components, {}", features.label()),
            "components",
            COMPONENTS / 2,
            &distances,
        ));
    }
    for k in [1, 2, 5] {
        let keys = texts.par_iter().map_init(
            || simhasher(normalize_config()),
            |simhasher, text| ksentence(&simhasher.normalize(text, &mut || ()), k, &mut || ()),
        );
        let keys: Vec<Option<[u8; 16]>> = keys.collect();
        let distances =
            Distances::measure(&prepared.truth, 1, |a, b| u32::from(keys[a].is_none() || keys[a] != keys[b]));
        rows.push(row(format!("KSentence, K = {k}"), "equality", 0, &only_equality(distances)));
    }
    rows
}

/// Everything is within a distance of 1; nothing else is asked than whether keys are equal.
fn only_equality(mut distances: Distances) -> Distances {
    distances.others.push(0);
    distances
}

fn simhash<F: Fingerprint>(prepared: &Prepared, method: Method) -> Distances {
    let fingerprints = method.fingerprints::<F>(&prepared.texts(), None);
    Distances::measure(&prepared.truth, F::BITS, |a, b| apart(fingerprints[a], fingerprints[b]))
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

/// The speed of making what is compared.
pub fn speeds(prepared: &Prepared) -> Vec<Speed> {
    let texts = prepared.texts();
    let mut speeds = Vec::new();
    let mut time = |method: String, mut make: Box<dyn FnMut(&str) + '_>| {
        speeds.push(Speed { method, per_second: documents_per_second(&texts, &mut *make) });
    };
    for (method, width) in simhashes() {
        let mut simhasher = method.simhasher(None);
        let label = format!("simhash, {width} bits, {}", method.label());
        time(
            label,
            Box::new(move |text| {
                if width == 64 {
                    std::hint::black_box(simhasher.fingerprint::<u64>(text, &mut || ()));
                } else {
                    std::hint::black_box(simhasher.fingerprint::<u128>(text, &mut || ()));
                }
            }),
        );
    }
    for features in sets() {
        let mut simhasher = simhasher(features.config());
        time(
            format!("Jaccard, {}", features.label()),
            Box::new(move |text| {
                std::hint::black_box(ShingleSet::new(&mut simhasher, text, &mut || ()).len());
            }),
        );
    }
    for features in [Features::words(1), Features::characters(2)] {
        let (mut simhasher, mut minhasher) = (simhasher(features.config()), MinHasher::new(COMPONENTS));
        time(
            format!("MinHash, {COMPONENTS} components, {}", features.label()),
            Box::new(move |text| {
                std::hint::black_box(minhasher.text_signature(&mut simhasher, text, &mut || ()));
            }),
        );
    }
    for k in [1, 2, 5] {
        let mut simhasher = simhasher(normalize_config());
        time(
            format!("KSentence, K = {k}"),
            Box::new(move |text| {
                std::hint::black_box(ksentence(&simhasher.normalize(text, &mut || ()), k, &mut || ()));
            }),
        );
    }
    speeds
}

fn documents_per_second(texts: &[&str], make: &mut dyn FnMut(&str)) -> f64 {
    const PASSES: usize = 5;
    let mut seconds: Vec<f64> = (0..PASSES)
        .map(|_| {
            let start = Instant::now();
            texts.iter().for_each(|text| make(text));
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let rate = texts.len() as f64 / seconds[PASSES / 2].max(1e-9);
    rounded(rate, 1 - rate.log10() as i32)
}
