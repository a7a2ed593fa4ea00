//! Reads from a trigger's call what fired it: the table, the new row, and for an UPDATE the old
//! one.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::call::Call;
use crate::error::raise;
use crate::family::column::Column;
use crate::family::on::On;
use crate::family::row::Row;
use crate::family::value::{Value, same};
use crate::family::written::Changes;

/// What fired the trigger. Invariant: the rows are of the trigger's table.
pub struct Event<'a> {
    pub on: On<'a>,
    /// The row to be stored.
    new: pg_sys::HeapTuple,
    /// The row that an UPDATE replaces.
    old: Option<pg_sys::HeapTuple>,
}

/// Where a row is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    pub table: pg_sys::Oid,
    /// The packed TID.
    pub tid: u64,
}

impl<'a> Event<'a> {
    /// Reads the call. Raises 39P01 if it is not a BEFORE INSERT or UPDATE row trigger's.
    pub fn of(call: &Call<'a>) -> Self {
        let Some(data) = call.trigger_data() else {
            raise_protocol("simhash_dedup can only be called as a trigger")
        };
        // SAFETY: PostgreSQL passes the call, and its trigger's data live as long as the call.
        unsafe {
            let (before, timing) = (pg_sys::TRIGGER_EVENT_BEFORE, pg_sys::TRIGGER_EVENT_TIMINGMASK);
            if data.tg_event & pg_sys::TRIGGER_EVENT_ROW == 0 || data.tg_event & timing != before {
                raise_protocol("simhash_dedup must be fired BEFORE the event and FOR EACH ROW");
            }
            let (new, old) = match data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
                pg_sys::TRIGGER_EVENT_INSERT => (data.tg_trigtuple, None),
                pg_sys::TRIGGER_EVENT_UPDATE => (data.tg_newtuple, Some(data.tg_trigtuple)),
                _ => raise_protocol("simhash_dedup must be fired by INSERT or UPDATE"),
            };
            Event { on: On::new(data.tg_relation, &*data.tg_trigger), new, old }
        }
    }

    /// The new row.
    fn row(&self) -> Row<'_> {
        // SAFETY: PostgreSQL passes a row of the relation.
        unsafe { Row::of_tuple(self.new, self.on.table.raw()) }
    }

    /// The row that an UPDATE replaces.
    pub fn old(&self) -> Option<Row<'_>> {
        // SAFETY: PostgreSQL passes a row of the relation.
        self.old.map(|old| unsafe { Row::of_tuple(old, self.on.table.raw()) })
    }

    /// The value of a column of the new row.
    pub fn value(&self, column: &Column) -> Option<Value<'_>> {
        self.row().value(column)
    }

    /// Whether an UPDATE leaves the bytes of a value unchanged. False for an INSERT.
    pub fn keeps(&self, column: &Column) -> bool {
        self.old().is_some_and(|old| same(old.value(column), self.value(column)))
    }

    /// The new row with changed values.
    pub fn changed(&self, changes: Changes) -> pg_sys::HeapTuple {
        // SAFETY: the changes are to columns of the relation, of which the row is one.
        unsafe { changes.apply(self.new, (*self.on.table.raw()).rd_att) }
    }

    /// Calls `with` with a slot that holds the new row.
    pub fn in_slot<T>(&self, with: impl FnOnce(*mut pg_sys::TupleTableSlot) -> T) -> T {
        // SAFETY: the row has the relation's descriptor. The slot is dropped below.
        unsafe {
            let (descriptor, kind) =
                ((*self.on.table.raw()).rd_att, &raw const pg_sys::TTSOpsHeapTuple);
            let slot = pg_sys::MakeSingleTupleTableSlot(descriptor, kind);
            pg_sys::ExecStoreHeapTuple(self.new, slot, false);
            let result = with(slot);
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            result
        }
    }

    pub fn table(&self) -> pg_sys::Oid {
        self.on.table.oid()
    }

    pub fn is_partition(&self) -> bool {
        self.on.table.form().relispartition
    }

    /// The place of the old row.
    pub fn old_place(&self) -> Option<RowPlace> {
        self.old().map(|row| RowPlace { table: self.table(), tid: row.tid() })
    }
}

fn raise_protocol(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        message.to_owned(),
        "CREATE TRIGGER name BEFORE INSERT OR UPDATE ON table FOR EACH ROW \
         EXECUTE FUNCTION simhash_dedup('fp=column', ...);",
    )
}
