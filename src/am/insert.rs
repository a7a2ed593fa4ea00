//! aminsert: one row into every block table, or its postings into theirs.

use pgrx::{PgMemoryContexts, pg_sys};
use simhash_index::TreeKey;

use super::keys::RowReader;
use super::kind::open;
use super::options::Options;
use crate::storage::{Index, IndexRel, family, with_key_type};

/// aminsert. Always false: this access method does not say whether the row is unique.
#[allow(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn aminsert(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    _heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _unchanged: bool,
    info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, a value of each column, and the row's TID.
    unsafe {
        let rel = IndexRel::new(rel);
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
    }
    false
}

/// The reader of the rows of one statement.
///
/// # Safety
/// The index is open, and `info` is the statement's, in whose context the reader is kept.
unsafe fn reader<'a, K: TreeKey>(
    index: &Index<K>,
    info: *mut pg_sys::IndexInfo,
) -> &'a mut RowReader {
    // SAFETY: as this function's; nobody else uses the cache of an index of this access method.
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
