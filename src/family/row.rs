//! Rows of tables: handles that know which columns a slot or a tuple has.

use std::marker::PhantomData;

use pgrx::pg_sys;

use super::column::Column;
use super::value::Value;
use crate::types::tid;

/// A row of a table.
///
/// Invariant: during `'a` its slot or tuple holds a row of `table`, whose columns stay.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: pg_sys::Oid,
    place: Place,
    life: PhantomData<&'a ()>,
}

#[derive(Clone, Copy)]
enum Place {
    Slot(*mut pg_sys::TupleTableSlot),
    Tuple(pg_sys::HeapTuple, pg_sys::TupleDesc),
}

impl<'a> Row<'a> {
    /// # Safety
    /// The slot holds a row of the table during `'a`, and the table's columns stay.
    pub unsafe fn in_slot(table: pg_sys::Oid, slot: *mut pg_sys::TupleTableSlot) -> Self {
        Row { table, place: Place::Slot(slot), life: PhantomData }
    }

    /// # Safety
    /// The tuple is a row of the relation, which is open during `'a`.
    pub unsafe fn of_tuple(tuple: pg_sys::HeapTuple, relation: pg_sys::Relation) -> Self {
        // SAFETY: the relation is open.
        let (table, descriptor) = unsafe { ((*relation).rd_id, (*relation).rd_att) };
        Row { table, place: Place::Tuple(tuple, descriptor), life: PhantomData }
    }

    /// The value of a column of this table; `None` for NULL.
    #[inline]
    pub fn value(self, column: &Column) -> Option<Value<'a>> {
        assert_eq!(self.table, column.table, "a column of the row's table");
        let (number, mut is_null) = (i32::from(column.number), true);
        // SAFETY: the row has this column, with the column's type.
        unsafe {
            let value = match self.place {
                Place::Slot(slot) => pg_sys::slot_getattr(slot, number, &mut is_null),
                Place::Tuple(tuple, descriptor) => {
                    pg_sys::heap_getattr(tuple, number, descriptor, &mut is_null)
                }
            };
            (!is_null).then(|| column.value(value))
        }
    }

    /// The packed TID.
    pub fn tid(self) -> u64 {
        // SAFETY: both have the TID of the row.
        unsafe {
            match self.place {
                Place::Slot(slot) => tid::pack(&(*slot).tts_tid),
                Place::Tuple(tuple, _) => tid::pack(&(*tuple).t_self),
            }
        }
    }

    /// The command that wrote a row of this transaction; 0 for a row of another one, and for a row
    /// that was not read from a table.
    ///
    /// The system column cmin does not do. If the row was also deleted, say by a subtransaction
    /// that was rolled back, it is a combo command ID, which stands for two commands.
    pub fn command(self) -> pg_sys::CommandId {
        let Place::Slot(slot) = self.place else { return 0 };
        let (mut is_null, mut is_copy) = (true, false);
        // SAFETY: the slot holds a row. A heap row lies in a buffer that the slot has pinned.
        unsafe {
            let written = pg_sys::MinTransactionIdAttributeNumber;
            let writer = pg_sys::slot_getsysattr(slot, written, &mut is_null);
            let writer = pg_sys::TransactionId::from(writer.value() as u32);
            if !pg_sys::TransactionIdIsCurrentTransactionId(writer) {
                return 0;
            }
            if (*slot).tts_ops != &raw const pg_sys::TTSOpsBufferHeapTuple {
                let command = pg_sys::MinCommandIdAttributeNumber;
                return pg_sys::slot_getsysattr(slot, command, &mut is_null).value() as u32;
            }
            let row = pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut is_copy);
            pg_sys::HeapTupleHeaderGetCmin((*row).t_data)
        }
    }
}
