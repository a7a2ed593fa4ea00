//! How many rows of an index share keys with texts of the column's statistics.
//!
//! ANALYZE keeps the most common values and histogram bounds of a column: up to 200 texts, unless
//! they are long. Some of them are looked up in the index. A row that shares as many keys as the
//! similarity asks for on average is as near on average, so that the count is right in the mean.
//! That holds whatever the texts are, and whatever a configuration makes of them.

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
use crate::storage::{self, Index, IndexRel, with_key_type};
use crate::types::ConfigText;
use crate::types::text::with_text;

/// The most texts that are looked up, and how often in all their keys' runs are read on.
const TEXTS: usize = 20;
const STEPS: usize = 100;
/// A text that more rows have is not looked up: its copies outnumber whatever else is near it.
const COPIES: f64 = 500.0;
/// The most indexes that a backend remembers the answers of.
const REMEMBERED: usize = 8192;
/// Fewer texts say nothing.
const LEAST_TEXTS: usize = 8;
/// For how many texts counts what is expected without any.
const PRIOR: f64 = 4.0;

/// What a sample of texts found in an index.
pub struct Found {
    rows_of_band: u32,
    /// For each number of keys from 1 on, how many other rows share as many or more with a text, on
    /// average, and the share of texts with which some do.
    others: Vec<Others>,
    texts: f64,
}

/// The other rows that are near a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Others {
    pub mean: f64,
    /// The share of rows that have some.
    pub any: f64,
}

impl Found {
    /// The other rows that are near a row. What is expected without a sample counts as much as
    /// [`PRIOR`] texts: few texts do not show what is rare.
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

/// An index's file, and its pages when it was looked at.
type Known = HashMap<(pg_sys::Oid, u32), (u32, Option<Rc<Found>>)>;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// What is found in an index. It is looked for once, and again when the file has doubled. `None`
/// if the column's statistics have no texts, or if keys are those of a scope.
///
/// # Safety
/// The index is open, and of texts. `statistics` is the column's row of pg_statistic, or null.
pub unsafe fn found(
    rel: IndexRel,
    statistics: pg_sys::HeapTuple,
    schema: Schema,
) -> Option<Rc<Found>> {
    let (file, pages) = (rel.file(), rel.pages());
    let known = KNOWN.with_borrow(|known| known.get(&file).cloned());
    if let Some((_, found)) = known.filter(|(then, _)| pages / 2 <= *then) {
        return found;
    }
    // SAFETY: as this function's.
    let (found, is_final) = unsafe { look(rel, statistics, schema) };
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

/// What is found, and whether it will be the same next time.
unsafe fn look(
    rel: IndexRel,
    statistics: pg_sys::HeapTuple,
    schema: Schema,
) -> (Option<Found>, bool) {
    let (meta, note) = (storage::meta(rel), storage::note(rel));
    let config = ConfigText::config_of(note.lines().next().unwrap_or("{}"));
    // Lists of words are read by a query, and may be gone. A dictionary is not loaded for this: a
    // query about other texts may do without.
    let is_unloaded = !dictionary_is_loaded();
    let cuts_all = config.tokenizer == Tokenizer::Jieba;
    if meta.scope > 0 || config.names_something() || cuts_all && is_unloaded {
        return (None, !(cuts_all && is_unloaded));
    }
    // SAFETY: an open relation.
    let rows = f64::from(unsafe { (*(*rel.as_ptr()).rd_rel).reltuples }).max(0.0);
    let layout = Layout { bands: meta.bands as usize, rows: meta.rows as usize };
    let mut sketcher = Sketcher::new(simhasher_for(near_recipe(&config), schema));
    let mut sample = Sample::new(layout.bands);
    let mut left_out = false;
    // SAFETY: as `found`; the texts are read while the statistics hold them.
    unsafe {
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
    }
    let found = sample.finish(meta.rows);
    // A table that is analysed later has statistics then.
    let is_final = found.is_some() || !left_out && !statistics.is_null();
    (found, is_final)
}

/// What was counted so far.
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

    /// A text without a token, which is near to none.
    fn add_none(&mut self, weight: f64) -> bool {
        self.texts += 1;
        self.weights += weight;
        true
    }

    /// A text that so many rows have.
    fn add_copies(&mut self, weight: f64, rows: f64) -> bool {
        for others in &mut self.others {
            others.mean += weight * (rows - 1.0);
            others.any += weight;
        }
        self.add_none(weight)
    }

    /// Looks a text up. False if that is enough.
    fn add<K: TreeKey>(&mut self, index: &Index<K>, keys: &[u64], weight: f64) -> bool {
        let keys: Vec<K::Fingerprint> = keys.iter().map(|&key| posting_key(key)).collect();
        let mut counts = vec![0u32; keys.len() + 1];
        let mut candidates = Candidates::new(index, K::Scope::ZERO, &keys, 1);
        // What was found until it is enough counts: without it the sample would have none of the
        // texts that have most.
        while self.steps < STEPS && candidates.next_counts(index, |shared| counts[shared] += 1) {
            self.steps += 1;
        }
        // One that shares all is the row of the text itself.
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

/// Hands out some texts of a column's statistics, each with its weight and whether that is the
/// share of rows that have it, until `each` is content: those that are most common, then histogram
/// bounds, evenly spaced.
unsafe fn each_text(statistics: pg_sys::HeapTuple, mut each: impl FnMut(&str, f64, bool) -> bool) {
    // SAFETY: the statistics are held; a slot's arrays are valid until it is freed.
    unsafe {
        if statistics.is_null() {
            return;
        }
        let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>(statistics);
        let mut rest = 1.0 - f64::from((*form).stanullfrac);
        let mut more = true;
        // A histogram has no numbers, and to ask for some is an ERROR.
        for (kind, most, numbers) in [
            (pg_sys::STATISTIC_KIND_MCV, TEXTS / 3, pg_sys::ATTSTATSSLOT_NUMBERS),
            (pg_sys::STATISTIC_KIND_HISTOGRAM, TEXTS - TEXTS / 3, 0),
        ] {
            let mut slot: pg_sys::AttStatsSlot = std::mem::zeroed();
            let flags = pg_sys::ATTSTATSSLOT_VALUES | numbers;
            let (kind, any) = (kind as i32, pg_sys::InvalidOid);
            if !pg_sys::get_attstatsslot(&mut slot, statistics, kind, any, flags as i32) {
                continue;
            }
            let count = if is_text(slot.valuetype) { slot.nvalues.max(0) as usize } else { 0 };
            let taken = count.min(most);
            for i in 0..taken {
                let common = (i < slot.nnumbers as usize).then(|| f64::from(*slot.numbers.add(i)));
                let place = if common.is_some() { i } else { i * count / taken };
                let weight = common.unwrap_or(rest / taken as f64);
                let is_common = common.is_some();
                more = more
                    && with_text(*slot.values.add(place), |text| each(text, weight, is_common));
                rest -= common.unwrap_or(0.0);
            }
            rest = rest.max(0.0);
            pg_sys::free_attstatsslot(&mut slot);
        }
    }
}

/// Whether values of a type are laid out as text is.
unsafe fn is_text(type_oid: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up; no type has no base type.
    let base = unsafe {
        if type_oid == pg_sys::InvalidOid { type_oid } else { pg_sys::getBaseType(type_oid) }
    };
    matches!(base, pg_sys::TEXTOID | pg_sys::VARCHAROID)
}
