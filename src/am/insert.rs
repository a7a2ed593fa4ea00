//! aminsert: adds a row to every block table, a row without a fingerprint to the table of NULLs, or
//! a text to the trees of an index of postings.

use pgrx::{PgMemoryContexts, pg_sys};
use simhash_index::TreeKey;

use super::columns::Values;
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
    // SAFETY: PostgreSQL passes an open index.
    let mut rel = unsafe { IndexRel::new(rel) };
    if is_version {
        // Earlier versions of the row have the same keys and may be dead, so a full leaf may have
        // entries to remove.
        // SAFETY: PostgreSQL passes the index's table, which is open.
        rel = unsafe { rel.with_table(heap) };
    }
    with_key_type!(family(rel), K => {
        let index = open::<K>(rel);
        // SAFETY: PostgreSQL passes the statement's description of the index, a value of each
        // column, and the row's TID.
        let row = unsafe { reader(&index, info).read::<K>(values, is_null, heap_tid) };
        if index.is_of_postings() {
            let most_recent = Options::most_recent(rel);
            index.insert_postings(row.keys(), row.presence(), &row.beside, most_recent);
        } else {
            index.insert(row.keys(), &row.beside);
        }
    });
    if claims::is_any() {
        // SAFETY: PostgreSQL's arguments, as above; the row is in the open table.
        unsafe { end_claim(rel, values, is_null, heap_tid, heap, StatementId::of_index(info)) };
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
    let (index, searched) = (rel.oid(), rel.key_columns() - 1);
    // SAFETY: there is a value for each column.
    let value = unsafe { Values::new(values, is_null, searched + 1) }.get(searched);
    // 0 for an expression.
    let attribute = rel.table_column(searched);
    if attribute != 0
        && let Some(value) = value
    {
        // SAFETY: the table is open.
        let table = unsafe { (*heap).rd_id };
        let entry = claims::Entry { statement, table, index, attribute, value };
        // SAFETY: the table is open, and the row is in it.
        let is_on_trial = || unsafe { is_on_trial(heap, heap_tid) };
        // SAFETY: the value is that of this column, and not NULL.
        unsafe { claims::entered(&entry, is_on_trial) };
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
    // SAFETY: `info` is valid.
    let info = unsafe { &mut *info };
    let mut kept = info.ii_AmCache.cast::<RowReader>();
    if kept.is_null() {
        let mut context = PgMemoryContexts::For(info.ii_Context);
        kept = context.leak_and_drop_on_delete(RowReader::new(index));
        info.ii_AmCache = kept.cast();
    }
    // SAFETY: only this function uses ii_AmCache of an index of this access method.
    unsafe { &mut *kept }
}
