//! A scan's way through the index: one source of rows after the other, a batch of them at a time.
//!
//! A leaf stays pinned while rows of it are handed out to an index-only scan or under a snapshot
//! other than MVCC: vacuum then waits before it lets their TIDs be used again.
//!
//! Where a row may have several keys, the scan remembers the rows that it has handed out. Another
//! row may take such a row's TID meanwhile, and the scan passes it over. That is right under an
//! MVCC snapshot, which cannot see the other row. It is right under the snapshot of an exclusion
//! constraint's check, too: the other row was inserted after the one that is being checked, so its
//! own check finds that one.

use std::collections::HashSet;
use std::mem::ManuallyDrop;

use pgrx::pg_sys;
use simhash_core::search::Key;
use simhash_index::Entry;
use simhash_index::range::{Hit, RangeScan};
use simhash_index::walk::LeafWalk;

use super::keys::{Driver, Request};
use super::nearest::Nearest;
use super::output::Output;
use crate::am::keys::Condition;
use crate::am::kind::Kind;
use crate::compat;
use crate::storage::{Index, IndexRel, Pinned, Shared, check_for_interrupts};
use crate::types::tid;

/// What the callbacks need of a scan, whatever the key type.
pub trait Scan {
    /// Starts again with the keys that the descriptor has now.
    ///
    /// # Safety
    /// The arrays hold as many keys as the scan was begun with.
    unsafe fn restart(&mut self, desc: pg_sys::IndexScanDesc);
    /// Puts the next row into `desc`; false at the end.
    ///
    /// # Safety
    /// `desc` is the scan's own.
    unsafe fn next_row(&mut self, desc: pg_sys::IndexScanDesc) -> bool;
    /// Adds all rows to a bitmap and returns their number.
    ///
    /// # Safety
    /// `bitmap` is a TID bitmap.
    unsafe fn fill(&mut self, bitmap: *mut pg_sys::TIDBitmap) -> i64;
    /// Gives up the pin. Called before the scan ends in the normal way.
    fn release(&mut self);
}

/// A scan of an index with keys of type `F`.
pub struct Cursor<F> {
    index: Index<F>,
    kind: Kind,
    source: Source<F>,
    sieve: Sieve<F>,
    /// Whether rows without a fingerprint follow those of the source.
    nulls_follow: bool,
    batch: Batch<F>,
    pin: Pin,
    output: Output<F>,
}

/// Where rows come from at present.
#[allow(clippy::large_enum_variant, reason = "a scan has one")]
enum Source<F> {
    Range(Ranges<F>),
    Nearest(Box<Nearest<F>>),
    /// The rows without a fingerprint.
    Nulls(LeafWalk<F>),
    Done,
}

/// One range scan after the other.
struct Ranges<F> {
    scan: RangeScan<F, IndexRel>,
    distance: u32,
    /// The conditions whose scans are still to be made.
    left: Vec<Condition<F>>,
}

/// What drops rows that the source finds and the scan does not return.
struct Sieve<F> {
    /// Conditions that a row has to meet.
    filters: Vec<Condition<F>>,
    /// Rows handed out, where a row may have several keys and each row is returned once.
    seen: Option<HashSet<u64>>,
}

/// Rows read and not handed out yet: those from number `next` on.
struct Batch<F> {
    rows: Vec<Hit<F>>,
    next: usize,
}

/// The pin on the leaf of the rows in the batch. Dropping the scan leaves the pin alone: after an
/// ERROR, PostgreSQL's abort has released it.
struct Pin {
    /// Whether a handed-out row's leaf stays pinned.
    is_kept: bool,
    held: ManuallyDrop<Option<Pinned>>,
}

impl Pin {
    fn hold(&mut self, leaf: Option<Shared>) {
        self.release();
        *self.held = leaf.map(Shared::unlock);
    }

    fn release(&mut self) {
        drop(self.held.take());
    }
}

impl<F> Batch<F> {
    fn clear(&mut self) {
        self.rows.clear();
        self.next = 0;
    }
}

impl<F: Key> Sieve<F> {
    fn sift(&mut self, rows: &mut Vec<Hit<F>>) {
        if !self.filters.is_empty() {
            let filters = &self.filters;
            rows.retain(|row| {
                filters.iter().all(|f| row.fingerprint.hamming(f.center) <= f.distance)
            });
        }
        if let Some(seen) = &mut self.seen {
            rows.retain(|row| seen.insert(row.tid));
        }
    }
}

impl<F: Key> Ranges<F> {
    /// The scans for these conditions; none if there are no conditions.
    fn new(index: &Index<F>, mut conditions: Vec<Condition<F>>) -> Option<Self> {
        let first = conditions.pop()?;
        let leaves = index.leaves_per_table();
        let distance = first.distance.min(F::BITS);
        let scan = RangeScan::new(index.plan(distance, leaves), first.center);
        Some(Self { scan, distance, left: conditions })
    }
}

impl<F: Key> Cursor<F> {
    /// A scan that returns nothing until it is started. Index tuples are made in `context`.
    pub fn new(index: Index<F>, context: pg_sys::MemoryContext) -> Self {
        let kind = Kind::of(&index);
        Self {
            index,
            kind,
            source: Source::Done,
            sieve: Sieve { filters: Vec::new(), seen: None },
            nulls_follow: false,
            batch: Batch { rows: Vec::new(), next: 0 },
            pin: Pin { is_kept: false, held: ManuallyDrop::new(None) },
            output: Output::new(kind, context),
        }
    }

    /// What the scan begins with.
    fn first_source(&self, driver: Driver<F>) -> Source<F> {
        match driver {
            Driver::Nothing => self.after_last(),
            Driver::Within(conditions) => match Ranges::new(&self.index, conditions) {
                Some(ranges) => Source::Range(ranges),
                None => self.after_last(),
            },
            Driver::Nearest { queries, then } => {
                Source::Nearest(Box::new(Nearest::new(&self.index, queries.as_slice(), then)))
            }
        }
    }

    /// What comes after the rows that have a fingerprint.
    fn after_last(&self) -> Source<F> {
        if self.nulls_follow {
            Source::Nulls(LeafWalk::new(self.index.null_table(), Entry::MIN))
        } else {
            Source::Done
        }
    }

    /// Fetches the next rows. False at the end.
    fn next_batch(&mut self) -> bool {
        self.pin.release();
        self.batch.clear();
        while self.batch.rows.is_empty() {
            check_for_interrupts();
            match &mut self.source {
                Source::Done => return false,
                Source::Range(_) => self.read_range(),
                Source::Nearest(nearest) => {
                    let rows = &mut self.batch.rows;
                    let more = nearest.next_batch(&self.index, rows, |rows| self.sieve.sift(rows));
                    if !more && self.batch.rows.is_empty() {
                        self.source = self.after_last();
                    }
                }
                Source::Nulls(_) => self.read_nulls(),
            }
        }
        true
    }

    /// Reads a leaf of the range scan, or goes on to the next source.
    fn read_range(&mut self) {
        let Source::Range(ranges) = &mut self.source else { return };
        let rows = &mut self.batch.rows;
        let Some(leaf) = ranges.scan.next_leaf(&self.index, ranges.distance, rows) else {
            let left = std::mem::take(&mut ranges.left);
            self.source = match Ranges::new(&self.index, left) {
                Some(ranges) => Source::Range(ranges),
                None => self.after_last(),
            };
            return;
        };
        self.keep(leaf);
        self.sieve.sift(&mut self.batch.rows);
    }

    /// Reads a leaf of the rows without a fingerprint.
    fn read_nulls(&mut self) {
        let Source::Nulls(walk) = &mut self.source else { return };
        let mut entries = Vec::new();
        let Some(leaf) = walk.next_leaf(&self.index, &mut entries) else {
            self.source = Source::Done;
            return;
        };
        let rows = entries.into_iter().map(|entry| Hit {
            fingerprint: entry.key,
            tid: entry.tid,
            distance: 0,
        });
        self.batch.rows.extend(rows);
        self.keep(leaf);
    }

    /// Keeps the leaf pinned while its rows are handed out, if it has to be and has any.
    fn keep(&mut self, leaf: Shared) {
        let is_kept = self.pin.is_kept && !self.batch.rows.is_empty();
        self.pin.hold(is_kept.then_some(leaf));
    }

    /// Pins the leaf that holds a row which has waited since its leaf was read. False if vacuum has
    /// removed the row meanwhile.
    fn pin_again(&mut self, row: &Hit<F>) -> bool {
        self.pin.release();
        let entry = Entry { key: row.fingerprint, tid: row.tid };
        self.pin.hold(self.index.find(0, &entry));
        self.pin.held.is_some()
    }
}

impl<F: Key> Scan for Cursor<F> {
    unsafe fn restart(&mut self, desc: pg_sys::IndexScanDesc) {
        // SAFETY: the scan's index is open.
        unsafe {
            pgrx::PgRelation::from_pg((*desc).indexRelation).count_index_scan();
            compat::count_search(desc);
        }
        self.pin.release();
        self.batch.clear();
        // SAFETY: the descriptor is the scan's own; its snapshot is set, or null for a bitmap scan
        // that has not begun.
        let request = unsafe {
            self.index.store.snapshot = (*desc).xs_snapshot;
            self.pin.is_kept = (*desc).xs_want_itup || !is_mvcc((*desc).xs_snapshot);
            self.output.looks_rows_up = (*desc).xs_want_itup && pg_sys::RecoveryInProgress();
            self.output.recheck = self.kind.is_lossy() || !is_mvcc((*desc).xs_snapshot);
            Request::read(desc, &self.index, self.kind)
        };
        let seen = self.kind.has_many_keys().then(HashSet::new);
        self.sieve = Sieve { filters: request.filters, seen };
        self.nulls_follow = request.nulls;
        self.output.orders = request.orders;
        self.source = self.first_source(request.driver);
    }

    unsafe fn next_row(&mut self, desc: pg_sys::IndexScanDesc) -> bool {
        loop {
            if self.batch.next == self.batch.rows.len() && !self.next_batch() {
                return false;
            }
            let row = self.batch.rows[self.batch.next];
            self.batch.next += 1;
            let waited = matches!(self.source, Source::Nearest(_));
            let is_null = matches!(self.source, Source::Nulls(_));
            if waited && self.pin.is_kept && !self.pin_again(&row) {
                continue;
            }
            // SAFETY: the descriptor is the scan's own.
            if unsafe { self.output.emit(desc, &row, is_null) } {
                return true;
            }
        }
    }

    unsafe fn fill(&mut self, bitmap: *mut pg_sys::TIDBitmap) -> i64 {
        let mut count = 0;
        self.pin.is_kept = false;
        // The bitmap holds each row once by itself.
        self.sieve.seen = None;
        while self.next_batch() {
            let rows = self.batch.rows.iter();
            let mut tids: Vec<_> = rows.map(|row| tid::unpack(row.tid)).collect();
            let recheck = self.output.recheck;
            // SAFETY: the array holds as many TIDs as it says.
            unsafe {
                pg_sys::tbm_add_tuples(bitmap, tids.as_mut_ptr(), tids.len() as i32, recheck);
            };
            count += tids.len() as i64;
        }
        count
    }

    fn release(&mut self) {
        self.pin.release();
    }
}

/// `IsMVCCSnapshot`.
unsafe fn is_mvcc(snapshot: pg_sys::Snapshot) -> bool {
    use pg_sys::SnapshotType::{SNAPSHOT_HISTORIC_MVCC, SNAPSHOT_MVCC};
    // SAFETY: null or a snapshot.
    unsafe { snapshot.as_ref() }.is_none_or(|s| {
        s.snapshot_type == SNAPSHOT_MVCC || s.snapshot_type == SNAPSHOT_HISTORIC_MVCC
    })
}
