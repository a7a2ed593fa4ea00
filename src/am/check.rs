//! Whether an index is sound: what `simhash_index_check` verifies.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::Key;
use simhash_index::Entry;
use simhash_index::check::check_tables;

use super::keys::Keys;
use super::kind::{Kind, open};
use super::opened::Opened;
use super::rights::check_owner;
use crate::error::raise;
use crate::storage::{Index, Shared, bits, check_for_interrupts, with_key_type};
use crate::types::tid;

/// Verifies an index, and with `heap` also that it has every row. Raises XX002 naming the page
/// where something is wrong.
pub fn check(index: pg_sys::Oid, heap: bool) {
    // SAFETY: asks for a state of the server.
    if unsafe { pg_sys::RecoveryInProgress() } {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "recovery is in progress".to_owned(),
            "An index is checked on the primary, or after promotion.",
        );
    }
    check_owner(index);
    // Writers wait: what is compared must not change in between.
    let opened = Opened::new(index, pg_sys::ShareLock);
    opened.check_valid();
    with_key_type!(bits(opened.rel()), F => {
        let index = open::<F>(opened.rel());
        check_tables(&index);
        if heap {
            check_covered(&opened);
            check_heap(&index, &opened);
        }
    });
}

/// Raises 55000 if the scan of the heap might see row versions that the index does not have. A
/// snapshot that is older than the index sees versions that were out of date when it was built.
/// Below REPEATABLE READ the scan takes a new snapshot.
fn check_covered(opened: &Opened) {
    // SAFETY: a setting of the transaction.
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

/// What the scan of the heap looks rows up in.
struct HeapCheck<F> {
    index: Index<F>,
    kind: Kind,
}

fn check_heap<F: Key>(index: &Index<F>, opened: &Opened) {
    let mut state = HeapCheck { index: index.clone(), kind: Kind::of(index) };
    // SAFETY: the relations are open, and meanwhile functions in expressions run with their owner's
    // rights; the callback gets the state, which outlives the scan.
    unsafe {
        let info = pg_sys::BuildIndexInfo(opened.index);
        // Only rows visible to a new snapshot: a dead row may have left the index already.
        (*info).ii_Concurrent = true;
        (*info).ii_ExclusionOps = std::ptr::null_mut();
        pg_sys::table_index_build_scan(
            opened.heap,
            opened.index,
            info,
            true,
            false,
            Some(look_up::<F>),
            (&raw mut state).cast(),
            std::ptr::null_mut(),
        );
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn look_up<F: Key>(
    _rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes one value and the state that `check_heap` gave it.
    unsafe {
        let state = &*state.cast::<HeapCheck<F>>();
        check_for_interrupts();
        let tid = tid::pack(&*tid);
        let keys = (!*is_null).then(|| state.kind.keys::<F>(*values));
        let keys = keys.as_ref().map_or(&[][..], Keys::as_slice);
        if keys.is_empty() {
            state.expect_row(state.index.null_table(), Entry { key: F::ZERO, tid });
        }
        for &fingerprint in keys {
            for block_table in 0..state.index.null_table() {
                let key = state.index.layout.rotate(fingerprint, u32::from(block_table));
                state.expect_row(block_table, Entry { key, tid });
            }
        }
    }
}

impl<F: Key> HeapCheck<F> {
    fn expect_row(&self, block_table: u8, entry: Entry<F>) {
        if self.index.find(block_table, &entry).is_some() {
            return;
        }
        let (_, page) = self.index.cover::<Shared>(block_table, &entry, None);
        let (heap_page, offset) = tid::parts(entry.tid);
        raise(
            PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
            format!(
                "index \"{}\" is damaged at block {page}: \
                 row ({heap_page},{offset}) is missing in table {block_table}",
                self.index.store.name()
            ),
            "REINDEX it.",
        )
    }
}
