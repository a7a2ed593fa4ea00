//! Computes a fingerprint that is a generated column. PostgreSQL does so only after the BEFORE
//! triggers.

use pgrx::{PgMemoryContexts, pg_sys};

use super::event::Event;
use crate::call::StatementId;
use crate::family::column::Column;
use crate::family::generated::inputs;
use crate::family::value::Value;

/// The expression of a generated column, ready to be evaluated.
pub struct Expression {
    column: Column,
    state: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
    /// The columns that it reads. `None` if it reads the whole row.
    inputs: Option<Vec<Column>>,
}

impl Expression {
    /// Prepares the expression of a column. It lives as long as the statement.
    ///
    /// # Safety
    /// The event is of the statement, and the column is a generated one of the event's table.
    pub unsafe fn of(statement: StatementId, event: &Event<'_>, column: &Column) -> Self {
        // SAFETY: the relation is open, and the column has an expression over Vars of relation 1.
        // Its memory is freed with the statement.
        unsafe {
            PgMemoryContexts::For(statement.memory()).switch_to(|_| {
                let node =
                    pg_sys::build_column_default(event.on.table.raw(), i32::from(column.number));
                let inputs = inputs(event.table(), node);
                let executor = pg_sys::CreateExecutorState();
                let state = pg_sys::ExecPrepareExpr(node.cast(), executor);
                let context = pg_sys::MakePerTupleExprContext(executor);
                Expression { column: *column, state, context, inputs }
            })
        }
    }

    /// Whether the UPDATE changes a column that the expression reads. True for an INSERT.
    pub fn input_changed(&self, event: &Event<'_>) -> bool {
        let changes = |inputs: &Vec<Column>| inputs.iter().any(|input| !event.keeps(input));
        event.old().is_none() || self.inputs.as_ref().is_none_or(changes)
    }

    /// The value for the new row, valid until the next row.
    ///
    /// # Safety
    /// The event is of the table that the expression was made for.
    pub unsafe fn evaluate(&self, event: &Event<'_>) -> Option<Value<'_>> {
        // SAFETY: the slot holds the new row during the evaluation. The memory context of the
        // result is reset only here. The result is of the column's type.
        event.in_slot(|slot| unsafe {
            pg_sys::MemoryContextReset((*self.context).ecxt_per_tuple_memory);
            (*self.context).ecxt_scantuple = slot;
            let mut is_null = true;
            let value = PgMemoryContexts::For((*self.context).ecxt_per_tuple_memory)
                .switch_to(|_| pg_sys::ExecEvalExpr(self.state, self.context, &mut is_null));
            (!is_null).then(|| self.column.value(value))
        })
    }
}
