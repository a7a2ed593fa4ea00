//! What is compared of rows' texts. A text is cut into shingles once while its row is asked about:
//! the sets are kept within some memory, equal ones once, and all are forgotten when it is full.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::Simhasher;
use simhash_core::compare::similarity::{Similarity, TextSet};

use crate::call::interrupts;
use crate::types::text::with_text;

/// What an entry of a map takes beside its set, about.
const ENTRY: usize = 64;

/// The sets of rows, which are known by numbers.
pub struct RowSets {
    similarity: Similarity,
    simhasher: Simhasher,
    /// The digest of each row's set, and the sets by digest.
    rows: HashMap<u64, u128>,
    sets: HashMap<u128, Rc<TextSet>>,
    memory: usize,
    most_memory: usize,
}

impl RowSets {
    /// The simhasher is of [`Similarity::config`].
    pub fn new(similarity: Similarity, simhasher: Simhasher, most_memory: usize) -> Self {
        let (rows, sets) = Default::default();
        Self { similarity, simhasher, rows, sets, memory: 0, most_memory }
    }

    pub fn is_full(&self) -> bool {
        self.memory > self.most_memory
    }

    pub fn knows(&self, row: u64) -> bool {
        self.rows.contains_key(&row)
    }

    /// The similarity of two sets, if it is great enough.
    pub fn verified(&self, a: &Rc<TextSet>, b: &Rc<TextSet>) -> Option<f64> {
        if Rc::ptr_eq(a, b) {
            (!a.is_empty()).then_some(1.0)
        } else {
            self.similarity.verified(a, b)
        }
    }

    /// A number that rows with equal sets share. `None` for a row without shingles, which is
    /// similar to nothing.
    ///
    /// # Safety
    /// As [`RowSets::set`].
    pub unsafe fn class(
        &mut self,
        row: u64,
        text: impl FnOnce() -> Option<pg_sys::Datum>,
    ) -> Option<u128> {
        // SAFETY: as this function's.
        let (digest, set) = unsafe { self.set(row, text) };
        (!set.is_empty()).then_some(digest)
    }

    /// The set of a row, and its digest. `text` reads the row's text, if the set is not known.
    ///
    /// # Safety
    /// The text has the representation of text, and lives until this returns.
    pub unsafe fn set(
        &mut self,
        row: u64,
        text: impl FnOnce() -> Option<pg_sys::Datum>,
    ) -> (u128, Rc<TextSet>) {
        let known = self.rows.get(&row).and_then(|digest| self.sets.get_key_value(digest));
        if let Some((&digest, set)) = known {
            return (digest, set.clone());
        }
        if self.is_full() {
            (self.rows, self.sets, self.memory) = Default::default();
        }
        let set = text().map_or_else(TextSet::default, |text| {
            // SAFETY: as this function's.
            unsafe {
                with_text(text, |text| {
                    self.similarity.set(&mut self.simhasher, text, &mut interrupts())
                })
            }
        });
        let digest = set.digest();
        self.rows.insert(row, digest);
        self.memory += ENTRY;
        let memory = &mut self.memory;
        let set = self.sets.entry(digest).or_insert_with(|| {
            *memory += ENTRY + set.memory();
            Rc::new(set)
        });
        (digest, set.clone())
    }
}
