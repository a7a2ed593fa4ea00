//! Reads the rows of a transition table.

use pgrx::pg_sys;

/// A transition table, read from its beginning.
pub struct Transition {
    store: *mut pg_sys::Tuplestorestate,
    pointer: i32,
    slot: *mut pg_sys::TupleTableSlot,
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
            Transition { store, pointer, slot }
        }
    }

    /// How many rows there are.
    ///
    /// # Safety
    /// `store` is a transition table.
    pub unsafe fn count(store: *mut pg_sys::Tuplestorestate) -> usize {
        // SAFETY: `store` is a transition table.
        usize::try_from(unsafe { pg_sys::tuplestore_tuple_count(store) }).unwrap_or(0)
    }

    /// The slot with the next row, valid until the next call.
    pub fn next(&mut self) -> Option<*mut pg_sys::TupleTableSlot> {
        pgrx::check_for_interrupts!();
        // SAFETY: `open` requires that the store outlives this, and has made the slot and the
        // pointer.
        unsafe {
            pg_sys::tuplestore_select_read_pointer(self.store, self.pointer);
            pg_sys::tuplestore_gettupleslot(self.store, true, false, self.slot).then_some(self.slot)
        }
    }

    pub fn close(self) {
        // SAFETY: `open` made the slot.
        unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
    }
}
