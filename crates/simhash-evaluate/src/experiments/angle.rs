//! The distance that a similarity leads to: width * angle / pi by the cosine of the weighted
//! features, compared with the measured distance.

use rayon::prelude::*;
use serde::Serialize;

use super::Prepared;
use crate::corpus::SEED;
use crate::method::{Method, apart};
use crate::random::Random;
use crate::results::rounded;
use crate::truth::cosine;

/// A pair of one group.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Jaccard similarity of shingles.
    pub similarity: f64,
    pub cosine: f64,
    pub distance64: u32,
    pub distance128: u32,
}

const PAIRS: usize = 1500;
/// Pairs that are less similar are no near-duplicates.
const LEAST: f64 = 0.3;

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let method = Method::default_of_simhash();
    let mut pairs: Vec<_> =
        prepared.truth.pairs.iter().filter(|pair| pair.similarity >= LEAST).collect();
    Random::new(SEED, "angle").shuffle(&mut pairs);
    pairs.truncate(PAIRS);
    pairs
        .par_iter()
        .map_init(
            || method.simhasher(None),
            |simhasher, pair| {
                let [a, b] = [pair.a, pair.b].map(|number| prepared.tested[number].text.as_str());
                Row {
                    similarity: rounded(pair.similarity, 4),
                    cosine: rounded(cosine(simhasher, a, b), 4),
                    distance64: apart(
                        simhasher.fingerprint::<u64>(a, &mut || ()),
                        simhasher.fingerprint(b, &mut || ()),
                    ),
                    distance128: apart(
                        simhasher.fingerprint::<u128>(a, &mut || ()),
                        simhasher.fingerprint(b, &mut || ()),
                    ),
                }
            },
        )
        .collect()
}
