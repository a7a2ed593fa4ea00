//! aminsert: adds a row to every block table, a row without a fingerprint to the table of NULLs, or
//! a text to the trees of an index of postings.

use pgrx::{PgMemoryContexts, pg_sys};
use simhash_index::TreeKey;

use super::keys::RowReader;
use super::kind::open;
use super::options::Options;
use crate::call::StatementId;
use crate::claims;
use crate::storage::{Index, IndexRel, family, row_header, with_key_type};
use crate::types::tid;

/// aminsert. Always returns false: this access method enforces no uniqueness.
#[allow(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn aminsert(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    is_version: bool,
    info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, a value of each column, and the row's TID.
    unsafe {
        let mut rel = IndexRel::new(rel);
        if is_version {
            // Earlier versions of the row have the same keys and may be dead, so a full leaf may
            // have entries to remove.
            rel.table = heap;
        }
        with_key_type!(family(rel), K => {
            let index = open::<K>(rel);
            let row = reader(&index, info).read::<K>(values, is_null, heap_tid);
            if index.is_of_postings() {
                let most_recent = Options::most_recent(rel);
                index.insert_postings(row.keys(), row.presence(), &row.beside, most_recent);
            } else {
                index.insert(row.keys(), &row.beside);
            }
        });
        if claims::is_any() {
            end_claim(rel, values, is_null, heap_tid, heap, StatementId::of_index(info));
        }
    }
    false
}

/// Reports to [`claims`] that the index now has the row, so that its claim can end.
///
/// # Safety
/// As [`aminsert`]; `rel` is an index of fingerprints or of postings.
unsafe fn end_claim(
    rel: IndexRel,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    heap: pg_sys::Relation,
    statement: StatementId,
) {
    // SAFETY: PostgreSQL's arguments of aminsert are valid; the last key column is the searched
    // one.
    unsafe {
        let form = &*(*rel.as_ptr()).rd_index;
        let last = form.indnkeyatts as usize - 1;
        // 0 for an expression.
        let attribute = *form.indkey.values.as_ptr().add(last);
        if attribute != 0 && !*is_null.add(last) {
            let (table, index, value) = ((*heap).rd_id, (*rel.as_ptr()).rd_id, *values.add(last));
            let entry = claims::Entry { statement, table, index, attribute, value };
            claims::entered(&entry, || is_on_trial(heap, heap_tid));
        }
    }
}

/// Whether a row was inserted speculatively. Also true if the table is not a heap, where this is
/// not known.
///
/// # Safety
/// `heap` is open, and this transaction has inserted the row there.
unsafe fn is_on_trial(heap: pg_sys::Relation, tid: pg_sys::ItemPointer) -> bool {
    // SAFETY: `heap` is open and has the row's page.
    let header = unsafe { row_header(heap, tid::pack(&*tid)) };
    header.is_none_or(|header| header.t_ctid.ip_posid == SPECULATIVE)
}

/// storage/itemptr.h: the offset in `t_ctid` of a speculatively inserted row.
const SPECULATIVE: u16 = pg_sys::SpecTokenOffsetNumber as u16;

/// The reader of rows for one statement, created on first use.
///
/// # Safety
/// `index` is open. `info` is the statement's, and its context keeps the reader.
unsafe fn reader<'a, K: TreeKey>(
    index: &Index<K>,
    info: *mut pg_sys::IndexInfo,
) -> &'a mut RowReader {
    // SAFETY: `info` is valid, and only this function uses its ii_AmCache for an index of this
    // access method.
    unsafe {
        let mut kept = (*info).ii_AmCache.cast::<RowReader>();
        if kept.is_null() {
            let reader = RowReader::new(index);
            kept = PgMemoryContexts::For((*info).ii_Context).leak_and_drop_on_delete(reader);
            (*info).ii_AmCache = kept.cast();
        }
        &mut *kept
    }
}
