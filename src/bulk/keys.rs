//! The fingerprints of single rows, as the column or expression of their index yields them.

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_core::search::TreeKey;

use super::heap::Heap;
use super::indexed::Indexed;
use super::row;
use super::target::OpenedAll;
use crate::am::kind::{Searched, open};
use crate::am::opened::Opened;
use crate::storage::check_for_interrupts;

/// The fingerprints of visible rows, which are read in heap order.
pub(super) fn keys_of<K: TreeKey>(opened: &OpenedAll, rows: &[u64]) -> Vec<Option<K::Fingerprint>> {
    let mut order: Vec<(u64, usize)> = rows.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut keys = vec![None; rows.len()];
    let mut reader: Option<(usize, KeyReader)> = None;
    for (number, i) in order {
        check_for_interrupts();
        let table = row::table(number);
        let kept = reader.take().filter(|&(kept, _)| kept == table);
        // SAFETY: the relations are open until this returns.
        let make = || (table, unsafe { KeyReader::new::<K>(&opened[table]) });
        let (_, reader) = reader.insert(kept.unwrap_or_else(make));
        keys[i] = reader.key(row::tid(number));
    }
    keys
}

/// Reads the fingerprints of one table's rows.
struct KeyReader {
    heap: Heap,
    indexed: Indexed,
    searched: Searched,
}

impl KeyReader {
    /// # Safety
    /// The relations stay open while the result is used.
    unsafe fn new<K: TreeKey>(opened: &Opened) -> Self {
        let searched = Searched::of(&open::<K>(opened.rel()));
        // SAFETY: the caller keeps the relations open while the result is used.
        unsafe { Self { heap: Heap::new(opened), indexed: Indexed::new(opened), searched } }
    }

    /// The key of a visible version.
    fn key<F: Key>(&mut self, tid: u64) -> Option<F> {
        if !self.heap.fetch(tid) {
            return None;
        }
        let searched = self.searched;
        // SAFETY: the row is in its slot; the value is of the index's column.
        let read = |value: pg_sys::Datum| unsafe { searched.keys::<F>(value) };
        // SAFETY: the slot has a row of the table that the index is on.
        let keys = unsafe { self.indexed.with(self.heap.slot(), read) };
        keys.and_then(|keys| keys.as_slice().first().copied())
    }
}
