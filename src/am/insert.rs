//! aminsert: one row into every block table.

use pgrx::pg_sys;

use super::columns::Columns;
use super::keys::IndexRow;
use super::kind::{Searched, open};
use crate::storage::{IndexRel, family, with_key_type};

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
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, a value of each column, and the row's TID.
    unsafe {
        let rel = IndexRel::new(rel);
        with_key_type!(family(rel), K => {
            let index = open::<K>(rel);
            let columns = Columns::of(rel, &index.meta());
            let searched = Searched::of(&index);
            let row = IndexRow::<K>::read(searched, &columns, values, is_null, heap_tid);
            index.insert(row.keys(), &row.beside);
        });
    }
    false
}
