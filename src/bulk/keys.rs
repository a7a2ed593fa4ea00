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
    let mut reader: Option<(usize, KeyReader<'_>)> = None;
    for (number, i) in order {
        check_for_interrupts();
        let table = row::table(number);
        let kept = reader.take().filter(|&(kept, _)| kept == table);
        let make = || (table, KeyReader::new::<K>(&opened[table]));
        let (_, reader) = reader.insert(kept.unwrap_or_else(make));
        keys[i] = reader.key(row::tid(number));
    }
    keys
}

/// Reads the fingerprints of one table's rows.
struct KeyReader<'a> {
    heap: Heap<'a>,
    indexed: Indexed<'a>,
    searched: Searched,
}

impl<'a> KeyReader<'a> {
    fn new<K: TreeKey>(opened: &'a Opened) -> Self {
        let searched = Searched::of(&open::<K>(opened.rel()));
        Self { heap: Heap::new(opened), indexed: Indexed::new(opened), searched }
    }

    /// The key of a visible version.
    fn key<F: Key>(&mut self, tid: u64) -> Option<F> {
        if !self.heap.fetch(tid) {
            return None;
        }
        let searched = self.searched;
        // SAFETY: the value is of the index's column.
        let read = |value: pg_sys::Datum| unsafe { searched.keys::<F>(value) };
        let keys = self.indexed.with(&self.heap, read);
        keys.and_then(|keys| keys.as_slice().first().copied())
    }
}
