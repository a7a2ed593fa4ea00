//! Nearest first: range scans in windows of growing distance, each read and emitted before the
//! next.
//!
//! A window is one range scan over the distances from the least that is not done yet to its reach.
//! Rows at the least distance are emitted as they are found. The others wait, apart by distance,
//! until the scan ends. When too many wait, the window shrinks from above and forgets the farthest
//! rows, which a later window finds again. So memory is bounded, nothing is sorted as a whole, and
//! the order is exact. Windows probe as long as that is cheaper than reading every leaf. After that
//! they are sweeps, each of which keeps the nearest rows that fit.
//!
//! A query of several fingerprints has a scan for each. They are merged by distance.

use std::collections::VecDeque;

use simhash_core::base::key::Key;
use simhash_core::search::Plan;
use simhash_core::search::cost::Outlook;

use crate::index::Index;
use crate::key::TreeKey;
use crate::page::TID_BYTES;
use crate::range::{Hit, RangeScan};
use crate::scopes::{Extent, Scopes};
use crate::store::Store;

/// The most rows that may wait: 24 or 48 MB.
const MOST_WAITING: usize = 1 << 20;

/// About how many rows a leaf of 8 kB has. Some bytes of their keys are alike, and stored once.
fn rows_per_leaf<K: TreeKey>() -> f64 {
    const ALIKE: f64 = 3.5;
    7_370.0 / ((K::Fingerprint::BYTES + TID_BYTES) as f64 - ALIKE)
}

/// A nearest-first scan in progress.
pub struct Nearest<K: TreeKey, S: Store> {
    query: K::Fingerprint,
    scopes: Scopes<K::Scope>,
    extent: Extent,
    /// Everything at less than this distance has been emitted, or waits in `waiting`.
    least: u32,
    /// The window's upper end.
    reach: u32,
    /// The greatest distance that is wanted.
    limit: u32,
    scan: Option<RangeScan<K, S>>,
    waiting: Vec<Vec<Hit<K>>>,
    waiting_count: usize,
    waiting_limit: usize,
    found: Vec<Hit<K>>,
    finished: bool,
}

impl<K: TreeKey, S: Store> Nearest<K, S> {
    /// Rows that are farther than `limit` may be returned or not.
    pub fn new(
        index: &Index<K, S>,
        (query, limit): (K::Fingerprint, u32),
        scopes: Scopes<K::Scope>,
    ) -> Self {
        let limit = limit.min(index.layout.bits());
        let mut scan = Self {
            query,
            extent: index.extent(&scopes),
            scopes,
            least: 0,
            reach: (index.layout.blocks() - 1).min(limit),
            limit,
            scan: None,
            waiting: (0..=index.layout.bits()).map(|_| Vec::new()).collect(),
            waiting_count: 0,
            waiting_limit: S::FIRST_WAITING,
            found: Vec::new(),
            finished: false,
        };
        scan.open_window(index);
        scan
    }

    /// Appends the next rows in order of distance. False at the end. True may be returned without a
    /// row.
    pub fn next_batch(&mut self, index: &Index<K, S>, batch: &mut Vec<Hit<K>>) -> bool {
        let Some(scan) = &mut self.scan else {
            return self.next_window(index);
        };
        self.found.clear();
        if scan.next_leaf(index, self.reach, &mut self.found).is_none() {
            self.scan = None;
            self.drain(batch);
            return true;
        }
        for hit in self.found.drain(..) {
            if hit.distance == self.least {
                batch.push(hit);
            } else if hit.distance > self.least && hit.distance <= self.reach {
                self.waiting[hit.distance as usize].push(hit);
                self.waiting_count += 1;
            }
        }
        while self.waiting_count > self.waiting_limit && self.reach > self.least {
            self.waiting_count -= std::mem::take(&mut self.waiting[self.reach as usize]).len();
            self.reach -= 1;
        }
        true
    }

    fn drain(&mut self, batch: &mut Vec<Hit<K>>) {
        for distance in self.least..=self.reach {
            batch.append(&mut self.waiting[distance as usize]);
        }
        self.waiting_count = 0;
        self.finished = self.reach >= self.limit;
        self.least = self.reach + 1;
    }

    fn next_window(&mut self, index: &Index<K, S>) -> bool {
        if self.finished {
            return false;
        }
        let cost_of =
            |distance| self.extent.expected::<K::Fingerprint>(&index.plan(distance, &self.extent));
        let (bits, leaves) = (index.layout.bits(), self.extent.leaves());
        let rows = leaves * rows_per_leaf::<K>();
        let outlook = Outlook { bits, limit: self.limit, rows, leaves };
        let reach = outlook.next_window(self.least, cost_of).unwrap_or_else(|| {
            // A sweep is cheaper even for the next distance, and keeps as many rows as may wait.
            self.waiting_limit = (self.waiting_limit * 4).min(MOST_WAITING);
            bits
        });
        self.reach = reach.min(self.limit);
        self.open_window(index);
        true
    }

    fn open_window(&mut self, index: &Index<K, S>) {
        let plan = if self.reach == index.layout.bits() {
            Plan::balanced(index.layout, self.reach, 1)
        } else {
            index.plan(self.reach, &self.extent)
        };
        self.scan = Some(RangeScan::new(plan, self.query, self.scopes.clone()));
    }
}

/// The rows near any of several queries, in order of distance. A row is returned once for each of
/// its keys and each query.
pub struct NearestOfAny<K: TreeKey, S: Store> {
    scans: Vec<Merged<K, S>>,
}

/// One of the merged scans.
struct Merged<K: TreeKey, S: Store> {
    scan: Nearest<K, S>,
    /// Rows found and not yet handed out, in order of distance.
    ahead: VecDeque<Hit<K>>,
    ended: bool,
}

impl<K: TreeKey, S: Store> Merged<K, S> {
    /// A distance below which no further row can be. `None` when there are no further rows.
    fn bound(&self) -> Option<u32> {
        match self.ahead.front() {
            Some(hit) => Some(hit.distance),
            None => (!self.ended).then_some(self.scan.least),
        }
    }
}

impl<K: TreeKey, S: Store> NearestOfAny<K, S> {
    /// A scan for each query, with the limit of [`Nearest::new`], in each of the scopes.
    pub fn new(
        index: &Index<K, S>,
        queries: &[(K::Fingerprint, u32)],
        scopes: &[Scopes<K::Scope>],
    ) -> Self {
        let start = |query, scopes: &Scopes<K::Scope>| Merged {
            scan: Nearest::new(index, query, scopes.clone()),
            ahead: VecDeque::new(),
            ended: false,
        };
        let of_query = |&query| scopes.iter().map(move |scopes| start(query, scopes));
        Self { scans: queries.iter().flat_map(of_query).collect() }
    }

    /// As [`Nearest::next_batch`].
    pub fn next_batch(&mut self, index: &Index<K, S>, batch: &mut Vec<Hit<K>>) -> bool {
        if let [only] = &mut self.scans[..] {
            return only.scan.next_batch(index, batch);
        }
        let nearest = self
            .scans
            .iter_mut()
            .filter(|scan| scan.bound().is_some())
            .min_by_key(|scan| scan.bound());
        let Some(nearest) = nearest else { return false };
        let Some(distance) = nearest.ahead.front().map(|hit| hit.distance) else {
            let mut found = Vec::new();
            nearest.ended = !nearest.scan.next_batch(index, &mut found);
            nearest.ahead.extend(found);
            return true;
        };
        let end = nearest.ahead.partition_point(|hit| hit.distance <= distance);
        batch.extend(nearest.ahead.drain(..end));
        true
    }
}
