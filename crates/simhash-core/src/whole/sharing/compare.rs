//! Compares rows by their sets of shingles, which are cached up to a limit of memory.

use std::collections::VecDeque;

use super::rows::Rows;
use crate::base::simd::prefetch::prefetch;
use crate::sets::shingles::ShingleSet;
use crate::sets::sketch;

/// The law by which texts are near-duplicates, as keys of an index can serve it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    pub similarity: f64,
    /// The law of that similarity.
    pub sketch: sketch::Law,
    /// Whether keys of the index have as many components as the law's bands. Otherwise the number
    /// of keys that two rows share is not the number of bands in which they agree.
    pub is_of_bands: bool,
}

impl Law {
    /// `None` if the similarity has no law, or the layout does not support it.
    pub fn new(similarity: f64, layout: sketch::Layout) -> Option<Self> {
        let sketch = sketch::Law::of(similarity)?;
        (sketch.bands <= layout.bands && layout.rows <= sketch.rows).then_some(Self {
            similarity,
            sketch,
            is_of_bands: layout.rows == sketch.rows,
        })
    }
}

/// Compares rows, which are numbered from 0, and caches their sets.
pub struct Comparer {
    law: Law,
    /// The cached sets. The set of a missing row is empty.
    sets: Vec<Option<ShingleSet>>,
    /// A bit for each row, 1 if there is something in `sets`.
    known: Vec<u64>,
    /// The number of a row's shingles. 0 if its set was never read, or shingles have weights.
    sizes: Vec<u32>,
    /// The rows whose sets are cached, in the order in which they were read, and some forgotten
    /// since.
    order: VecDeque<u32>,
    /// The row whose set is never evicted.
    pinned: u32,
    memory: usize,
    most_memory: usize,
}

impl Comparer {
    pub fn new(law: Law, rows: u32, most_memory: usize) -> Self {
        let (sets, sizes) = (vec![None; rows as usize], vec![0; rows as usize]);
        let known = vec![0; rows as usize / 64 + 1];
        let order = VecDeque::new();
        Self { law, sets, known, sizes, order, pinned: u32::MAX, memory: 0, most_memory }
    }

    /// Requests the sets of rows, in the order of their addresses. `place` gives a row's place.
    /// Returns the number of the round, for [`Comparer::take_wanted`].
    pub fn want(
        &self,
        rows: &mut impl Rows,
        place: impl Fn(u32) -> u32,
        wanted: &mut Vec<u32>,
    ) -> u32 {
        wanted.retain(|&row| !self.is_known(row));
        wanted.sort_unstable_by_key(|&row| rows.address(place(row)));
        wanted.dedup();
        // Sets that are made before they are taken need memory, too.
        let mean = self.memory / self.order.len().max(1);
        wanted.truncate(self.most_memory / (4 * mean.max(USUAL)));
        rows.want(wanted.iter().map(|&row| (row, place(row))).collect())
    }

    /// Caches the sets of a round, as far as they fit together into half of the memory.
    pub fn take_wanted(&mut self, round: u32, rows: &mut impl Rows) {
        let mut budget = self.most_memory / 2;
        while let Some((row, set)) = rows.next_wanted(round) {
            rows.check();
            let memory = set.as_ref().map_or(0, ShingleSet::memory) + ENTRY;
            if memory > budget {
                return rows.want_no_more(round);
            }
            budget -= memory;
            if !self.is_known(row) {
                self.keep(row, set);
            }
        }
    }

    /// Whether a row's set is cached, or the row is known to be missing.
    #[inline]
    pub fn is_known(&self, row: u32) -> bool {
        self.known[row as usize / 64] >> (row % 64) & 1 == 1
    }

    fn set_known(&mut self, row: u32, is_known: bool) {
        let (word, bit) = (&mut self.known[row as usize / 64], 1 << (row % 64));
        *word = if is_known { *word | bit } else { *word & !bit };
    }

    /// Reads a row's set, unless it is known. False if the row is missing.
    pub fn load(&mut self, rows: &mut impl Rows, row: u32, place: u32) -> bool {
        match &self.sets[row as usize] {
            Some(set) => !set.is_empty(),
            None => {
                let set = rows.set(place);
                self.keep(row, set)
            }
        }
    }

    /// As [`Comparer::load`]. The set is not evicted until another row is pinned.
    pub fn pin(&mut self, rows: &mut impl Rows, row: u32, place: u32) -> bool {
        self.pinned = row;
        self.load(rows, row, place)
    }

    fn keep(&mut self, row: u32, set: Option<ShingleSet>) -> bool {
        let set = set.unwrap_or_default();
        self.set_known(row, true);
        if set.is_empty() {
            self.sets[row as usize] = Some(set);
            return false;
        }
        let is_weighed = !set.weights().is_empty();
        let size = if is_weighed { 0 } else { u32::try_from(set.len()).unwrap_or(0) };
        self.sizes[row as usize] = size;
        self.memory += set.memory() + ENTRY;
        self.sets[row as usize] = Some(set);
        self.order.push_back(row);
        // Evicts the oldest sets, but never the one just read.
        for _ in 1..self.order.len() {
            if self.memory <= self.most_memory {
                break;
            }
            match self.order.pop_front() {
                Some(oldest) if oldest == self.pinned || oldest == row => {
                    self.order.push_back(oldest);
                }
                Some(oldest) => self.forget(oldest),
                None => break,
            }
        }
        true
    }

    /// Drops a row's set, which is not needed again soon.
    pub fn forget(&mut self, row: u32) {
        if let Some(set) = self.sets[row as usize].take_if(|set| !set.is_empty()) {
            self.memory -= set.memory() + ENTRY;
            self.set_known(row, false);
        }
        // Rows that are forgotten before they are the oldest would fill the queue.
        if self.order.len() > 2 * self.sets.len() + 1024 {
            let is_kept =
                |&row: &u32| self.sets[row as usize].as_ref().is_some_and(|set| !set.is_empty());
            self.order.retain(is_kept);
        }
    }

    pub fn is_gone(&self, row: u32) -> bool {
        self.sets[row as usize].as_ref().is_some_and(ShingleSet::is_empty)
    }

    pub fn is_gone_now(&mut self, row: u32) {
        self.forget(row);
        self.set_known(row, true);
        self.sets[row as usize] = Some(ShingleSet::default());
    }

    /// A row's set, if it is cached.
    pub fn set(&self, row: u32) -> Option<&ShingleSet> {
        self.sets[row as usize].as_ref()
    }

    /// Whether two rows may be near-duplicates of similarity `least`, by the sizes of their sets
    /// alone.
    pub fn may_be(&self, a: u32, b: u32, least: f64) -> bool {
        let (a, b) = (self.sizes[a as usize], self.sizes[b as usize]);
        let (less, more) = (f64::from(a.min(b)), f64::from(a.max(b)));
        less == 0.0 || less / more >= least.max(self.law.similarity)
    }

    /// Prefetches the cache entry of a row, which is read soon.
    pub fn prefetch_place(&self, row: u32) {
        prefetch(&raw const self.sets[row as usize]);
    }

    /// Prefetches the set of a row, which is read soon.
    pub fn prefetch_set(&self, row: u32) {
        if let Some(set) = &self.sets[row as usize] {
            let hashes = set.hashes().as_ptr();
            prefetch(hashes);
            prefetch(hashes.wrapping_add(8));
        }
    }

    /// The similarity of two rows that share so many keys, if it is at least `least` and they are
    /// near-duplicates. Both sets must be cached.
    pub fn near(&self, a: u32, b: u32, keys: u32, least: f64) -> Option<f64> {
        let (a, b) = (self.set(a)?, self.set(b)?);
        let similarity = a.near(b, least.max(self.law.similarity))?;
        // Keys are hashes of bands, of about 27 bits. Two keys of a near pair may be equal by
        // accident. Three are not, in practice. So with two keys more than the law requires, enough
        // bands agree.
        let is_sure = self.law.is_of_bands && keys as usize > self.law.sketch.shared + 1;
        (is_sure || self.law.sketch.holds_for(a, b)).then_some(similarity)
    }
}

/// About the bytes of a cached set beside its shingles.
const ENTRY: usize = 32;
/// The least bytes to expect of a set, also while none is cached.
const USUAL: usize = 512;
