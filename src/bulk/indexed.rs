//! Evaluates an index's last key column for a row: a column of the table, or an expression.

use pgrx::pg_sys;

use super::heap::Heap;
use crate::am::kind::key_columns;
use crate::am::opened::{Opened, as_owner};

/// The column or the expression of an index that is searched.
///
/// Invariant: the relations are open. A column that is not 0 is one of the heap's. For 0, the
/// expression is prepared in `estate`.
pub struct Indexed<'a> {
    opened: &'a Opened,
    /// 0 for an expression.
    column: pg_sys::AttrNumber,
    expression: *mut pg_sys::ExprState,
    estate: *mut pg_sys::EState,
}

impl<'a> Indexed<'a> {
    pub fn new(opened: &'a Opened) -> Self {
        // SAFETY: the index is open.
        let last = unsafe { key_columns(opened.index) } - 1;
        // SAFETY: an open index has a number for each column.
        let columns = unsafe { (*(*opened.index).rd_index).indkey.values.as_slice(last + 1) };
        // SAFETY: allocates in the current memory context; `drop` frees it.
        let estate = unsafe { pg_sys::CreateExecutorState() };
        let (column, mut expression) = (columns[last], std::ptr::null_mut());
        if column == 0 {
            let number = columns[..last].iter().filter(|&&column| column == 0).count() as i32;
            let prepare = || {
                let all = expressions(opened);
                // SAFETY: an index has an expression for each 0 among its columns.
                unsafe { pg_sys::ExecPrepareExpr(pg_sys::list_nth(all, number).cast(), estate) }
            };
            // SAFETY: the heap is open.
            expression = unsafe { as_owner(opened.heap, prepare) };
        }
        Self { opened, column, expression, estate }
    }

    /// Whether the index's expressions may be evaluated while parallel workers run. A function that
    /// is not PARALLEL SAFE may have an exception handler, which PostgreSQL forbids then.
    pub fn is_parallel_safe(opened: &Opened) -> bool {
        let hazard = pg_sys::PROPARALLEL_UNSAFE as std::ffi::c_char;
        let mut global = pg_sys::PlannerGlobal { maxParallelHazard: hazard, ..Default::default() };
        let mut root = pg_sys::PlannerInfo { glob: &raw mut global, ..Default::default() };
        // SAFETY: the heap is open.
        let expressions = unsafe { as_owner(opened.heap, || expressions(opened)) };
        // SAFETY: zeros are the state of an empty planner, in which functions may be unsafe.
        // PostgreSQL checks an index that is being built in the same way.
        unsafe { pg_sys::is_parallel_safe(&raw mut root, expressions.cast()) }
    }

    /// Calls `read` with the value for the row that `heap` found last. The value lives until `read`
    /// returns. `None` for NULL, and if `heap` has no row of the table.
    pub fn with<T>(&mut self, heap: &Heap<'_>, read: impl FnOnce(pg_sys::Datum) -> T) -> Option<T> {
        let slot = heap.slot_of(self.opened)?;
        let mut is_null = true;
        if self.column != 0 {
            // SAFETY: the slot has a row of the table that the column is of.
            let value = unsafe { pg_sys::slot_getattr(slot, self.column.into(), &mut is_null) };
            return (!is_null).then(|| read(value));
        }
        // SAFETY: `new` made the state.
        let mut context = unsafe { (*self.estate).es_per_tuple_exprcontext };
        if context.is_null() {
            // SAFETY: `new` made the state, which has no such context yet.
            context = unsafe { pg_sys::MakePerTupleExprContext(self.estate) };
        }
        // SAFETY: the context is that of the state.
        let context = unsafe { &mut *context };
        context.ecxt_scantuple = slot;
        let memory = context.ecxt_per_tuple_memory;
        // SAFETY: the context's memory lives as long as the state.
        let before = unsafe { pg_sys::MemoryContextSwitchTo(memory) };
        // SAFETY: the expression was prepared, and the context has a row of its table.
        let evaluate = || unsafe { evaluated(self.expression, context, &mut is_null) };
        // SAFETY: the heap is open.
        let value = unsafe { as_owner(self.opened.heap, evaluate) };
        let result = value.filter(|_| !is_null).map(read);
        // SAFETY: the context before this call's.
        unsafe { pg_sys::MemoryContextSwitchTo(before) };
        // SAFETY: the value is not used any more.
        unsafe { pg_sys::MemoryContextReset(memory) };
        result
    }
}

/// The expressions of an index. Reading them may run functions on constants, so this is called as
/// the owner.
fn expressions(opened: &Opened) -> *mut pg_sys::List {
    // SAFETY: the index is open.
    unsafe { pg_sys::RelationGetIndexExpressions(opened.index) }
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
    // SAFETY: the expression is prepared.
    let evaluate = unsafe { (*expression).evalfunc? };
    // SAFETY: the caller's context has the row of the prepared expression.
    let call = || unsafe { evaluate(expression, context, is_null) };
    // SAFETY: a pointer to a function has no guard of its own.
    Some(unsafe { pg_sys::ffi::pg_guard_ffi_boundary(call) })
}

impl Drop for Indexed<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `new`.
            unsafe { pg_sys::FreeExecutorState(self.estate) };
        }
    }
}
