//! A fingerprint that is a generated column. PostgreSQL computes it after the BEFORE triggers, so
//! the trigger has to compute it itself in order to compare it.

use std::ffi::CStr;

use pgrx::{PgMemoryContexts, pg_sys};

use super::column::Column;
use super::event::Event;

/// The column's expression, ready to be computed.
pub struct Expression {
    state: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
    /// The columns it reads; empty for the whole row.
    inputs: Vec<Column>,
}

impl Expression {
    /// The expression of a column, kept as long as the call site.
    ///
    /// # Safety
    /// The event is of this call, and the column is generated and of the event's table.
    pub unsafe fn of(fcinfo: pg_sys::FunctionCallInfo, event: &Event<'_>, column: &Column) -> Self {
        // SAFETY: as this function's. The expression is over columns of the table, which are Vars
        // of relation 1; its memory is freed with the call site.
        unsafe {
            PgMemoryContexts::For((*(*fcinfo).flinfo).fn_mcxt).switch_to(|_| {
                let node = pg_sys::build_column_default(event.relation, i32::from(column.number));
                let inputs = inputs(event.table(), node);
                let executor = pg_sys::CreateExecutorState();
                let state = pg_sys::ExecPrepareExpr(node.cast(), executor);
                let context = pg_sys::MakePerTupleExprContext(executor);
                Expression { state, context, inputs }
            })
        }
    }

    /// Whether an update changed a column that the expression reads.
    ///
    /// # Safety
    /// The event is of the table that the expression was made for.
    pub unsafe fn input_changed(&self, event: &Event<'_>) -> bool {
        let Some(old) = event.old else { return true };
        // SAFETY: rows and columns are of the trigger's table.
        let changed = |input: &Column| unsafe {
            !input.same(event.read(old, input), event.read(event.new, input))
        };
        self.inputs.is_empty() || self.inputs.iter().any(changed)
    }

    /// The value for the new row, valid until the next row.
    ///
    /// # Safety
    /// The event is of the table that the expression was made for.
    pub unsafe fn evaluate(&self, event: &Event<'_>) -> Option<pg_sys::Datum> {
        // SAFETY: as this function's; the slot holds the row while the expression is computed, in a
        // context that is emptied first.
        unsafe {
            pg_sys::MemoryContextReset((*self.context).ecxt_per_tuple_memory);
            let slot = pg_sys::MakeSingleTupleTableSlot(
                (*event.relation).rd_att,
                &raw const pg_sys::TTSOpsHeapTuple,
            );
            pg_sys::ExecStoreHeapTuple(event.new, slot, false);
            (*self.context).ecxt_scantuple = slot;
            let mut is_null = true;
            let value = PgMemoryContexts::For((*self.context).ecxt_per_tuple_memory)
                .switch_to(|_| pg_sys::ExecEvalExpr(self.state, self.context, &mut is_null));
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            (!is_null).then_some(value)
        }
    }
}

/// Whether a generated column is computed from another one.
///
/// # Safety
/// An open table, whose column this is.
pub unsafe fn is_computed_from(
    relation: pg_sys::Relation,
    column: &Column,
    other: pg_sys::AttrNumber,
) -> bool {
    // SAFETY: as this function's.
    unsafe {
        let node = pg_sys::build_column_default(relation, i32::from(column.number));
        let inputs = inputs((*relation).rd_id, node);
        inputs.is_empty() || inputs.iter().any(|input| input.number == other)
    }
}

/// The columns that an expression reads; none if it reads the whole row.
unsafe fn inputs(table: pg_sys::Oid, expression: *mut pg_sys::Node) -> Vec<Column> {
    // SAFETY: the set is made and read here.
    unsafe {
        let mut set = std::ptr::null_mut();
        pg_sys::pull_varattnos(expression, 1, &mut set);
        let mut columns = Vec::new();
        let mut member = -1;
        loop {
            member = pg_sys::bms_next_member(set, member);
            if member < 0 {
                return columns;
            }
            let number = member + pg_sys::FirstLowInvalidHeapAttributeNumber;
            if number <= 0 {
                return Vec::new();
            }
            let name = pg_sys::get_attname(table, number as pg_sys::AttrNumber, false);
            columns.extend(Column::named(table, CStr::from_ptr(name)));
        }
    }
}
