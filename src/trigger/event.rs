//! Reads from a trigger's call what fired it: the table, the new row, and for an UPDATE the old
//! one.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::call::trigger_data;
use crate::error::raise;
use crate::family::column::Column;
use crate::types::tid;

/// What fired the trigger.
pub struct Event<'a> {
    pub relation: pg_sys::Relation,
    pub trigger: &'a pg_sys::Trigger,
    /// The row to be stored.
    pub new: pg_sys::HeapTuple,
    /// The row that an UPDATE replaces.
    pub old: Option<pg_sys::HeapTuple>,
}

/// Where a row is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    pub table: pg_sys::Oid,
    /// The packed TID.
    pub tid: u64,
}

impl Event<'_> {
    /// Reads the call. Raises 39P01 if it is not a BEFORE INSERT or UPDATE row trigger's.
    ///
    /// # Safety
    /// PostgreSQL passes the call, and the result is used only during it.
    pub unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: PostgreSQL passes the call, and its trigger's data live as long as the call.
        unsafe {
            let Some(data) = trigger_data(fcinfo) else {
                raise_protocol("simhash_dedup can only be called as a trigger")
            };
            let (before, timing) = (pg_sys::TRIGGER_EVENT_BEFORE, pg_sys::TRIGGER_EVENT_TIMINGMASK);
            if data.tg_event & pg_sys::TRIGGER_EVENT_ROW == 0 || data.tg_event & timing != before {
                raise_protocol("simhash_dedup must be fired BEFORE the event and FOR EACH ROW");
            }
            let (new, old) = match data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
                pg_sys::TRIGGER_EVENT_INSERT => (data.tg_trigtuple, None),
                pg_sys::TRIGGER_EVENT_UPDATE => (data.tg_newtuple, Some(data.tg_trigtuple)),
                _ => raise_protocol("simhash_dedup must be fired by INSERT or UPDATE"),
            };
            Event { relation: data.tg_relation, trigger: &*data.tg_trigger, new, old }
        }
    }

    /// The value of a column of the new row.
    ///
    /// # Safety
    /// The column is one of the trigger's table.
    pub unsafe fn value(&self, column: &Column) -> Option<pg_sys::Datum> {
        // SAFETY: the column is one of the trigger's table.
        unsafe { self.read(self.new, column) }
    }

    /// Whether an UPDATE leaves the bytes of a value unchanged. False for an INSERT.
    ///
    /// # Safety
    /// The column is one of the trigger's table.
    pub unsafe fn keeps(&self, column: &Column) -> bool {
        // SAFETY: both rows and the column are of the trigger's table.
        let same = |old| unsafe { column.same(self.read(old, column), self.value(column)) };
        self.old.is_some_and(same)
    }

    /// The value of a column in the new or the old row.
    ///
    /// # Safety
    /// The row and the column are of the trigger's table.
    pub unsafe fn read(&self, row: pg_sys::HeapTuple, column: &Column) -> Option<pg_sys::Datum> {
        // SAFETY: the row has the descriptor of the open relation, which has the column.
        unsafe { column.read(row, (*self.relation).rd_att) }
    }

    pub fn table(&self) -> pg_sys::Oid {
        // SAFETY: an open relation.
        unsafe { (*self.relation).rd_id }
    }

    pub fn is_partition(&self) -> bool {
        // SAFETY: an open relation.
        unsafe { (*(*self.relation).rd_rel).relispartition }
    }

    pub fn trigger_name(&self) -> &CStr {
        // SAFETY: the name lives as long as the trigger's description.
        unsafe { CStr::from_ptr(self.trigger.tgname) }
    }

    /// The place of the old row.
    pub fn old_place(&self) -> Option<RowPlace> {
        // SAFETY: the trigger manager's row is valid during the call.
        let place = |row: pg_sys::HeapTuple| tid::pack(unsafe { &(*row).t_self });
        self.old.map(|row| RowPlace { table: self.table(), tid: place(row) })
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
