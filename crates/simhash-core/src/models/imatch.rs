//! I-Match (Chowdhury, Frieder, Grossman and McCabe, TOIS 2002): the terms that are neither too
//! common nor too rare, hashed as one.

use std::collections::HashSet;

use super::Model;
use crate::Simhasher;
use crate::hash::feature_hash;

/// The XXH3-128 of the text's distinct terms whose IDF in the model lies in `low..=high`, sorted by
/// their bytes and joined by line feeds. `None` when there is no such term. `simhasher` must cut
/// texts as the model's configuration does.
///
/// A term that the model has not seen is not in its lexicon, and does not count.
pub fn imatch(
    model: &Model,
    simhasher: &mut Simhasher,
    text: &str,
    low: f64,
    high: f64,
    interrupt: &mut dyn FnMut(),
) -> Option<u128> {
    // Not a BTreeSet: it ends the process when memory is refused while its root grows.
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
    let joined = terms.join("\n");
    (!joined.is_empty()).then(|| feature_hash(joined.as_bytes()))
}
