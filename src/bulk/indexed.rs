//! Evaluates an index's last key column for a row: a column of the table, or an expression.

use pgrx::pg_sys;

use crate::am::kind::key_columns;
use crate::am::opened::{Opened, as_owner};

/// The column or the expression of an index that is searched.
pub struct Indexed {
    heap: pg_sys::Relation,
    /// 0 for an expression.
    column: pg_sys::AttrNumber,
    expression: *mut pg_sys::ExprState,
    estate: *mut pg_sys::EState,
}

impl Indexed {
    /// # Safety
    /// The relations stay open while the result is used.
    pub unsafe fn new(opened: &Opened) -> Self {
        // SAFETY: an open index has a number for each column, and an expression for each 0. Reading
        // an expression may run functions on constants, so this happens as the owner.
        unsafe {
            let last = key_columns(opened.index) - 1;
            let columns = (*(*opened.index).rd_index).indkey.values.as_slice(last + 1);
            let estate = pg_sys::CreateExecutorState();
            let (column, mut expression) = (columns[last], std::ptr::null_mut());
            if column == 0 {
                let number = columns[..last].iter().filter(|&&column| column == 0).count();
                expression = as_owner(opened.heap, || {
                    let expressions = pg_sys::RelationGetIndexExpressions(opened.index);
                    let tree = pg_sys::list_nth(expressions, number as i32);
                    pg_sys::ExecPrepareExpr(tree.cast(), estate)
                });
            }
            Self { heap: opened.heap, column, expression, estate }
        }
    }

    /// Whether the index's expressions may be evaluated while parallel workers run. A function that
    /// is not PARALLEL SAFE may have an exception handler, which PostgreSQL forbids then.
    ///
    /// # Safety
    /// As for [`Indexed::new`].
    pub unsafe fn is_parallel_safe(opened: &Opened) -> bool {
        // SAFETY: zeros are the state of an empty planner, in which functions may be unsafe.
        // PostgreSQL checks an index that is being built in the same way.
        unsafe {
            let mut global: pg_sys::PlannerGlobal = std::mem::zeroed();
            global.maxParallelHazard = pg_sys::PROPARALLEL_UNSAFE as std::ffi::c_char;
            let mut root: pg_sys::PlannerInfo = std::mem::zeroed();
            root.glob = &raw mut global;
            let read = || pg_sys::RelationGetIndexExpressions(opened.index);
            let expressions = as_owner(opened.heap, read);
            pg_sys::is_parallel_safe(&raw mut root, expressions.cast())
        }
    }

    /// Calls `read` with the value for the row in a slot, which lives until `read` returns. `None`
    /// for NULL.
    ///
    /// # Safety
    /// The slot has a row of the table, and `read` does not keep the value.
    pub unsafe fn with<T>(
        &mut self,
        slot: *mut pg_sys::TupleTableSlot,
        read: impl FnOnce(pg_sys::Datum) -> T,
    ) -> Option<T> {
        let mut is_null = true;
        // SAFETY: the slot has a row of the table that the column or expression is of.
        unsafe {
            if self.column != 0 {
                let value = pg_sys::slot_getattr(slot, i32::from(self.column), &mut is_null);
                return (!is_null).then(|| read(value));
            }
            let context = match (*self.estate).es_per_tuple_exprcontext {
                context if context.is_null() => pg_sys::MakePerTupleExprContext(self.estate),
                context => context,
            };
            (*context).ecxt_scantuple = slot;
            let memory = (*context).ecxt_per_tuple_memory;
            let before = pg_sys::MemoryContextSwitchTo(memory);
            let value = as_owner(self.heap, || evaluated(self.expression, context, &mut is_null));
            let result = value.filter(|_| !is_null).map(read);
            pg_sys::MemoryContextSwitchTo(before);
            pg_sys::MemoryContextReset(memory);
            result
        }
    }
}

/// The value of an expression. An ERROR of a function in it unwinds, as any other.
///
/// # Safety
/// The expression is prepared, and the context has the row that it reads.
unsafe fn evaluated(
    expression: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
    is_null: &mut bool,
) -> Option<pg_sys::Datum> {
    // SAFETY: the caller's context has the row of the prepared expression. A pointer to a function
    // has no guard of its own.
    unsafe {
        let evaluate = (*expression).evalfunc?;
        let call = || evaluate(expression, context, is_null);
        Some(pg_sys::ffi::pg_guard_ffi_boundary(call))
    }
}

impl Drop for Indexed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `new`.
            unsafe { pg_sys::FreeExecutorState(self.estate) };
        }
    }
}
