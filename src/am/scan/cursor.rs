//! A scan's way through the index: one source of rows after the other, one batch at a time.
//!
//! A leaf stays pinned while its rows are returned to an index-only scan, or under a snapshot that
//! is not MVCC. Vacuum waits for that pin before their TIDs can be reused.
//!
//! If a row may have several keys, the scan remembers the TIDs that it has returned. Another row
//! may get such a TID meanwhile, and the scan then skips it. That is right under an MVCC snapshot,
//! which cannot see the other row. It is also right under the snapshot of an exclusion constraint's
//! check: the other row was inserted after the one being checked, so its own check finds that one.

use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_index::page::Page;
use simhash_index::postings::Candidates;
use simhash_index::range::{Hit, RangeScan};
use simhash_index::{Scopes, TreeKey};

use super::account::Account;
use super::burial::Burial;
use super::keys::{Driver, Request, Unwanted};
use super::nearest::Nearest;
use super::nulls::Nulls;
use super::output::Output;
use crate::am::asked::Wanted;
use crate::am::columns::Columns;
use crate::am::keys::Condition;
use crate::am::kind::Searched;
use crate::am::text_keys::TextKeys;
use crate::compat;
use crate::storage::{Index, IndexRel, Pinned, Shared, check_for_interrupts, leaves_read};
use crate::types::tid;

/// What the access method's functions call of a scan, whatever its key type.
pub trait Scan {
    /// Starts the scan again with the descriptor's present keys.
    ///
    /// # Safety
    /// The descriptor's arrays have as many keys as the scan was begun with.
    unsafe fn restart(&mut self, desc: pg_sys::IndexScanDesc);
    /// Puts the next row into `desc`. False at the end.
    ///
    /// # Safety
    /// `desc` is the descriptor of this scan.
    unsafe fn next_row(&mut self, desc: pg_sys::IndexScanDesc) -> bool;
    /// Adds all rows to a bitmap, and returns their number.
    ///
    /// # Safety
    /// `bitmap` is a valid TID bitmap.
    unsafe fn fill(&mut self, bitmap: *mut pg_sys::TIDBitmap) -> i64;
    /// Skips further rows with the same scope and fingerprint as the row returned last.
    fn pass_copies(&mut self);
    /// Releases the pin, removes entries of dead rows and closes the account. Called when the scan
    /// ends without an ERROR.
    fn release(&mut self);
}

/// A scan of an index with keys of type `K`.
pub struct Cursor<K: TreeKey> {
    index: Index<K>,
    searched: Searched,
    /// Makes keys of the query's texts, if the index is of texts.
    texts: Option<TextKeys>,
    source: Source<K>,
    /// The scopes that it searches.
    scopes: Rc<[Scopes<K::Scope>]>,
    sieve: Sieve<K>,
    /// Whether rows without a fingerprint follow those of the source.
    nulls_follow: bool,
    unwanted: Unwanted,
    batch: Batch<K>,
    /// The key whose rows are skipped.
    passed: Option<K>,
    pin: Pin,
    output: Output<K>,
    burial: Burial<K>,
    account: Account,
}

/// The present source of rows.
#[allow(clippy::large_enum_variant, reason = "a scan has one")]
enum Source<K: TreeKey> {
    Range(Ranges<K>),
    Nearest(Box<Nearest<K>>),
    Texts(TextSearch<K>),
    /// The rows without a fingerprint. In an index of texts all rows, of which some are unwanted.
    Nulls(Nulls<K>),
    Done,
}

/// One range scan after the other.
struct Ranges<K: TreeKey> {
    scan: RangeScan<K, IndexRel>,
    distance: u32,
    /// The conditions that are still to be scanned in each of the scopes. For the last condition,
    /// the scans in the first `made` scopes exist already.
    left: Vec<Condition<K::Fingerprint>>,
    scopes: Rc<[Scopes<K::Scope>]>,
    made: usize,
}

/// Searches for texts, one after the other, each in one scope after the other.
struct TextSearch<K: TreeKey> {
    wanted: Rc<[Wanted<K::Fingerprint>]>,
    scopes: Rc<[Scopes<K::Scope>]>,
    /// The number of the present search, and that of its scope.
    at: (usize, usize),
    /// The scope that was searched last.
    last: Option<K::Scope>,
    candidates: Option<Candidates<K>>,
}

impl<K: TreeKey> TextSearch<K> {
    fn new(wanted: Rc<[Wanted<K::Fingerprint>]>, scopes: Rc<[Scopes<K::Scope>]>) -> Self {
        Self { wanted, scopes, at: (0, 0), last: None, candidates: None }
    }

    /// Appends TIDs of more rows. False at the end.
    fn next_batch(&mut self, index: &Index<K>, tids: &mut Vec<u64>) -> bool {
        loop {
            if let Some(candidates) = &mut self.candidates
                && candidates.next_batch(index, tids)
            {
                return true;
            }
            let (search, place) = self.at;
            let Some(wanted) = self.wanted.get(search) else { return false };
            let next =
                self.scopes.get(place).and_then(|scopes| next_scope(index, scopes, self.last));
            match next {
                Some(scope) => {
                    let found = Candidates::new(index, scope, &wanted.keys, wanted.shared);
                    (self.candidates, self.last) = (Some(found), Some(scope));
                }
                None => {
                    (self.candidates, self.last) = (None, None);
                    let ends = place + 1 >= self.scopes.len();
                    self.at = if ends { (search + 1, 0) } else { (search, place + 1) };
                }
            }
        }
    }
}

/// The scope to search after `last`; `None` if there is none.
fn next_scope<K: TreeKey>(
    index: &Index<K>,
    scopes: &Scopes<K::Scope>,
    last: Option<K::Scope>,
) -> Option<K::Scope> {
    let length = index.shape.scope;
    match (scopes, last) {
        (Scopes::One(scope), None) => Some(*scope),
        (Scopes::One(_), Some(_)) => None,
        (_, None) if length == 0 => Some(K::MIN.scope()),
        (_, Some(_)) if length == 0 => None,
        (_, None) => index.next_scope(scopes, K::MIN.scope()),
        (_, Some(last)) => index.next_scope(scopes, scopes.after(last, length)?),
    }
}

/// Drops rows that the source finds and the scan does not return.
struct Sieve<K: TreeKey> {
    /// A row has to meet one condition of each of these.
    filters: Vec<Vec<Condition<K::Fingerprint>>>,
    /// The rows returned, if a row may be found several times.
    seen: Option<HashSet<u64>>,
}

/// The rows read last; those from number `next` on are still to be returned.
struct Batch<K: TreeKey> {
    rows: Vec<Hit<K>>,
    next: usize,
    /// The payload of each row, if wanted and if the rows are from one leaf.
    payloads: Vec<u8>,
}

/// The pin on the leaf of the batch's rows. Dropping the scan does not release it: after an ERROR,
/// PostgreSQL's abort has done so.
struct Pin {
    /// Whether the leaf of a returned row stays pinned.
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

impl<K: TreeKey> Batch<K> {
    fn clear(&mut self) {
        self.rows.clear();
        self.payloads.clear();
        self.next = 0;
    }

    /// Copies the payloads of the batch's rows, which were found on this page.
    fn copy_payloads(&mut self, page: &Page<'_>) {
        for row in &self.rows {
            self.payloads.extend_from_slice(page.payload(row.position as usize));
        }
    }
}

impl<K: TreeKey> Sieve<K> {
    /// The greatest distance from a query at which a row can pass the filters. A row within a ball
    /// is no farther from the query than the ball's centre and the radius together.
    fn reach(&self, query: K::Fingerprint) -> u32 {
        let reach =
            |f: &Condition<K::Fingerprint>| query.hamming(f.center).saturating_add(f.distance);
        let farthest = |any: &Vec<_>| any.iter().map(reach).max().unwrap_or(0);
        self.filters.iter().map(farthest).min().unwrap_or(u32::MAX)
    }

    fn sift(&mut self, rows: &mut Vec<Hit<K>>) {
        if !self.filters.is_empty() {
            let filters = &self.filters;
            let meets = |row: &Hit<K>, f: &Condition<K::Fingerprint>| {
                row.fingerprint.hamming(f.center) <= f.distance
            };
            rows.retain(|row| filters.iter().all(|any| any.iter().any(|f| meets(row, f))));
        }
        if let Some(seen) = &mut self.seen {
            rows.retain(|row| seen.insert(row.tid));
        }
    }
}

impl<K: TreeKey> Ranges<K> {
    /// The scans for these conditions in each of the scopes; `None` if no condition is left. For
    /// the last condition, the first `made` scopes have been scanned.
    fn new(
        index: &Index<K>,
        mut left: Vec<Condition<K::Fingerprint>>,
        scopes: Rc<[Scopes<K::Scope>]>,
        made: usize,
    ) -> Option<Self> {
        let &Condition { center, distance } = left.last()?;
        let here = scopes.get(made)?.clone();
        let distance = distance.min(index.layout.bits());
        let plan = index.plan(distance, &index.extent(&here));
        let scan = RangeScan::new(plan, center, here);
        let made = (made + 1) % scopes.len();
        if made == 0 {
            left.pop();
        }
        Some(Self { scan, distance, left, scopes, made })
    }

    /// The next scan.
    fn next(self, index: &Index<K>) -> Option<Self> {
        Self::new(index, self.left, self.scopes, self.made)
    }
}

impl<K: TreeKey> Cursor<K> {
    /// A scan that returns nothing until it is started. Index tuples are allocated in a child of
    /// `context`.
    ///
    /// # Safety
    /// `context` exists as long as the scan.
    pub unsafe fn new(index: Index<K>, context: pg_sys::MemoryContext) -> Self {
        let searched = Searched::of(&index);
        let texts = TextKeys::of(index.store, searched.kind);
        let columns = Columns::of(index.store, &index.meta());
        let account = Account::of(index.store.oid());
        Self {
            index,
            searched,
            texts,
            source: Source::Done,
            scopes: Rc::new([]),
            sieve: Sieve { filters: Vec::new(), seen: None },
            nulls_follow: false,
            unwanted: Unwanted::None,
            batch: Batch { rows: Vec::new(), next: 0, payloads: Vec::new() },
            passed: None,
            pin: Pin { is_kept: false, held: ManuallyDrop::new(None) },
            output: Output::new(searched, columns, context),
            burial: Burial::new(),
            account,
        }
    }

    /// The source that the scan begins with.
    fn first_source(&self, driver: Driver<K::Fingerprint>) -> Source<K> {
        match driver {
            Driver::Nothing => self.after_last(),
            Driver::Within(conditions) => {
                match Ranges::new(&self.index, conditions, self.scopes.clone(), 0) {
                    Some(ranges) => Source::Range(ranges),
                    None => self.after_last(),
                }
            }
            Driver::Texts(wanted) => {
                Source::Texts(TextSearch::new(wanted.into(), self.scopes.clone()))
            }
            Driver::Nearest { queries, then } => {
                let limited = |&query| (query, self.sieve.reach(query));
                let queries: Vec<_> = queries.as_slice().iter().map(limited).collect();
                let search = Nearest::new(&self.index, &queries, &self.scopes, then);
                Source::Nearest(Box::new(search))
            }
        }
    }

    /// The source after all rows that have a fingerprint.
    fn after_last(&self) -> Source<K> {
        let scopes = if self.nulls_follow { self.scopes.to_vec() } else { Vec::new() };
        Nulls::new(&self.index, scopes).map_or(Source::Done, Source::Nulls)
    }

    /// Fetches the next batch and counts it. False at the end.
    fn next_batch(&mut self) -> bool {
        let before = leaves_read();
        let more = self.fetch();
        self.account.leaves += leaves_read() - before;
        self.account.candidates += self.batch.rows.len() as u64;
        more
    }

    fn fetch(&mut self) -> bool {
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
                Source::Texts(_) => self.read_texts(),
                Source::Nulls(_) => self.read_nulls(),
            }
        }
        true
    }

    /// Reads some rows of a search for texts, or ends it.
    fn read_texts(&mut self) {
        let Source::Texts(search) = &mut self.source else { return };
        let mut tids = Vec::new();
        if !search.next_batch(&self.index, &mut tids) {
            self.source = Source::Done;
            return;
        }
        let (fingerprint, scope) = (K::Fingerprint::ZERO, search.last.unwrap_or(K::MIN.scope()));
        let hit = |tid| Hit { fingerprint, scope, tid, distance: 0, table: 0, position: 0 };
        self.batch.rows.extend(tids.into_iter().map(hit));
        self.sieve.sift(&mut self.batch.rows);
    }

    /// Reads a leaf of the range scan, or changes to the next source.
    fn read_range(&mut self) {
        let Source::Range(ranges) = &mut self.source else { return };
        let rows = &mut self.batch.rows;
        let Some(leaf) = ranges.scan.next_leaf(&self.index, ranges.distance, rows) else {
            let Source::Range(done) = std::mem::replace(&mut self.source, Source::Done) else {
                return;
            };
            self.source = match done.next(&self.index) {
                Some(ranges) => Source::Range(ranges),
                None => self.after_last(),
            };
            return;
        };
        self.sieve.sift(&mut self.batch.rows);
        self.keep(leaf);
    }

    /// Reads a leaf of the rows without a fingerprint.
    fn read_nulls(&mut self) {
        let Source::Nulls(nulls) = &mut self.source else { return };
        let length = self.index.shape.scope;
        let mut found = Vec::new();
        let leaf =
            if nulls.skip(length) { nulls.walk.next_leaf(&self.index, &mut found) } else { None };
        let Some(leaf) = leaf else {
            let left = std::mem::take(&mut nulls.left);
            self.source = Nulls::new(&self.index, left).map_or(Source::Done, Source::Nulls);
            return;
        };
        for row in found {
            let scope = row.entry.key.scope();
            let is_wanted = !self.unwanted.contains(row.entry.key.fingerprint());
            if is_wanted && nulls.scopes.contains(scope, length) {
                let fingerprint = K::Fingerprint::ZERO;
                let (tid, table, position) = (row.entry.tid, self.index.null_table(), 0);
                self.batch.rows.push(Hit { fingerprint, scope, tid, distance: 0, table, position });
                self.output.store_payload(row.payload, &mut self.batch.payloads);
            }
        }
        let is_kept = self.pin.is_kept && !self.batch.rows.is_empty();
        self.pin.hold(is_kept.then_some(leaf));
    }

    /// Copies the payloads of the batch's rows if wanted, and keeps their leaf pinned if necessary.
    fn keep(&mut self, leaf: Shared) {
        if self.output.wants_payloads && !self.batch.rows.is_empty() {
            // The scan has just read this page.
            if let Ok(page) = Page::check::<K>(leaf.bytes(), &self.index.shape) {
                self.batch.copy_payloads(&page);
            }
        }
        let is_kept = self.pin.is_kept && !self.batch.rows.is_empty();
        self.pin.hold(is_kept.then_some(leaf));
    }

    /// Pins the leaf of a row that has waited since its leaf was read, and copies its payload.
    /// False if vacuum has removed the row meanwhile.
    fn pin_again(&mut self, row: &Hit<K>, payload: &mut Vec<u8>) -> bool {
        self.pin.release();
        let Some((leaf, position)) = self.index.find(0, &row.entry()) else { return false };
        if self.output.wants_payloads
            && let Ok(page) = Page::check::<K>(leaf.bytes(), &self.index.shape)
        {
            payload.extend_from_slice(page.payload(position));
        }
        self.pin.hold(Some(leaf));
        true
    }
}

impl<K: TreeKey> Scan for Cursor<K> {
    unsafe fn restart(&mut self, desc: pg_sys::IndexScanDesc) {
        // SAFETY: the descriptor is this scan's, and its index is open.
        unsafe {
            pgrx::PgRelation::from_pg((*desc).indexRelation).count_index_scan();
            compat::count_search(desc);
        }
        self.account.searches += 1;
        self.pin.release();
        self.batch.clear();
        self.passed = None;
        // SAFETY: the descriptor is this scan's.
        let desc = unsafe { &*desc };
        let store = self.index.store;
        // SAFETY: the index's table is null or open, and the snapshot null or valid, until the scan
        // ends.
        self.index.store =
            unsafe { store.with_table(desc.heapRelation).with_snapshot(desc.xs_snapshot) };
        // SAFETY: the snapshot is valid, or null for a bitmap scan that has not begun.
        let is_mvcc = unsafe { is_mvcc(desc.xs_snapshot) };
        self.pin.is_kept = desc.xs_want_itup || !is_mvcc;
        // SAFETY: reads the server's recovery state.
        self.output.looks_rows_up = desc.xs_want_itup && unsafe { pg_sys::RecoveryInProgress() };
        self.output.wants_payloads = desc.xs_want_itup && self.index.shape.payload > 0;
        let Self { index, searched, texts, output, .. } = self;
        // SAFETY: the descriptor is this scan's, of this index.
        let request =
            unsafe { Request::read(desc, index, *searched, &output.columns, texts.as_mut()) };
        // For an index of texts, each request says whether the executor has to recheck.
        let is_lossy = self.texts.is_none() && self.searched.kind.is_lossy();
        self.output.recheck = is_lossy || request.asks_text || !is_mvcc;
        let is_found_again = match &request.driver {
            Driver::Within(any) => any.len() > 1 || self.searched.kind.has_many_keys(),
            Driver::Texts(any) => any.len() > 1,
            Driver::Nearest { .. } => self.searched.kind.has_many_keys(),
            Driver::Nothing => false,
        };
        let seen = is_found_again.then(HashSet::new);
        self.scopes = request.scopes.into();
        self.sieve = Sieve { filters: request.filters, seen };
        self.nulls_follow = request.nulls;
        self.unwanted = request.unwanted;
        self.output.orders = request.orders;
        self.source = self.first_source(request.driver);
        let texts = match &self.source {
            Source::Texts(search) => Some(search.wanted.clone()),
            _ => None,
        };
        self.burial.begin(&self.index, texts);
    }

    unsafe fn next_row(&mut self, desc: pg_sys::IndexScanDesc) -> bool {
        // SAFETY: the descriptor is this scan's. In a transaction that began in recovery, the
        // executor never sets kill_prior_tuple.
        if unsafe { (*desc).kill_prior_tuple } {
            self.account.dead += 1;
            self.burial.died(&self.index);
        }
        loop {
            if self.batch.next == self.batch.rows.len() && !self.next_batch() {
                return false;
            }
            let number = self.batch.next;
            let row = self.batch.rows[number];
            self.batch.next += 1;
            if self.passed.is_some_and(|key| key == row.entry().key) {
                continue;
            }
            let waited = matches!(self.source, Source::Nearest(_));
            let is_null = matches!(self.source, Source::Nulls(_));
            let mut found_again = Vec::new();
            if waited && self.pin.is_kept && !self.pin_again(&row, &mut found_again) {
                continue;
            }
            let length = self.index.shape.payload;
            let payloads = if waited { &found_again } else { &self.batch.payloads };
            let start = if waited { 0 } else { number * length };
            let payload = payloads.get(start..start + length).unwrap_or_default();
            // SAFETY: the descriptor is this scan's.
            if unsafe { self.output.emit(desc, &row, payload, is_null) } {
                self.account.returned += 1;
                // SAFETY: the descriptor is this scan's.
                self.account.rechecked += u64::from(unsafe { (*desc).xs_recheck });
                match &self.source {
                    Source::Nulls(_) => self.burial.handed_out_null(),
                    Source::Texts(search) => {
                        self.burial.handed_out(&self.index, &row, Some(search.at.0));
                    }
                    _ => self.burial.handed_out(&self.index, &row, None),
                }
                return true;
            }
        }
    }

    unsafe fn fill(&mut self, bitmap: *mut pg_sys::TIDBitmap) -> i64 {
        let mut count = 0;
        self.pin.is_kept = false;
        // The bitmap stores each TID only once.
        self.sieve.seen = None;
        while self.next_batch() {
            let rows = self.batch.rows.iter();
            let mut tids: Vec<_> = rows.map(|row| tid::unpack(row.tid)).collect();
            let recheck = self.output.recheck;
            // SAFETY: `tids` has that many elements, and the bitmap is valid.
            unsafe {
                pg_sys::tbm_add_tuples(bitmap, tids.as_mut_ptr(), tids.len() as i32, recheck);
            };
            count += tids.len() as i64;
        }
        self.account.returned += count as u64;
        self.account.rechecked += if self.output.recheck { count as u64 } else { 0 };
        count
    }

    fn pass_copies(&mut self) {
        // In an index of texts, the rows' own keys are not known here.
        if self.texts.is_none() {
            let latest = self.batch.next.checked_sub(1).and_then(|n| self.batch.rows.get(n));
            self.passed = latest.map(|row| row.entry().key);
            if let (Some(row), Source::Range(ranges)) = (latest, &mut self.source) {
                ranges.scan.pass_copies(row);
            }
        }
    }

    fn release(&mut self) {
        self.pin.release();
        self.burial.bury(&self.index);
        self.account.close();
    }
}

/// `IsMVCCSnapshot`; also true for a null snapshot.
unsafe fn is_mvcc(snapshot: pg_sys::Snapshot) -> bool {
    use pg_sys::SnapshotType::{SNAPSHOT_HISTORIC_MVCC, SNAPSHOT_MVCC};
    // SAFETY: the caller passes null or a valid snapshot.
    unsafe { snapshot.as_ref() }.is_none_or(|s| {
        s.snapshot_type == SNAPSHOT_MVCC || s.snapshot_type == SNAPSHOT_HISTORIC_MVCC
    })
}
