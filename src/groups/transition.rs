//! Reads the rows of a transition table.

use pgrx::pg_sys;

use crate::family::row::Row;

/// A transition table, read from its beginning.
pub struct Transition {
    store: *mut pg_sys::Tuplestorestate,
    pointer: i32,
    slot: *mut pg_sys::TupleTableSlot,
    table: pg_sys::Oid,
}

impl Transition {
    /// # Safety
    /// `store` is a transition table of the relation's rows, and outlives the result.
    pub unsafe fn open(store: *mut pg_sys::Tuplestorestate, relation: pg_sys::Relation) -> Self {
        // SAFETY: `store` is a transition table. The new read pointer leaves other readers'
        // positions alone.
        unsafe {
            let rewind = pg_sys::EXEC_FLAG_REWIND as i32;
            let pointer = pg_sys::tuplestore_alloc_read_pointer(store, rewind);
            pg_sys::tuplestore_select_read_pointer(store, pointer);
            pg_sys::tuplestore_rescan(store);
            let slot = pg_sys::MakeSingleTupleTableSlot(
                (*relation).rd_att,
                &raw const pg_sys::TTSOpsMinimalTuple,
            );
            Transition { store, pointer, slot, table: (*relation).rd_id }
        }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        // SAFETY: `open` requires that the store outlives this.
        usize::try_from(unsafe { pg_sys::tuplestore_tuple_count(self.store) }).unwrap_or(0)
    }

    /// The next row.
    pub fn next(&mut self) -> Option<Row<'_>> {
        pgrx::check_for_interrupts!();
        // SAFETY: `open` requires that the store outlives this, and has made the slot and the
        // pointer. The row stays in the slot until the next call.
        unsafe {
            pg_sys::tuplestore_select_read_pointer(self.store, self.pointer);
            pg_sys::tuplestore_gettupleslot(self.store, true, false, self.slot)
                .then(|| Row::in_slot(self.table, self.slot))
        }
    }

    pub fn close(self) {
        // SAFETY: `open` made the slot.
        unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
    }
}
