//! Index scans as PostgreSQL drives them: begin, rescan, one row or a bitmap at a time, end.
//!
//! The state lives in a memory context of its own whose deletion drops it, so a query that fails
//! leaks nothing. A leaf stays pinned while rows of it are handed out to an index-only scan or under a
//! snapshot other than MVCC: vacuum then waits before it lets their TIDs be used anew.
//!
//! Where a row may have several keys, the scan remembers which rows it has handed out. A row that takes a
//! remembered row's TID meanwhile is passed over: rightly under an MVCC snapshot, which cannot see it; and
//! under another (an exclusion constraint's check) because that row was inserted after the one that is
//! being checked, so its own check finds that one.

use std::collections::HashSet;
use std::mem::ManuallyDrop;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::Key;
use simhash_index::Entry;
use simhash_index::nearest::NearestOfAny;
use simhash_index::range::{Hit, RangeScan};
use simhash_index::walk::LeafWalk;

use super::kind::{Condition, Kind, open};
use super::{check_for_interrupts, strategy, unpack_tid, with_key_type};
use crate::compat;
use crate::error::{raise, reserve};
use crate::storage::cache::{Index, bits};
use crate::storage::{IndexRel, Pinned, Shared};

/// What the callbacks need of a scan, whatever the key type.
trait Scan {
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
    /// Gives up the pin: before the scan ends in the normal way.
    fn release(&mut self);
}

/// Which rows are still to come.
enum Source<F> {
    Range(RangeScan<F, IndexRel>, u32),
    Nearest(Box<NearestOfAny<F, IndexRel>>),
    /// The rows without a fingerprint.
    Nulls(LeafWalk<F>),
    Done,
}

struct ScanOf<F> {
    index: Index<F>,
    kind: Kind,
    /// Where index tuples are made.
    context: pg_sys::MemoryContext,
    source: Source<F>,
    /// Conditions beside the one that drives the scan. Empty for lossy kinds with several keys a row.
    filters: Vec<Condition<F>>,
    /// Range scans still to be made after this one: a row with any of these keys is looked for.
    drivers: Vec<Condition<F>>,
    /// Rows handed out, where a row may have several keys.
    seen: Option<HashSet<u64>>,
    /// Whether rows without a fingerprint follow the others.
    nulls_follow: bool,
    /// The query of each order-by; none where it is NULL, as all distances to it are.
    orders: Vec<Option<F>>,
    /// Those after the one that the scan goes by.
    later: Vec<F>,
    /// Rows at the distance found last, kept back while there may be more: they are ordered by `later`.
    ties: Vec<Hit<F>>,
    /// Whether a handed-out row's leaf stays pinned.
    keeps_pin: bool,
    /// Whether every row is looked up in the table, for the executor may take a page for all-visible
    /// that was not when the row was found: see amcanreturn.
    looks_rows_up: bool,
    recheck: bool,
    batch: Vec<Hit<F>>,
    emitted: usize,
    /// Whether the batch holds rows without a fingerprint.
    batch_is_null: bool,
    pin: ManuallyDrop<Option<Pinned>>,
}

/// The scan's state as `opaque` refers to it.
struct Opaque {
    context: pg_sys::MemoryContext,
    scan: Box<dyn Scan>,
}

unsafe extern "C-unwind" fn drop_opaque(state: *mut std::ffi::c_void) {
    // SAFETY: the callback's argument is the box that ambeginscan made; contexts call it once.
    drop(unsafe { Box::from_raw(state.cast::<Opaque>()) });
}

/// ambeginscan.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambeginscan(
    rel: pg_sys::Relation,
    keys: i32,
    order_bys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: an open index; the context and its callback are set up before anything can fail but the
    // allocations themselves.
    unsafe {
        let desc = pg_sys::RelationGetIndexScan(rel, keys, order_bys);
        let index = IndexRel::new(rel);
        let context = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"simhash scan".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        );
        let scan: Box<dyn Scan> =
            with_key_type!(bits(index), F => Box::new(ScanOf::<F>::new(open(index), context)));
        let callback: *mut pg_sys::MemoryContextCallback =
            pg_sys::MemoryContextAllocZero(context, size_of::<pg_sys::MemoryContextCallback>()).cast();
        let opaque = Box::into_raw(Box::new(Opaque { context, scan }));
        (*callback).func = Some(drop_opaque);
        (*callback).arg = opaque.cast();
        pg_sys::MemoryContextRegisterResetCallback(context, callback);
        (*desc).opaque = opaque.cast();
        (*desc).xs_itupdesc = (*rel).rd_att;
        if order_bys > 0 {
            let count = order_bys as usize;
            (*desc).xs_orderbyvals = pg_sys::palloc0(count * size_of::<pg_sys::Datum>()).cast();
            (*desc).xs_orderbynulls = pg_sys::palloc0(count * size_of::<bool>()).cast();
        }
        desc
    }
}

unsafe fn opaque<'a>(desc: pg_sys::IndexScanDesc) -> &'a mut Opaque {
    // SAFETY: the caller passes a scan that ambeginscan made and amendscan has not ended.
    unsafe { &mut *(*desc).opaque.cast::<Opaque>() }
}

/// amrescan.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amrescan(
    desc: pg_sys::IndexScanDesc,
    keys: pg_sys::ScanKey,
    _n_keys: i32,
    order_bys: pg_sys::ScanKey,
    _n_order_bys: i32,
) {
    // SAFETY: the descriptor has room for as many keys as it was begun with.
    unsafe {
        if !keys.is_null() && (*desc).numberOfKeys > 0 {
            std::ptr::copy(keys, (*desc).keyData, (*desc).numberOfKeys as usize);
        }
        if !order_bys.is_null() && (*desc).numberOfOrderBys > 0 {
            std::ptr::copy(order_bys, (*desc).orderByData, (*desc).numberOfOrderBys as usize);
        }
        opaque(desc).scan.restart(desc);
    }
}

/// amgettuple.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amgettuple(
    desc: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    // SAFETY: a scan in progress.
    unsafe { opaque(desc).scan.next_row(desc) }
}

/// amgetbitmap.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amgetbitmap(
    desc: pg_sys::IndexScanDesc,
    bitmap: *mut pg_sys::TIDBitmap,
) -> i64 {
    // SAFETY: a scan in progress.
    unsafe { opaque(desc).scan.fill(bitmap) }
}

/// amendscan.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amendscan(desc: pg_sys::IndexScanDesc) {
    // SAFETY: the context's deletion drops the state.
    unsafe {
        let opaque = opaque(desc);
        opaque.scan.release();
        (*desc).opaque = std::ptr::null_mut();
        (*desc).xs_itup = std::ptr::null_mut();
        pg_sys::MemoryContextDelete(opaque.context);
    }
}

impl<F: Key> ScanOf<F> {
    fn new(index: Index<F>, context: pg_sys::MemoryContext) -> Self {
        let kind = Kind::of(&index);
        let recheck = kind.is_lossy();
        Self {
            index,
            kind,
            context,
            source: Source::Done,
            filters: Vec::new(),
            drivers: Vec::new(),
            seen: None,
            nulls_follow: false,
            orders: Vec::new(),
            later: Vec::new(),
            ties: Vec::new(),
            keeps_pin: false,
            looks_rows_up: false,
            recheck,
            batch: Vec::new(),
            emitted: 0,
            batch_is_null: false,
            pin: ManuallyDrop::new(None),
        }
    }

    /// Reads the scan keys and decides what drives the scan.
    unsafe fn read_keys(&mut self, desc: pg_sys::IndexScanDesc) {
        // SAFETY: the arrays are as long as the descriptor says.
        let (keys, order_bys) = unsafe {
            (
                slice((*desc).keyData, (*desc).numberOfKeys),
                slice((*desc).orderByData, (*desc).numberOfOrderBys),
            )
        };
        self.filters.clear();
        self.drivers.clear();
        self.nulls_follow = true;
        self.orders.clear();
        self.later.clear();
        self.source = Source::Done;
        let many_keys = self.kind.has_many_keys();
        let (mut only_nulls, mut not_null) = (false, false);
        for key in keys {
            let flags = key.sk_flags as u32;
            if flags & pg_sys::SK_SEARCHNULL != 0 {
                only_nulls = true;
            } else if flags & pg_sys::SK_SEARCHNOTNULL != 0 {
                not_null = true;
            } else if flags & pg_sys::SK_ISNULL != 0 {
                // No operator here is true of a NULL argument.
                self.nulls_follow = false;
                return;
            } else {
                // SAFETY: the argument is of the operator's right-hand type and not NULL.
                let conditions = unsafe { self.kind.conditions(key.sk_strategy, key.sk_argument) };
                if conditions.is_empty() {
                    self.nulls_follow = false;
                    return;
                }
                if !many_keys {
                    self.filters.extend(conditions);
                } else if self.drivers.is_empty() || reach(&conditions) < reach(&self.drivers) {
                    self.drivers = conditions;
                }
            }
        }
        // A row without a key is in the table of NULLs, though its array need not be NULL.
        let strict = not_null && !many_keys || !self.filters.is_empty() || !self.drivers.is_empty();
        self.nulls_follow = !strict;
        if only_nulls {
            if !strict {
                self.source = self.nulls();
            }
            self.nulls_follow = false;
            return;
        }
        self.choose_source(order_bys);
    }

    fn choose_source(&mut self, order_bys: &[pg_sys::ScanKeyData]) {
        if order_bys.len() > 1 && self.kind.is_lossy() {
            // amcostestimate leaves no reason to plan it. The executor, which knows the distances, takes rows
            // whose first one is NULL for equal, whatever the second.
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("index \"{}\" cannot order by several distances", self.index.store.name()),
                "Let the planner sort: SET enable_seqscan = on; SET enable_sort = on.",
            );
        }
        for key in order_bys {
            let given = key.sk_flags as u32 & pg_sys::SK_ISNULL == 0 && key.sk_strategy == strategy::DISTANCE;
            // SAFETY: the order-by argument is of the column's type and not NULL.
            let queries = given.then(|| unsafe { self.kind.keys::<F>(key.sk_argument) });
            let query = queries.as_ref().and_then(|queries| queries.as_slice().first().copied());
            self.orders.push(query);
            match (&queries, query, &self.source) {
                (_, Some(query), Source::Nearest(_)) => self.later.push(query),
                (Some(queries), Some(_), _) => {
                    let nearest = NearestOfAny::new(&self.index, queries.as_slice());
                    self.source = Source::Nearest(Box::new(nearest));
                }
                _ => {}
            }
        }
        if matches!(self.source, Source::Nearest(_)) {
            return;
        }
        let tightest = (0..self.filters.len()).min_by_key(|&i| self.filters[i].distance);
        let driver = tightest.map(|i| self.filters.swap_remove(i)).or_else(|| self.drivers.pop());
        self.start_range(driver.unwrap_or(Condition { center: F::ZERO, distance: F::BITS }));
    }

    fn start_range(&mut self, driver: Condition<F>) {
        let leaves = self.index.leaves_per_table();
        let distance = driver.distance.min(F::BITS);
        let plan = self.index.plan(distance, leaves);
        self.source = Source::Range(RangeScan::new(plan, driver.center), distance);
    }

    /// Fetches the next rows. False at the end.
    fn next_batch(&mut self) -> bool {
        self.release();
        self.batch.clear();
        self.emitted = 0;
        while self.batch.is_empty() {
            check_for_interrupts();
            let leaf = match &mut self.source {
                Source::Done => return false,
                Source::Range(scan, distance) => scan.next_leaf(&self.index, *distance, &mut self.batch),
                Source::Nearest(nearest) => {
                    let more = nearest.next_batch(&self.index, &mut self.batch);
                    self.apply_filters();
                    self.drop_seen();
                    self.order_ties(more);
                    if more || !self.batch.is_empty() {
                        continue;
                    }
                    None
                }
                Source::Nulls(_) => {
                    self.read_nulls();
                    continue;
                }
            };
            let Some(leaf) = leaf else {
                if let Some(driver) = self.drivers.pop() {
                    self.start_range(driver);
                    continue;
                }
                self.source = if self.nulls_follow { self.nulls() } else { Source::Done };
                continue;
            };
            self.keep(leaf);
            self.apply_filters();
            self.drop_seen();
        }
        true
    }

    /// Keeps rows back until all at their distance are there, then orders them by their later distances.
    fn order_ties(&mut self, more: bool) {
        if self.later.is_empty() {
            return;
        }
        reserve(&mut self.ties, self.batch.len());
        self.ties.append(&mut self.batch);
        let Some(farthest) = self.ties.last().map(|hit| hit.distance) else { return };
        let complete =
            if more { self.ties.partition_point(|hit| hit.distance < farthest) } else { self.ties.len() };
        self.batch.extend(self.ties.drain(..complete));
        let later = |hit: &Hit<F>| {
            let fingerprint = hit.fingerprint;
            self.later.iter().map(move |&query| fingerprint.hamming(query))
        };
        self.batch.sort_unstable_by(|a, b| {
            check_for_interrupts();
            a.distance.cmp(&b.distance).then_with(|| later(a).cmp(later(b)))
        });
    }

    fn drop_seen(&mut self) {
        if let Some(seen) = &mut self.seen {
            self.batch.retain(|hit| seen.insert(hit.tid));
        }
    }

    fn keep(&mut self, leaf: Shared) {
        self.release();
        if self.keeps_pin && !self.batch.is_empty() {
            *self.pin = Some(leaf.unlock());
        }
    }

    fn apply_filters(&mut self) {
        if !self.filters.is_empty() {
            let filters = &self.filters;
            self.batch.retain(|hit| filters.iter().all(|f| hit.fingerprint.hamming(f.center) <= f.distance));
        }
    }

    fn nulls(&self) -> Source<F> {
        Source::Nulls(LeafWalk::new(self.index.null_table(), Entry::MIN))
    }

    fn read_nulls(&mut self) {
        let Source::Nulls(walk) = &mut self.source else { return };
        let mut entries = Vec::new();
        let Some(leaf) = walk.next_leaf(&self.index, &mut entries) else {
            self.source = Source::Done;
            return;
        };
        self.batch_is_null = true;
        let rows =
            entries.into_iter().map(|entry| Hit { fingerprint: entry.key, tid: entry.tid, distance: 0 });
        self.batch.extend(rows);
        self.keep(leaf);
    }

    /// Pins the leaf that holds a row which has waited since its leaf was read; false if vacuum has
    /// removed it meanwhile.
    fn pin_again(&mut self, hit: &Hit<F>) -> bool {
        self.release();
        let entry = Entry { key: hit.fingerprint, tid: hit.tid };
        let leaf = self.index.find(0, &entry);
        let found = leaf.is_some();
        *self.pin = leaf.map(Shared::unlock);
        found
    }

    unsafe fn emit(&self, desc: pg_sys::IndexScanDesc, hit: &Hit<F>) {
        // SAFETY: the descriptor's arrays have one element for each order-by; xs_itupdesc is set when
        // an index tuple is wanted.
        unsafe {
            (*desc).xs_heaptid = unpack_tid(hit.tid);
            (*desc).xs_recheck = self.recheck;
            // Another position's key is no farther than the row.
            (*desc).xs_recheckorderby = self.kind.has_many_keys();
            for i in 0..(*desc).numberOfOrderBys.max(0) as usize {
                let query = if self.batch_is_null { None } else { self.orders[i] };
                // An array's least distance is to any of several queries.
                let alone = self.orders.len() == 1;
                let distance = query.map(|q| if alone { hit.distance } else { hit.fingerprint.hamming(q) });
                *(*desc).xs_orderbyvals.add(i) = pg_sys::Datum::from(distance.unwrap_or(0) as i32);
                *(*desc).xs_orderbynulls.add(i) = distance.is_none();
            }
            if (*desc).xs_want_itup {
                if !(*desc).xs_itup.is_null() {
                    pg_sys::pfree((*desc).xs_itup.cast());
                }
                let bytes = hit.fingerprint.to_u128().to_be_bytes();
                let mut value = if F::BITS == 64 {
                    pg_sys::Datum::from(hit.fingerprint.to_u128() as u64)
                } else {
                    pg_sys::Datum::from(bytes.as_ptr())
                };
                // count(*) is planned as an index-only scan even where no column can be returned: nobody
                // reads the value then, and it could not be made.
                let mut is_null = self.batch_is_null || self.kind.is_lossy();
                let caller = pg_sys::MemoryContextSwitchTo(self.context);
                (*desc).xs_itup = pg_sys::index_form_tuple((*desc).xs_itupdesc, &mut value, &mut is_null);
                pg_sys::MemoryContextSwitchTo(caller);
            }
        }
    }
}

impl<F: Key> Scan for ScanOf<F> {
    unsafe fn restart(&mut self, desc: pg_sys::IndexScanDesc) {
        // SAFETY: the scan's index is open.
        unsafe {
            pgrx::PgRelation::from_pg((*desc).indexRelation).count_index_scan();
            compat::count_search(desc);
        }
        self.release();
        self.batch.clear();
        self.emitted = 0;
        self.batch_is_null = false;
        self.ties.clear();
        // SAFETY: the descriptor is the scan's own; its snapshot is set, or null for a bitmap scan
        // that has not begun.
        unsafe {
            self.index.store.snapshot = (*desc).xs_snapshot;
            self.keeps_pin = (*desc).xs_want_itup || !is_mvcc((*desc).xs_snapshot);
            self.looks_rows_up = (*desc).xs_want_itup && pg_sys::RecoveryInProgress();
            self.recheck = self.kind.is_lossy() || !is_mvcc((*desc).xs_snapshot);
            self.seen = self.kind.has_many_keys().then(HashSet::new);
            self.read_keys(desc);
        }
    }

    unsafe fn next_row(&mut self, desc: pg_sys::IndexScanDesc) -> bool {
        loop {
            if self.emitted == self.batch.len() && !self.next_batch() {
                return false;
            }
            let hit = self.batch[self.emitted];
            self.emitted += 1;
            let waited = matches!(self.source, Source::Nearest(_)) && !self.batch_is_null;
            // SAFETY: the descriptor is the scan's own.
            unsafe {
                if waited && self.keeps_pin && !self.pin_again(&hit) {
                    continue;
                }
                if self.looks_rows_up && !is_visible(desc, &hit) {
                    continue;
                }
                self.emit(desc, &hit);
            }
            return true;
        }
    }

    unsafe fn fill(&mut self, bitmap: *mut pg_sys::TIDBitmap) -> i64 {
        let mut rows = 0;
        self.keeps_pin = false;
        // The bitmap holds each row once.
        self.seen = None;
        while self.next_batch() {
            let mut tids: Vec<_> = self.batch.iter().map(|hit| unpack_tid(hit.tid)).collect();
            // SAFETY: the array holds as many TIDs as it says.
            unsafe { pg_sys::tbm_add_tuples(bitmap, tids.as_mut_ptr(), tids.len() as i32, self.recheck) };
            rows += tids.len() as i64;
        }
        rows
    }

    fn release(&mut self) {
        drop(self.pin.take());
    }
}

/// The greatest distance that one of the conditions allows.
fn reach<F>(conditions: &[Condition<F>]) -> u32 {
    conditions.iter().map(|condition| condition.distance).max().unwrap_or(0)
}

unsafe fn slice<'a>(keys: pg_sys::ScanKey, count: i32) -> &'a [pg_sys::ScanKeyData] {
    if count <= 0 || keys.is_null() {
        return &[];
    }
    // SAFETY: the caller passes an array of this length.
    unsafe { std::slice::from_raw_parts(keys, count as usize) }
}

/// Whether the scan's snapshot sees the row. If it does, no vacuum takes the row away before the
/// snapshot ends.
unsafe fn is_visible<F>(desc: pg_sys::IndexScanDesc, hit: &Hit<F>) -> bool {
    let mut tid = unpack_tid(hit.tid);
    // SAFETY: a scan in progress: its table is open, its snapshot registered.
    unsafe {
        let (table, snapshot) = ((*desc).heapRelation, (*desc).xs_snapshot);
        check_for_interrupts();
        pg_sys::table_index_fetch_tuple_check(table, &mut tid, snapshot, std::ptr::null_mut())
    }
}

/// `IsMVCCSnapshot`.
unsafe fn is_mvcc(snapshot: pg_sys::Snapshot) -> bool {
    use pg_sys::SnapshotType::{SNAPSHOT_HISTORIC_MVCC, SNAPSHOT_MVCC};
    // SAFETY: null or a snapshot.
    unsafe { snapshot.as_ref() }
        .is_none_or(|s| s.snapshot_type == SNAPSHOT_MVCC || s.snapshot_type == SNAPSHOT_HISTORIC_MVCC)
}
