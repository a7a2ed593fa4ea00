//! Compares texts: of rows with near fingerprints, by their exact similarity, and of rows that an
//! index of texts has proposed.

use std::cell::OnceCell;
use std::rc::Rc;

use pgrx::PgSqlErrorCode;
use simhash_core::Simhasher;
use simhash_core::compare::similarity::{Measure, Similarity, TextSet};
use simhash_core::config::{Config, MAX_SHINGLE, Shingles};
use simhash_core::passages::Prepared;
use simhash_core::sets::outline::Outline;
use simhash_core::sets::sketch::{Law, Layout, MOST_BANDS, Sketch, near};

use super::column::{Column, Generated, Named, utf8};
use super::given::Given;
use super::value::Value;
use crate::bulk::verify::Verification;
use crate::call::interrupts;
use crate::catalog::Schema;
use crate::claims::board::TextKeys;
use crate::models::sketches::Sketches;

/// The comparison that the arguments similarity, measure and shingle ask for, and the texts'
/// column. `None` without a similarity. `config` is the trigger's. `check` raises an ERROR if the
/// column has no value when the trigger fires.
pub fn verification(
    given: &Given<'_>,
    config: &Config,
    schema: Schema,
    check: impl FnOnce(&Column),
) -> Option<(Verification, Named)> {
    expect_similarity(given, &["measure", "shingle"]);
    let least = given.get("similarity")?;
    let similarity = least.parse().ok().and_then(|least| Similarity::new(measure(given), least));
    let similarity = similarity.unwrap_or_else(|| {
        given.raise_as(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "similarity",
            "is not a valid similarity",
            "Allowed: greater than 0, at most 1.",
        )
    });
    let text = given.text().unwrap_or_else(|| {
        let hint = "Give the column of the texts that are compared: 'body=column'.";
        given.raise("similarity", "requires the argument \"body\"", hint)
    });
    check(&text.column);
    let sizes = sizes(given, config).unwrap_or_else(|| similarity.shingles(config));
    let shingles = similarity.config(config, sizes);
    let body = utf8(&text.name);
    Some((Verification { body, similarity, shingles, schema }, text))
}

fn measure(given: &Given<'_>) -> Measure {
    Measure::from_name(given.choice("measure")).unwrap_or_default()
}

fn sizes(given: &Given<'_>, config: &Config) -> Option<Shingles> {
    let size = given.get("shingle")?;
    if config.spots.is_some() {
        let hint = "Features are either spots or shingles: omit one of them.";
        given.raise("shingle", "cannot be used with \"spots\" in the config", hint)
    }
    let sizes = size.parse().ok().and_then(|size: usize| Shingles::new([size]));
    Some(sizes.unwrap_or_else(|| {
        given.raise_as(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "shingle",
            "is not a valid number of tokens",
            &format!("Allowed: 1 to {MAX_SHINGLE}."),
        )
    }))
}

/// Raises 22023 if one of the keys is given without the similarity that it is about.
pub fn expect_similarity(given: &Given<'_>, keys: &[&str]) {
    let useless = keys.iter().find(|key| given.get(key).is_some());
    if let Some(key) = useless.filter(|_| given.get("similarity").is_none()) {
        let hint = "Give the least similarity as well: 'similarity=0.8'.";
        given.raise(key, "requires the argument \"similarity\"", hint)
    }
}

/// Raises 22023 for a column that has no value before the row is stored.
pub fn check_known_before(given: &Given<'_>, text: &Column) {
    given.refuse_if(
        text.generated != Generated::No,
        "body",
        "names a generated column, which is computed after the trigger",
        "Texts are compared by similarity: name the column that the text comes from.",
    );
}

/// The new row's text, to be compared with the texts of other rows.
pub enum Texts<'a> {
    /// With rows that have near fingerprints.
    Sets {
        similarity: Similarity,
        simhasher: &'a mut Simhasher,
        own: Value<'a>,
        /// Made at the first comparison: most rows have no near fingerprint.
        own_shingles: OnceCell<TextSet>,
    },
    /// With rows that have a passage in common.
    Passages { simhasher: &'a mut Simhasher, own: Box<Prepared> },
    /// As near_duplicate compares them.
    Sketches { similarity: f64, sketches: &'a mut Sketches, own: Rc<Sketch>, text: Vec<u8> },
}

impl<'a> Texts<'a> {
    pub fn by_sets(similarity: Similarity, simhasher: &'a mut Simhasher, own: Value<'a>) -> Self {
        Texts::Sets { similarity, simhasher, own, own_shingles: OnceCell::new() }
    }

    pub fn by_passages(words: usize, simhasher: &'a mut Simhasher, text: Value<'_>) -> Self {
        let own = |text: &str| Prepared::new(simhasher, text, words, &mut interrupts());
        let own = Box::new(text.with_text(own));
        Texts::Passages { simhasher, own }
    }

    /// `None` for a text without a token, to which no text is near.
    pub fn by_sketches(
        similarity: f64,
        sketches: &'a mut Sketches,
        own: Value<'_>,
    ) -> Option<Self> {
        let (text, own) = (own.bytes(), own.with_text(|text| sketches.of(text))?);
        Some(Texts::Sketches { similarity, sketches, own, text })
    }

    /// The keys of which near texts share one, with a hash of the config. `None` unless texts are
    /// compared by sketches.
    pub fn keys(&self, config: u64) -> Option<TextKeys> {
        let Texts::Sketches { similarity, own, .. } = self else { return None };
        let (law, layout) = (Law::of(*similarity)?, Layout::of(*similarity)?);
        let mut keys = [0; MOST_BANDS];
        for (place, key) in keys.iter_mut().zip(own.keys(layout)) {
            // The high half of a key says which band the key is of.
            *place = (key ^ key >> 32) as u32;
        }
        let (similarity, outline) = (*similarity, Outline::of(own.set()));
        Some(TextKeys { keys, law, similarity, outline, config })
    }

    /// Whether the sketches of other rows' texts are kept for the next comparison.
    pub fn are_kept(&self) -> bool {
        matches!(self, Texts::Sketches { .. })
    }

    /// The similarity of another row's text, if it is great enough. For passages, it is the share
    /// of the own text that the other one has.
    pub fn verified(&mut self, other: Value<'_>) -> Option<f64> {
        match self {
            Texts::Sets { similarity, simhasher, own, own_shingles } => {
                let mut shingles = |text: Value<'_>| {
                    text.with_text(|text| similarity.set(simhasher, text, &mut interrupts()))
                };
                let other = shingles(other);
                let own = own_shingles.get_or_init(|| shingles(*own));
                similarity.verified(own, &other)
            }
            Texts::Passages { simhasher, own } => other.with_text(|other| {
                let shares = own.shares(simhasher, other, &mut interrupts());
                shares.then(|| own.share(simhasher, other, &mut interrupts()))
            }),
            Texts::Sketches { similarity, sketches, own, text } => {
                if other.with_bytes(|bytes| bytes == text.as_slice()) {
                    return Some(1.0);
                }
                let other = other.with_text(|text| sketches.of(text))?;
                near(own, &other, *similarity).then(|| own.set().jaccard(other.set()))?
            }
        }
    }
}
