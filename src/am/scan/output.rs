//! How a row reaches the executor: its TID, its distances, and an index tuple where one is wanted.

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_index::TreeKey;
use simhash_index::key::Bytes;
use simhash_index::range::Hit;

use crate::am::columns::Columns;
use crate::am::keys::DatumSpace;
use crate::am::kind::Searched;
use crate::storage::check_for_interrupts;
use crate::types::tid;

pub struct Output<K: TreeKey> {
    searched: Searched,
    pub columns: Columns,
    /// Where an index tuple and its values are made. Emptied for each row.
    context: pg_sys::MemoryContext,
    /// The query of each order-by; none where it is NULL.
    pub orders: Vec<Option<K::Fingerprint>>,
    /// Whether the executor has to check the conditions again.
    pub recheck: bool,
    /// Whether every row is looked up in the heap: the executor may take a page for all-visible
    /// that was not so when the row was found. See amcanreturn.
    pub looks_rows_up: bool,
    /// Whether index tuples are made, and have included columns.
    pub wants_payloads: bool,
}

impl<K: TreeKey> Output<K> {
    /// `context` is the scan's own.
    pub fn new(searched: Searched, columns: Columns, context: pg_sys::MemoryContext) -> Self {
        // SAFETY: a context below the scan's, with which it is deleted.
        let context = unsafe {
            pg_sys::AllocSetContextCreateInternal(
                context,
                c"simhash index tuple".as_ptr(),
                pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
                pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
                pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
            )
        };
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

    /// Puts a row into `desc`; false if the row is looked up and the scan's snapshot does not see
    /// it. `payload` is what the index stores beside it, if that is wanted. `is_null`: it has no
    /// fingerprint.
    ///
    /// # Safety
    /// `desc` is the scan's own.
    pub unsafe fn emit(
        &self,
        desc: pg_sys::IndexScanDesc,
        row: &Hit<K>,
        payload: &[u8],
        is_null: bool,
    ) -> bool {
        // SAFETY: as this function's; xs_itupdesc is set when an index tuple is wanted.
        unsafe {
            if self.looks_rows_up && !is_visible(desc, row.tid) {
                return false;
            }
            (*desc).xs_heaptid = tid::unpack(row.tid);
            (*desc).xs_recheck = self.recheck;
            self.put_distances(desc, row, is_null);
            if (*desc).xs_want_itup {
                self.put_tuple(desc, row, payload, is_null);
            }
        }
        true
    }

    unsafe fn put_distances(&self, desc: pg_sys::IndexScanDesc, row: &Hit<K>, is_null: bool) {
        // SAFETY: the descriptor's arrays have one element for each order-by.
        unsafe {
            // A key at another place of the array is no farther than the row.
            (*desc).xs_recheckorderby = self.searched.kind.has_many_keys();
            for i in 0..(*desc).numberOfOrderBys.max(0) as usize {
                let query = if is_null { None } else { self.orders[i] };
                // An array's least distance is to any of several queries.
                let alone = self.orders.len() == 1;
                let distance =
                    query.map(|q| if alone { row.distance } else { row.fingerprint.hamming(q) });
                *(*desc).xs_orderbyvals.add(i) = pg_sys::Datum::from(distance.unwrap_or(0) as i32);
                *(*desc).xs_orderbynulls.add(i) = distance.is_none();
            }
        }
    }

    unsafe fn put_tuple(
        &self,
        desc: pg_sys::IndexScanDesc,
        row: &Hit<K>,
        payload: &[u8],
        is_null: bool,
    ) {
        // SAFETY: the descriptor's tuple is null or the one that was made here before, which the
        // executor has done with.
        unsafe {
            pg_sys::MemoryContextReset(self.context);
            let caller = pg_sys::MemoryContextSwitchTo(self.context);
            let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
            let mut nulls = [true; pg_sys::INDEX_MAX_KEYS as usize];
            let column = self.columns.scope_columns();
            self.columns.decode::<K>(row.scope, payload, &mut values, &mut nulls);
            // count(*) is planned as an index-only scan even where no column can be returned. Then
            // nobody reads the value, and there is none to be made.
            nulls[column] = is_null || self.searched.kind.is_lossy();
            let mut space = DatumSpace::new();
            if !nulls[column] {
                values[column] = self.searched.datum(row.fingerprint, &mut space);
            }
            (*desc).xs_itup = pg_sys::index_form_tuple(
                (*desc).xs_itupdesc,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
            pg_sys::MemoryContextSwitchTo(caller);
        }
    }
}

/// Whether the scan's snapshot sees the row. If it does, no vacuum takes the row away before the
/// snapshot ends.
unsafe fn is_visible(desc: pg_sys::IndexScanDesc, row: u64) -> bool {
    let mut tid = tid::unpack(row);
    // SAFETY: a scan in progress: its heap is open, its snapshot registered.
    unsafe {
        let (heap, snapshot) = ((*desc).heapRelation, (*desc).xs_snapshot);
        check_for_interrupts();
        pg_sys::table_index_fetch_tuple_check(heap, &mut tid, snapshot, std::ptr::null_mut())
    }
}
