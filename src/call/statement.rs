//! Identity of a running statement.

use std::ffi::c_void;

use pgrx::pg_sys;

use super::site::Call;

/// The statement that writes a row, identified by the memory context in which the executor set it
/// up.
///
/// In that context the executor looks up trigger functions: ExecCallTriggerFunc calls fmgr_info
/// before it switches to the per-tuple context. It also describes indexes there (makeIndexInfo),
/// including those of partitions to which rows are routed (ExecInitPartitionInfo). For a plan it is
/// es_query_cxt. COPY and a subscription's worker have no plan: for them it is the context in which
/// they call the executor, and to which they return for each row. Statements run by triggers have
/// contexts of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct StatementId(pg_sys::MemoryContext);

impl StatementId {
    /// The statement that fired a trigger.
    pub fn of_trigger(call: &Call<'_>) -> Self {
        StatementId(call.function().expect("a trigger's function is described").fn_mcxt)
    }

    /// The memory context, which lives as long as the statement.
    pub fn memory(self) -> pg_sys::MemoryContext {
        self.0
    }

    /// # Safety
    /// `info` is the executor's, for an index into which rows are inserted.
    pub unsafe fn of_index(info: *mut pg_sys::IndexInfo) -> Self {
        // SAFETY: `info` is a valid IndexInfo.
        StatementId(unsafe { (*info).ii_Context })
    }

    /// # Safety
    /// `query` is the executor's, after ExecutorStart.
    pub unsafe fn of_query(query: *mut pg_sys::QueryDesc) -> Self {
        // SAFETY: a started query has an estate.
        StatementId(unsafe { (*(*query).estate).es_query_cxt })
    }

    /// The statement, from the argument of the callback that runs when it ends.
    pub fn ended(memory: *mut c_void) -> Self {
        StatementId(memory.cast())
    }

    /// Registers a callback for the end of the statement. Its argument is the statement's memory
    /// context.
    ///
    /// # Safety
    /// The statement is running. `then` may also be called while the process exits.
    pub unsafe fn at_end(self, then: unsafe extern "C-unwind" fn(*mut c_void)) {
        let (func, arg, next) = (Some(then), self.0.cast(), std::ptr::null_mut());
        let callback = pg_sys::MemoryContextCallback { func, arg, next };
        // SAFETY: the callback's record is allocated in the context that it is registered with.
        unsafe {
            let record = pg_sys::MemoryContextAlloc(self.0, size_of_val(&callback)).cast();
            std::ptr::write(record, callback);
            pg_sys::MemoryContextRegisterResetCallback(self.0, record);
        }
    }
}

/// The nesting depth of triggers at this call.
pub fn trigger_depth() -> i32 {
    // SAFETY: pg_trigger_depth takes no arguments.
    unsafe { pgrx::direct_function_call(pg_sys::pg_trigger_depth, &[]) }.unwrap_or(0)
}
