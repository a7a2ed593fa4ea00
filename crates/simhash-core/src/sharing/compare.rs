//! How similar two rows are: sets of shingles, which are kept while memory lasts.

use super::rows::Rows;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::sets::shingles::ShingleSet;
use crate::sets::sketch;

/// When texts are near-duplicates, by the keys of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    pub similarity: f64,
    /// The law of that similarity.
    pub sketch: sketch::Law,
    /// Whether keys of the index are of as many components as the law's bands. Otherwise the keys
    /// that two rows share do not tell in how many bands they agree.
    pub is_of_bands: bool,
}

impl Law {
    /// `None` if the similarity has no law, or the layout does not serve it.
    pub fn new(similarity: f64, layout: sketch::Layout) -> Option<Self> {
        let sketch = sketch::Law::of(similarity)?;
        (sketch.bands <= layout.bands && layout.rows <= sketch.rows).then_some(Self {
            similarity,
            sketch,
            is_of_bands: layout.rows == sketch.rows,
        })
    }
}

/// What is known of a row's text.
#[derive(Clone, Default)]
enum Known {
    #[default]
    Nothing,
    /// The row is not there.
    Gone,
    Set(Rc<ShingleSet>),
}

/// Compares rows, by numbers from 0.
pub struct Comparer {
    law: Law,
    known: Vec<Known>,
    /// How many shingles a row has, as far as its set was ever read; else 0.
    sizes: Vec<u32>,
    /// The rows whose sets are kept, in the order in which they were read.
    order: VecDeque<u32>,
    memory: usize,
    most_memory: usize,
}

impl Comparer {
    pub fn new(law: Law, rows: u32, most_memory: usize) -> Self {
        let known = vec![Known::default(); rows as usize];
        let sizes = vec![0; rows as usize];
        Self { law, known, sizes, order: VecDeque::new(), memory: 0, most_memory }
    }

    /// Reads the sets of rows in the order of their addresses, as far as there is memory. `place`
    /// tells a row's place.
    pub fn read_ahead(
        &mut self,
        rows: &mut impl Rows,
        place: impl Fn(u32) -> u32,
        wanted: &mut Vec<u32>,
    ) {
        wanted.retain(|&row| matches!(self.known[row as usize], Known::Nothing));
        wanted.sort_unstable_by_key(|&row| rows.address(place(row)));
        wanted.dedup();
        let mut budget = self.most_memory / 2;
        for &row in &*wanted {
            rows.check();
            let set = self.set(rows, row, place(row));
            let memory = set.map_or(0, |set| set.memory());
            match budget.checked_sub(memory) {
                Some(left) => budget = left,
                None => break,
            }
        }
    }

    /// A row's set. `None` if the row is not there.
    pub fn set(&mut self, rows: &mut impl Rows, row: u32, place: u32) -> Option<Rc<ShingleSet>> {
        match &self.known[row as usize] {
            Known::Set(set) => return Some(set.clone()),
            Known::Gone => return None,
            Known::Nothing => {}
        }
        let Some(set) = rows.set(place).filter(|set| !set.is_empty()) else {
            self.known[row as usize] = Known::Gone;
            return None;
        };
        self.sizes[row as usize] = u32::try_from(set.len()).unwrap_or(0);
        let set = Rc::new(set);
        self.memory += set.memory() + ENTRY;
        self.known[row as usize] = Known::Set(set.clone());
        self.order.push_back(row);
        while self.memory > self.most_memory
            && let Some(oldest) = self.order.pop_front()
        {
            self.forget(oldest);
        }
        Some(set)
    }

    /// A row's set is not asked for again soon.
    pub fn forget(&mut self, row: u32) {
        let known = &mut self.known[row as usize];
        if let Known::Set(set) = known {
            self.memory -= set.memory() + ENTRY;
            *known = Known::Nothing;
        }
        // Those forgotten before their turn would fill the queue.
        if self.order.len() > 2 * self.known.len() + 1024 {
            let known = &self.known;
            self.order.retain(|&row| matches!(known[row as usize], Known::Set(_)));
        }
    }

    pub fn is_gone(&self, row: u32) -> bool {
        matches!(self.known[row as usize], Known::Gone)
    }

    pub fn is_gone_now(&mut self, row: u32) {
        self.forget(row);
        self.known[row as usize] = Known::Gone;
    }

    /// Whether a row may be so similar to a set, by the sizes of the sets. It reads nothing.
    pub fn may_be(&self, set: &ShingleSet, row: u32, least: f64) -> bool {
        let (size, other) = (set.len() as f64, f64::from(self.sizes[row as usize]));
        other == 0.0 || size.min(other) / size.max(other) >= least.max(self.law.similarity)
    }

    /// The similarity of two sets that share so many keys, if it is at least `least` and they are
    /// near-duplicates.
    pub fn near(&self, a: &ShingleSet, b: &ShingleSet, keys: u32, least: f64) -> Option<f64> {
        let similarity = a.jaccard_from(b, least.max(self.law.similarity))?;
        // Keys are hashes of bands, of about 27 bits. That two bands of a pair which do not agree
        // have equal keys happens. That three have, for a pair that is near, does not.
        let is_sure = self.law.is_of_bands && keys as usize > self.law.sketch.shared + 1;
        (is_sure || self.law.sketch.holds_for(a, b)).then_some(similarity)
    }
}

/// What a set takes beside its shingles, about.
const ENTRY: usize = 64;
