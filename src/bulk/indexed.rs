//! What an index's last key column has for a row: a column of the table, or an expression.

use pgrx::pg_sys;

use crate::am::kind::key_columns;
use crate::am::opened::Opened;

/// The column or the expression of an index that is searched.
pub struct Indexed {
    /// 0 for an expression.
    column: pg_sys::AttrNumber,
    expression: *mut pg_sys::ExprState,
    estate: *mut pg_sys::EState,
}

impl Indexed {
    /// # Safety
    /// The relations stay open while the result is used, and functions in the expression may be
    /// called, as [`Opened`] sees to it.
    pub unsafe fn new(opened: &Opened) -> Self {
        // SAFETY: an open index has a number for each column, and an expression for each 0.
        unsafe {
            let last = key_columns(opened.index) - 1;
            let columns = (*(*opened.index).rd_index).indkey.values.as_slice(last + 1);
            let estate = pg_sys::CreateExecutorState();
            let (column, mut expression) = (columns[last], std::ptr::null_mut());
            if column == 0 {
                let number = columns[..last].iter().filter(|&&column| column == 0).count();
                let expressions = pg_sys::RelationGetIndexExpressions(opened.index);
                let tree = pg_sys::list_nth(expressions, number as i32);
                expression = pg_sys::ExecPrepareExpr(tree.cast(), estate);
            }
            Self { column, expression, estate }
        }
    }

    /// Whether the index's expressions may be evaluated while parallel workers run. In a function
    /// that is not PARALLEL SAFE there may be a handler of errors, which PostgreSQL forbids then.
    ///
    /// # Safety
    /// As for [`Indexed::new`].
    pub unsafe fn is_parallel_safe(opened: &Opened) -> bool {
        // SAFETY: zeros are a planner that knows nothing, but that functions may be unsafe. This is
        // how PostgreSQL asks for an index that is being built.
        unsafe {
            let mut global: pg_sys::PlannerGlobal = std::mem::zeroed();
            global.maxParallelHazard = pg_sys::PROPARALLEL_UNSAFE as std::ffi::c_char;
            let mut root: pg_sys::PlannerInfo = std::mem::zeroed();
            root.glob = &raw mut global;
            let expressions = pg_sys::RelationGetIndexExpressions(opened.index);
            pg_sys::is_parallel_safe(&raw mut root, expressions.cast())
        }
    }

    /// What `read` makes of the value for the row in a slot of the table. `None` for NULL.
    ///
    /// # Safety
    /// There is a row. The value lives until `read` returns.
    pub unsafe fn with<T>(
        &mut self,
        slot: *mut pg_sys::TupleTableSlot,
        read: impl FnOnce(pg_sys::Datum) -> T,
    ) -> Option<T> {
        let mut is_null = true;
        // SAFETY: as this function's; the expression is of the table's rows.
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
            let evaluate = (*self.expression).evalfunc;
            let value = evaluate.map(|evaluate| evaluate(self.expression, context, &mut is_null));
            let result = value.filter(|_| !is_null).map(read);
            pg_sys::MemoryContextSwitchTo(before);
            pg_sys::MemoryContextReset(memory);
            result
        }
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
