//! I-Match (Chowdhury, Frieder, Grossman and McCabe, TOIS 2002): one hash of a text's terms that
//! are neither too common nor too rare.
//!
//! The randomised form (Kolcz, Chowdhury and Alspector, KDD 2004) has one such hash by the whole
//! lexicon and one by each of its random parts.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::lexicons;
use crate::Simhasher;
use crate::base::hash::feature_hash;
use crate::features::model::Model;

/// The XXH3-128 of the text's distinct terms whose IDF in the model lies in `low..=high`, sorted by
/// their bytes and joined by line feeds. `None` when there is no such term. `simhasher` must cut
/// texts as the model's configuration does.
///
/// Terms that the model does not know are ignored.
pub fn imatch(
    model: &Model,
    simhasher: &mut Simhasher,
    text: &str,
    low: f64,
    high: f64,
    interrupt: &mut dyn FnMut(),
) -> Option<u128> {
    let joined = terms(model, simhasher, text, low, high, interrupt).join("\n");
    (!joined.is_empty()).then(|| feature_hash(joined.as_bytes()))
}

/// A key by the whole lexicon, and one by each of its first `parts` parts ([`lexicons`]). A key is
/// the XXH3-64, seeded with the part's number, of what [`imatch()`] hashes, without the terms that
/// the part lacks. Keys of different parts differ, so any equal key means that two texts agree in a
/// part. A part that has none of the text's terms gives no key. `None` when no part gives one.
pub fn keys(
    model: &Model,
    simhasher: &mut Simhasher,
    text: &str,
    parts: usize,
    low: f64,
    high: f64,
    interrupt: &mut dyn FnMut(),
) -> Option<Vec<u64>> {
    let terms = terms(model, simhasher, text, low, high, interrupt);
    let mut keys = Vec::with_capacity(parts + 1);
    let mut joined = String::new();
    for lexicon in 0..=parts as u64 {
        joined.clear();
        for terms in terms.chunks(256) {
            interrupt();
            for term in terms.iter().filter(|term| lexicons::has(lexicon, term)) {
                if !joined.is_empty() {
                    joined.push('\n');
                }
                joined.push_str(term);
            }
        }
        if !joined.is_empty() {
            keys.push(xxh3_64_with_seed(joined.as_bytes(), lexicon));
        }
    }
    (!keys.is_empty()).then_some(keys)
}

/// The text's distinct terms whose IDF in the model lies in `low..=high`, sorted by their bytes.
fn terms(
    model: &Model,
    simhasher: &mut Simhasher,
    text: &str,
    low: f64,
    high: f64,
    interrupt: &mut dyn FnMut(),
) -> Vec<String> {
    // Not a BTreeSet: a failed allocation while its root grows would abort the process.
    let mut terms = HashSet::new();
    simhasher.for_each_feature(text, interrupt, |feature| {
        let known = model.term(feature_hash(feature.as_bytes()));
        if known.is_some_and(|(_, term)| low <= term.idf && term.idf <= high)
            && !terms.contains(feature)
        {
            terms.insert(feature.to_owned());
        }
    });
    let mut terms: Vec<String> = terms.into_iter().collect();
    terms.sort_unstable();
    terms
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Config;
    use crate::models::train::Trainer;

    const TEXTS: [&str; 4] =
        ["the cat sat on the mat", "the dog ran to the cow", "the cow ran by a mill", "the end"];

    fn model(config: &Config) -> Arc<Model> {
        let mut trainer = Trainer::new(config).unwrap();
        TEXTS.iter().for_each(|text| trainer.add(text, &mut || ()).unwrap());
        Arc::new(trainer.finish(None, &mut || ()))
    }

    /// The keys by terms of IDF 0.2 to 8, which leaves out "the". Unknown words are ignored.
    fn of(text: &str, parts: usize) -> Option<Vec<u64>> {
        let config = Config::default();
        let mut simhasher = Simhasher::new(config.clone()).unwrap();
        keys(&model(&config), &mut simhasher, text, parts, 0.2, 8.0, &mut || ())
    }

    /// `tests/golden.py` computes the same keys independently.
    #[test]
    fn keys_are_those_of_another_implementation() {
        let found = of("The cat sat; the cow ran to a mill.", 10).unwrap();
        let digits: String = found.iter().map(|key| format!("{key:016x}")).collect();
        assert_eq!(format!("{:016x}", feature_hash::<u64>(digits.as_bytes())), "f787dfe8149373f9");
    }

    #[test]
    fn keys_are_of_sets_and_one_a_part() {
        let sat = of("the cat sat on the mat", 10).unwrap();
        assert_eq!(of("Mat, on. SAT cat cat! zebra", 10).unwrap(), sat);
        assert_eq!(of("the cat sat on the mat", 3).unwrap(), sat[..4]);
        assert!(of("the zebra", 10).is_none() && of("", 10).is_none());
        // The keys by the whole lexicon are equal when the hashes of I-Match are.
        let other = of("the cat sat on the mill", 10).unwrap();
        assert_ne!(other[0], sat[0]);
        // Keys are equal in exactly those parts that lack both "mat" and "mill" and have another
        // term.
        let has = |part: &u64, words: &[&str]| words.iter().any(|word| lexicons::has(*part, word));
        let equal = |part: &u64| !has(part, &["mat", "mill"]) && has(part, &["cat", "on", "sat"]);
        let equal = (1..=100).filter(equal).count();
        let [a, b] = ["the cat sat on the mat", "the cat sat on the mill"]
            .map(|text| of(text, 100).unwrap().into_iter().collect::<HashSet<_>>());
        assert_eq!(a.intersection(&b).count(), equal);
        assert!((2..20).contains(&equal), "{equal}, where 9 are expected");
        // A text of one term has no key by the parts that lack it.
        let one = of("mat", 100).unwrap().len();
        assert_eq!(one, 1 + (1..=100).filter(|&part| lexicons::has(part, "mat")).count());
    }
}
