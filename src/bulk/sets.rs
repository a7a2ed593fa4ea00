//! The shingle sets of rows' texts: a cache, so that a text is cut once while its row is in use.
//! Equal sets are stored once. When its memory is full, the cache is emptied.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::Simhasher;
use simhash_core::compare::similarity::{Similarity, TextSet};

use crate::call::interrupts;
use crate::types::text::with_text;

/// About how many bytes an entry of a map takes, beside its set.
const ENTRY: usize = 64;

/// Sets of rows, by the rows' numbers.
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
    /// `simhasher` cuts texts by the [`Similarity::config`] of this similarity.
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

    /// The similarity of two sets, if it is at least the limit.
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
        // SAFETY: `text` reads a value of text's representation, as the caller guarantees.
        let (digest, set) = unsafe { self.set(row, text) };
        (!set.is_empty()).then_some(digest)
    }

    /// The set of a row, and its digest. `text` reads the row's text if the set is not cached.
    ///
    /// # Safety
    /// A value that `text` reads has the representation of text, and lives until this returns.
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
            let by = (&self.similarity, &mut self.simhasher);
            // SAFETY: the value has text's representation and lives long enough, as the caller
            // guarantees.
            unsafe { with_text(text, |text| by.0.set(by.1, text, &mut interrupts())) }
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
