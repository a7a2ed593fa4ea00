//! Counts the rows of an index that share keys with texts of the column's statistics.
//!
//! ANALYZE keeps the most common values and histogram bounds of a column: up to 200 texts, unless
//! they are long. Some of them are looked up in the index. The planner's `README.md` (Estimates of
//! texts) says which rows then count as near.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::config::Tokenizer;
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::sketch::{Layout, Sketcher};
use simhash_core::texts::han::is_han;
use simhash_core::words::dictionary::is_loaded as dictionary_is_loaded;
use simhash_index::TreeKey;
use simhash_index::key::Bytes;
use simhash_index::postings::{Candidates, posting_key};

use crate::call::interrupts;
use crate::catalog::Schema;
use crate::models::simhasher_for;
use crate::planner::variable::Statistics;
use crate::storage::{self, Index, IndexRel, with_key_type};
use crate::types::ConfigText;
use crate::types::text::with_text;

/// The limits of a sample: the texts that are looked up, and the steps in the runs of all their
/// keys.
const TEXTS: usize = 20;
const STEPS: usize = 100;
/// A text that more rows have is not looked up: it has more copies than other near rows.
const COPIES: f64 = 500.0;
/// The most indexes for which a backend remembers a sample.
const REMEMBERED: usize = 8192;
/// With fewer texts there is no sample.
const LEAST_TEXTS: usize = 8;
/// The weight of the estimate without a sample, in texts.
const PRIOR: f64 = 4.0;

/// What a sample of texts found in an index.
pub struct Found {
    rows_of_band: u32,
    /// For each number of keys from 1 on: the mean number of other rows that share at least that
    /// many keys with a text, and the share of texts with such rows.
    others: Vec<Others>,
    texts: f64,
}

/// The other rows that are near a row, on average.
#[derive(Clone, Copy, Debug, Default)]
pub struct Others {
    pub mean: f64,
    /// The share of rows that have such rows.
    pub any: f64,
}

impl Found {
    /// The other rows that are near a row. `expected`, the estimate without a sample, counts as
    /// much as [`PRIOR`] texts, since few texts do not show what is rare.
    pub fn others(&self, similarity: f64, expected: Others) -> Others {
        let bands = self.others.len();
        let shared = bands as f64 * similarity.powi(self.rows_of_band as i32);
        let place = (shared.round() as usize).clamp(1, bands) - 1;
        let Others { mean, any } = self.others[place];
        let blend = |seen: f64, expected: f64| {
            (self.texts * seen + PRIOR * expected) / (self.texts + PRIOR)
        };
        Others { mean: blend(mean, expected.mean), any: blend(any, expected.any) }
    }
}

/// By the file of an index: its pages when the sample was taken, and the sample.
type Known = HashMap<(pg_sys::Oid, u32), (u32, Option<Rc<Found>>)>;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// The sample of an index. It is taken once, and again when the file has doubled. `None` if the
/// statistics have few texts, or if the index has a scope or its config names a model or a list of
/// words. Also `None` until the dictionary is loaded that its config needs. The index is of texts,
/// and the statistics are of its column.
pub fn found(
    rel: IndexRel,
    statistics: Option<Statistics<'_>>,
    schema: Schema,
) -> Option<Rc<Found>> {
    let (file, pages) = (rel.file(), rel.pages());
    let known = KNOWN.with_borrow(|known| known.get(&file).cloned());
    if let Some((_, found)) = known.filter(|(then, _)| pages / 2 <= *then) {
        return found;
    }
    let (found, is_final) = look(rel, statistics, schema);
    let found = found.map(Rc::new);
    if !is_final {
        return found;
    }
    KNOWN.with_borrow_mut(|known| {
        known.retain(|(oid, _), _| *oid != file.0);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(file, (pages, found.clone()));
    });
    found
}

/// The sample, and whether a later one would be the same.
fn look(
    rel: IndexRel,
    statistics: Option<Statistics<'_>>,
    schema: Schema,
) -> (Option<Found>, bool) {
    let (meta, note) = (storage::meta(rel), storage::note(rel));
    let config = ConfigText::config_of(note.lines().next().unwrap_or("{}"));
    // Reading a list of words runs a query, and the list may be gone. The dictionary is not loaded
    // for a sample, since a query about other texts may need none.
    let is_unloaded = !dictionary_is_loaded();
    let cuts_all = config.tokenizer == Tokenizer::Jieba;
    if meta.scope > 0 || config.names_something() || cuts_all && is_unloaded {
        return (None, !(cuts_all && is_unloaded));
    }
    // SAFETY: the relation is open.
    let rows = f64::from(unsafe { (*(*rel.as_ptr()).rd_rel).reltuples }).max(0.0);
    let layout = Layout { bands: meta.bands as usize, rows: meta.rows as usize };
    let mut sketcher = Sketcher::new(simhasher_for(near_recipe(&config), schema));
    let mut sample = Sample::new(layout.bands);
    let mut left_out = false;
    with_key_type!(meta.family(), K => {
        let index = storage::open::<K>(rel);
        let mut keys = Vec::new();
        each_text(statistics, |text, weight, is_common| {
            if is_unloaded && text.chars().any(is_han) {
                left_out = true;
                return true;
            }
            if is_common && weight * rows > COPIES {
                return sample.add_copies(weight, weight * rows);
            }
            if sketcher.keys(text, layout, &mut interrupts(), &mut keys) {
                sample.add(&index, &keys, weight)
            } else {
                sample.add_none(weight)
            }
        });
    });
    let found = sample.finish(meta.rows);
    // Without statistics, a later ANALYZE may bring some.
    let is_final = found.is_some() || !left_out && statistics.is_some();
    (found, is_final)
}

/// The counts so far.
struct Sample {
    others: Vec<Others>,
    texts: usize,
    weights: f64,
    steps: usize,
}

impl Sample {
    fn new(bands: usize) -> Self {
        Sample { others: vec![Others::default(); bands], texts: 0, weights: 0.0, steps: 0 }
    }

    /// Counts a text with which no further row shares keys, such as one without a token.
    fn add_none(&mut self, weight: f64) -> bool {
        self.texts += 1;
        self.weights += weight;
        true
    }

    /// Counts a text that `rows` rows have.
    fn add_copies(&mut self, weight: f64, rows: f64) -> bool {
        for others in &mut self.others {
            others.mean += weight * (rows - 1.0);
            others.any += weight;
        }
        self.add_none(weight)
    }

    /// Looks a text up and counts it. False when the steps are used up.
    fn add<K: TreeKey>(&mut self, index: &Index<K>, keys: &[u64], weight: f64) -> bool {
        let keys: Vec<K::Fingerprint> = keys.iter().map(|&key| posting_key(key)).collect();
        let mut counts = vec![0u32; keys.len() + 1];
        let mut candidates = Candidates::new(index, K::Scope::ZERO, &keys, 1);
        // A text counts even if the steps end during its look-up. Otherwise the sample would leave
        // out the texts that share keys with most rows.
        while self.steps < STEPS && candidates.next_counts(index, |shared| counts[shared] += 1) {
            self.steps += 1;
        }
        // One of the rows that share all keys is the text's own.
        let last = keys.len();
        counts[last] = counts[last].saturating_sub(1);
        let mut rows = 0;
        for (others, &count) in self.others.iter_mut().zip(&counts[1..]).rev() {
            rows += count;
            others.mean += weight * f64::from(rows);
            others.any += if rows > 0 { weight } else { 0.0 };
        }
        self.add_none(weight) && self.steps < STEPS
    }

    fn finish(mut self, rows_of_band: u32) -> Option<Found> {
        if self.texts < LEAST_TEXTS || self.weights <= 0.0 {
            return None;
        }
        for others in &mut self.others {
            others.mean /= self.weights;
            others.any /= self.weights;
        }
        Some(Found { rows_of_band, others: self.others, texts: self.texts as f64 })
    }
}

/// Passes some texts of a column's statistics to `each`, until it returns false: the most common
/// ones, then evenly spaced histogram bounds. With each text come its weight, and whether that is
/// the share of rows that have the text.
fn each_text(statistics: Option<Statistics<'_>>, mut each: impl FnMut(&str, f64, bool) -> bool) {
    let Some(statistics) = statistics else { return };
    let mut rest = 1.0 - statistics.nulls();
    let mut more = true;
    for (kind, most, has_numbers) in [
        (pg_sys::STATISTIC_KIND_MCV, TEXTS / 3, true),
        (pg_sys::STATISTIC_KIND_HISTOGRAM, TEXTS - TEXTS / 3, false),
    ] {
        let Some(slot) = statistics.slot(kind, has_numbers) else { continue };
        let values = if is_text(slot.type_oid()) { slot.values() } else { &[] };
        let taken = values.len().min(most);
        for i in 0..taken {
            let common = slot.numbers().get(i).map(|&share| f64::from(share));
            let place = if common.is_some() { i } else { i * values.len() / taken };
            let weight = common.unwrap_or(rest / taken as f64);
            let is_common = common.is_some();
            // SAFETY: the value is laid out as text is, until the slot is dropped.
            more =
                more && unsafe { with_text(values[place], |text| each(text, weight, is_common)) };
            rest -= common.unwrap_or(0.0);
        }
        rest = rest.max(0.0);
    }
}

/// Whether values of a type are laid out as text is.
fn is_text(type_oid: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction, by a valid OID.
    let base = unsafe {
        if type_oid == pg_sys::InvalidOid { type_oid } else { pg_sys::getBaseType(type_oid) }
    };
    matches!(base, pg_sys::TEXTOID | pg_sys::VARCHAROID)
}
