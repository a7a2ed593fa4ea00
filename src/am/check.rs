//! Verifies an index for `simhash_index_check`.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::hash::feature_hash;
use simhash_index::check::check_tables;
use simhash_index::index::root;
use simhash_index::key::{Bytes, MOST_SCOPE};
use simhash_index::page::Page;
use simhash_index::postings::{RECENT, SETTLED};
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Row, TreeKey};

use super::keys::{IndexRow, RowReader};
use super::kind::open;
use super::opened::Opened;
use super::rights::check_owner;
use crate::error::{raise, reserve};
use crate::storage::{Index, Shared, check_for_interrupts, family, with_key_type};
use crate::types::tid;

/// Verifies an index and, with `heap`, that it has every row. Raises XX002 with the page where
/// something is wrong.
pub fn check(index: pg_sys::Oid, heap: bool) {
    // SAFETY: reads the server's recovery state.
    if unsafe { pg_sys::RecoveryInProgress() } {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "recovery is in progress".to_owned(),
            "An index is checked on the primary, or after promotion.",
        );
    }
    check_owner(index);
    // The lock blocks writers: what is compared must not change meanwhile.
    let opened = Opened::new(index, pg_sys::ShareLock);
    opened.check_valid();
    with_key_type!(family(opened.rel()), K => {
        let index = open::<K>(opened.rel());
        check_tables(&index);
        if heap {
            check_covered(&opened);
            check_heap(&index, &opened);
        }
    });
}

/// Raises 55000 if the scan of the heap might see row versions that the index does not have. A
/// snapshot older than the index sees versions that were already outdated when it was built. Below
/// REPEATABLE READ the scan takes a new snapshot.
fn check_covered(opened: &Opened) {
    // SAFETY: reads a setting of the transaction.
    let keeps_snapshot = unsafe { pg_sys::XactIsoLevel } >= pg_sys::XACT_REPEATABLE_READ as i32;
    if keeps_snapshot && !opened.covers_snapshot() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "index \"{}\" cannot be checked against its table by this transaction yet",
                opened.rel().name()
            ),
            "It was built while rows had versions that it does not cover: start a new transaction.",
        );
    }
}

/// The state of the heap scan's callback.
struct HeapCheck<K: TreeKey> {
    index: Index<K>,
    reader: RowReader,
    /// For an index of texts: the live rows and their expected postings.
    rows: Vec<Expected>,
}

/// The postings of a row that have not been found yet: their number and the sum of their hashes. If
/// a row's postings are not those of its keys, the sum differs, except with probability 2^-64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    tid: u64,
    postings: i64,
    sum: u64,
}

impl Expected {
    fn new<K: TreeKey>(row: &IndexRow<K>) -> Self {
        let keys = row.keys();
        let hash = |&key: &K::Fingerprint| hash_of(row.beside.row(key).entry.key);
        let sum = keys.iter().map(hash).fold(0, u64::wrapping_add);
        Self { tid: row.beside.tid, postings: keys.len() as i64, sum }
    }
}

/// A hash of a posting's key and scope.
fn hash_of<K: TreeKey>(key: K) -> u64 {
    let mut bytes = [0; MOST_SCOPE + 8];
    let (scope, number) = bytes.split_at_mut(MOST_SCOPE);
    key.scope().store(&mut scope[..K::Scope::BYTES]);
    number.copy_from_slice(&Fingerprint::top(key.fingerprint()).to_ne_bytes());
    feature_hash(&bytes)
}

fn check_heap<K: TreeKey>(index: &Index<K>, opened: &Opened) {
    let reader = RowReader::new(index);
    let mut state = HeapCheck { index: index.clone(), reader, rows: Vec::new() };
    let each: pg_sys::IndexBuildCallback = Some(look_up::<K>);
    let (heap, rel, place) = (opened.heap, opened.index, (&raw mut state).cast());
    // SAFETY: the relations are open, and functions in expressions run with their owner's
    // privileges meanwhile. The callback gets `state`, which outlives the scan.
    unsafe {
        let info = pg_sys::BuildIndexInfo(rel);
        // Scan only rows that a new snapshot sees: the entries of a dead row may have been removed
        // already.
        (*info).ii_Concurrent = true;
        (*info).ii_ExclusionOps = std::ptr::null_mut();
        let none = std::ptr::null_mut();
        pg_sys::table_index_build_scan(heap, rel, info, true, false, each, place, none);
    }
    if index.is_of_postings() {
        state.expect_postings();
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn look_up<K: TreeKey>(
    _rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes the state that `check_heap` gave it.
    let state = unsafe { &mut *state.cast::<HeapCheck<K>>() };
    check_for_interrupts();
    // SAFETY: PostgreSQL passes a value of each column, and the row's TID.
    let row = unsafe { state.reader.read::<K>(values, is_null, tid) };
    if state.index.is_of_postings() {
        state.expect_row(state.index.null_table(), row.beside.row(row.presence().key()));
        reserve(&mut state.rows, 1);
        state.rows.push(Expected::new(&row));
        return;
    }
    if row.keys().is_empty() {
        state.expect_row(state.index.null_table(), row.beside.row(K::Fingerprint::ZERO));
    }
    for &fingerprint in row.keys() {
        for block_table in 0..state.index.null_table() {
            let key = state.index.layout.rotate(fingerprint, u32::from(block_table));
            state.expect_row(block_table, row.beside.row(key));
        }
    }
}

impl<K: TreeKey> HeapCheck<K> {
    fn expect_row(&self, block_table: u8, row: Row<K>) {
        let entry = row.entry;
        let found = self.index.find(block_table, &entry);
        let stored = found.map(|(leaf, position)| self.payload(&leaf, position));
        if stored == Some(row.payload) {
            return;
        }
        let (_, page) = self.index.cover::<Shared>(block_table, &entry, None);
        let what = if stored.is_some() { "has other included values" } else { "is missing" };
        self.raise_damaged(page, entry.tid, &format!("{what} in table {block_table}"))
    }

    /// Raises XX002 unless every live row has exactly the postings of its keys.
    fn expect_postings(mut self) {
        self.rows.sort_unstable();
        for table in [RECENT, SETTLED] {
            let mut walk = LeafWalk::new(table, Entry::MIN);
            let mut found = Vec::new();
            while walk.next_leaf(&self.index, &mut found).is_some() {
                check_for_interrupts();
                for Row { entry, .. } in found.drain(..) {
                    let place = self.rows.binary_search_by_key(&entry.tid, |row| row.tid);
                    // Dead rows have postings until vacuum removes them.
                    let Ok(place) = place else { continue };
                    let row = &mut self.rows[place];
                    row.postings -= 1;
                    row.sum = row.sum.wrapping_sub(hash_of(entry.key));
                    if row.postings < 0 {
                        self.raise_damaged(walk.leaf(), entry.tid, "has a posting too many")
                    }
                }
            }
        }
        if let Some(row) = self.rows.iter().find(|row| row.postings != 0 || row.sum != 0) {
            let what = if row.postings > 0 {
                "lacks a posting"
            } else {
                "has another posting than its text asks for"
            };
            self.raise_damaged(root(SETTLED), row.tid, what)
        }
    }

    fn raise_damaged(&self, page: u32, tid: u64, what: &str) -> ! {
        let (heap_page, offset) = tid::parts(tid);
        raise(
            PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
            format!(
                "index \"{}\" is damaged at block {page}: row ({heap_page},{offset}) {what}",
                self.index.store.name()
            ),
            "REINDEX it.",
        )
    }

    /// The payload that a locked leaf stores beside an entry.
    fn payload(&self, leaf: &Shared, position: usize) -> K::Payload {
        let page = Page::check::<K>(leaf.bytes(), &self.index.shape);
        page.map_or(K::Payload::ZERO, |page| K::Payload::load(page.payload(position)))
    }
}
