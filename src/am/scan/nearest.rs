//! Scans in the order of distances, and orders rows at the same distance by their distances to
//! further queries.

use simhash_core::Fingerprint;
use simhash_index::nearest::NearestOfAny;
use simhash_index::range::Hit;
use simhash_index::{Scopes, TreeKey};

use crate::error::reserve;
use crate::storage::{Index, IndexRel, check_for_interrupts};

/// All rows, the nearest first.
pub struct Nearest<K: TreeKey> {
    search: NearestOfAny<K, IndexRel>,
    /// The queries that order rows at the same distance.
    then: Vec<K::Fingerprint>,
    /// The rows at the distance found last, kept back while more of them may follow. Empty unless
    /// `then` has a query.
    ties: Vec<Hit<K>>,
}

impl<K: TreeKey> Nearest<K> {
    /// `queries` is not empty. A row's distance is the least to any of them. Beside each query is a
    /// limit: rows farther from it are not found through it.
    pub fn new(
        index: &Index<K>,
        queries: &[(K::Fingerprint, u32)],
        scopes: &[Scopes<K::Scope>],
        then: Vec<K::Fingerprint>,
    ) -> Self {
        Self { search: NearestOfAny::new(index, queries, scopes), then, ties: Vec::new() }
    }

    /// Puts the next rows into `batch`, which is empty, and drops unwanted ones with `sift`. The
    /// batch may stay empty although more rows follow. False once all rows have been found.
    pub fn next_batch(
        &mut self,
        index: &Index<K>,
        batch: &mut Vec<Hit<K>>,
        sift: impl FnOnce(&mut Vec<Hit<K>>),
    ) -> bool {
        let more = self.search.next_batch(index, batch);
        sift(batch);
        if !self.then.is_empty() {
            self.order_ties(batch, more);
        }
        more
    }

    /// Keeps rows back until all rows at their distance have been found, then orders them by their
    /// further distances.
    fn order_ties(&mut self, batch: &mut Vec<Hit<K>>, more: bool) {
        reserve(&mut self.ties, batch.len());
        self.ties.append(batch);
        let Some(farthest) = self.ties.last().map(|hit| hit.distance) else { return };
        let complete = if more {
            self.ties.partition_point(|hit| hit.distance < farthest)
        } else {
            self.ties.len()
        };
        batch.extend(self.ties.drain(..complete));
        let later = |hit: &Hit<K>| {
            let fingerprint = hit.fingerprint;
            self.then.iter().map(move |&query| fingerprint.hamming(query))
        };
        batch.sort_unstable_by(|a, b| {
            check_for_interrupts();
            a.distance.cmp(&b.distance).then_with(|| later(a).cmp(later(b)))
        });
    }
}
