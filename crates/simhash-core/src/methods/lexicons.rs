//! Lexicon randomisation (Kolcz, Chowdhury and Alspector, KDD 2004) applied to shingle simhash: one
//! fingerprint by the model's whole lexicon and one by each of its random parts.

use std::collections::{HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::features::model::Model;
use crate::features::weight::log_weight;
use crate::sketches::simhash::from_hashes;
use crate::{Fingerprint, Simhasher};

/// The share of the lexicon's terms that each part lacks: three tenths, in units of 2^-64.
const DROPPED: u64 = (u64::MAX / 10) * 3;

/// Whether part `lexicon` has the term. Part 0 is the whole lexicon.
///
/// A part lacks the terms whose XXH3-64, with the part's number as seed, is below three tenths of
/// 2^64. So the parts are the same on every machine, and independent of each other.
pub(super) fn has(lexicon: u64, term: &str) -> bool {
    lexicon == 0 || xxh3_64_with_seed(term.as_bytes(), lexicon) >= DROPPED
}

/// The fingerprints of a text by the whole lexicon and by its first `parts` parts. Tokens that the
/// lexicon or the part lacks are dropped first. Shingles of `shingle` of the remaining tokens weigh
/// 1 + ln(tf). `None` where no token is left.
///
/// `simhasher` must cut texts as the model's configuration does.
pub fn fingerprints<F: Fingerprint>(
    model: &Model,
    simhasher: &mut Simhasher,
    text: &str,
    parts: usize,
    shingle: usize,
    interrupt: &mut dyn FnMut(),
) -> Vec<Option<F>> {
    let mut tokens: Vec<String> = Vec::new();
    simhasher.for_each_feature(text, interrupt, |token| {
        if model.term(feature_hash(token.as_bytes())).is_some() {
            tokens.push(token.to_owned());
        }
    });
    (0..=parts as u64)
        .map(|lexicon| {
            interrupt();
            let tokens = tokens.iter().map(String::as_str).filter(|token| has(lexicon, token));
            by_shingles(tokens, shingle, interrupt)
        })
        .collect()
}

fn by_shingles<'a, F: Fingerprint>(
    tokens: impl Iterator<Item = &'a str>,
    shingle: usize,
    interrupt: &mut dyn FnMut(),
) -> Option<F> {
    // Keyed by hash: long shingles themselves would take many times the memory of the text.
    let mut counts: HashMap<F, u32> = HashMap::new();
    let mut window: VecDeque<&str> = VecDeque::new();
    let mut joined = String::new();
    let interrupt = Interrupt::new(interrupt);
    let mut count = |window: &VecDeque<&str>| {
        joined.clear();
        for (place, token) in window.iter().enumerate() {
            if place > 0 {
                joined.push(' ');
            }
            joined.push_str(token);
        }
        *counts.entry(feature_hash(joined.as_bytes())).or_default() += 1;
        interrupt.spend(joined.len());
    };
    let mut shingles = 0;
    for token in tokens {
        if window.len() == shingle {
            window.pop_front();
        }
        window.push_back(token);
        if window.len() == shingle {
            count(&window);
            shingles += 1;
        }
    }
    // A text of fewer tokens is one shingle of all of them.
    if shingles == 0 && !window.is_empty() {
        count(&window);
    }
    from_hashes(counts.into_iter().map(|(hash, tf)| (hash, log_weight(tf))))
}
