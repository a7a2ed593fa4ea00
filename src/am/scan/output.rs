//! Returns a row to the executor: its TID, its distances, and an index tuple if one is wanted.

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_index::TreeKey;
use simhash_index::key::Bytes;
use simhash_index::range::Hit;

use super::context::small_context;
use crate::am::columns::Columns;
use crate::am::keys::DatumSpace;
use crate::am::kind::Searched;
use crate::storage::check_for_interrupts;
use crate::types::tid;

pub struct Output<K: TreeKey> {
    searched: Searched,
    pub columns: Columns,
    /// For an index tuple and its values. Reset for each row.
    context: pg_sys::MemoryContext,
    /// The query of each order-by; `None` for NULL.
    pub orders: Vec<Option<K::Fingerprint>>,
    /// Whether the executor has to recheck the conditions.
    pub recheck: bool,
    /// Whether every row is looked up in the heap. The executor may find a heap page all-visible
    /// that was not so when the row was found: see amcanreturn.
    pub looks_rows_up: bool,
    /// Whether index tuples are wanted and the index has included columns.
    pub wants_payloads: bool,
}

impl<K: TreeKey> Output<K> {
    /// `context` is the scan's own memory context.
    pub fn new(searched: Searched, columns: Columns, context: pg_sys::MemoryContext) -> Self {
        // SAFETY: the new context is a child of the scan's, and is deleted with it.
        let context = unsafe { small_context(context, c"simhash index tuple") };
        Self {
            searched,
            columns,
            context,
            orders: Vec::new(),
            recheck: searched.kind.is_lossy(),
            looks_rows_up: false,
            wants_payloads: false,
        }
    }

    /// Appends a payload, if payloads are wanted.
    pub fn store_payload(&self, payload: K::Payload, payloads: &mut Vec<u8>) {
        if self.wants_payloads {
            let (start, length) = (payloads.len(), self.columns.payload_bytes());
            payloads.resize(start + length, 0);
            payload.store(&mut payloads[start..]);
        }
    }

    /// Puts a row into `desc`. False if rows are looked up and the scan's snapshot does not see
    /// this one. `payload` is the row's payload, if wanted. `is_null` says that the row has no
    /// fingerprint.
    ///
    /// # Safety
    /// `desc` is the descriptor of this scan.
    pub unsafe fn emit(
        &self,
        desc: pg_sys::IndexScanDesc,
        row: &Hit<K>,
        payload: &[u8],
        is_null: bool,
    ) -> bool {
        // SAFETY: `desc` is this scan's.
        let desc = unsafe { &mut *desc };
        if self.looks_rows_up && !is_visible(desc, row.tid) {
            return false;
        }
        desc.xs_heaptid = tid::unpack(row.tid);
        desc.xs_recheck = self.recheck;
        self.put_distances(desc, row, is_null);
        if desc.xs_want_itup {
            self.put_tuple(desc, row, payload, is_null);
        }
        true
    }

    fn put_distances(&self, desc: &mut pg_sys::IndexScanDescData, row: &Hit<K>, is_null: bool) {
        // For an array this is a lower bound: the key may be at another position than the query's.
        desc.xs_recheckorderby = self.searched.kind.has_many_keys();
        for i in 0..desc.numberOfOrderBys.max(0) as usize {
            let query = if is_null { None } else { self.orders[i] };
            // With one order-by, use the scan's distance: for an array it is the least to any of
            // several queries.
            let alone = self.orders.len() == 1;
            let distance =
                query.map(|q| if alone { row.distance } else { row.fingerprint.hamming(q) });
            // SAFETY: the descriptor's arrays have one element for each order-by.
            unsafe {
                *desc.xs_orderbyvals.add(i) = pg_sys::Datum::from(distance.unwrap_or(0) as i32);
                *desc.xs_orderbynulls.add(i) = distance.is_none();
            }
        }
    }

    fn put_tuple(
        &self,
        desc: &mut pg_sys::IndexScanDescData,
        row: &Hit<K>,
        payload: &[u8],
        is_null: bool,
    ) {
        // SAFETY: the descriptor's tuple is null, or the previous one, which the executor no longer
        // uses.
        let caller = unsafe {
            pg_sys::MemoryContextReset(self.context);
            pg_sys::MemoryContextSwitchTo(self.context)
        };
        let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
        let mut nulls = [true; pg_sys::INDEX_MAX_KEYS as usize];
        let column = self.columns.scope_columns();
        self.columns.decode::<K>(row.scope, payload, &mut values, &mut nulls);
        // A count(*) may be an index-only scan even if no column can be returned. The value is
        // then not read, and cannot be made.
        nulls[column] = is_null || self.searched.kind.is_lossy();
        let mut space = DatumSpace::new();
        if !nulls[column] {
            values[column] = self.searched.datum(row.fingerprint, &mut space);
        }
        let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
        // SAFETY: ambeginscan has set xs_itupdesc, and there is a value for each of its columns.
        unsafe {
            desc.xs_itup = pg_sys::index_form_tuple(desc.xs_itupdesc, values, nulls);
            pg_sys::MemoryContextSwitchTo(caller);
        }
    }
}

/// Whether the scan's snapshot sees the row. If so, no vacuum removes the row while the snapshot is
/// in use.
fn is_visible(desc: &pg_sys::IndexScanDescData, row: u64) -> bool {
    let (mut tid, none) = (tid::unpack(row), std::ptr::null_mut());
    let (heap, snapshot) = (desc.heapRelation, desc.xs_snapshot);
    check_for_interrupts();
    // SAFETY: the scan is in progress, so its heap is open and its snapshot registered.
    unsafe { pg_sys::table_index_fetch_tuple_check(heap, &mut tid, snapshot, none) }
}
