//! A statement, as long as it runs.

use std::ffi::c_void;

use pgrx::pg_sys;

/// The statement that writes a row: the memory in which the executor has set it up.
///
/// In that memory it looks up the functions of triggers (ExecCallTriggerFunc calls fmgr_info before
/// it changes to the row's memory) and describes indexes (makeIndexInfo), those of partitions to
/// which rows are routed too (ExecInitPartitionInfo). It is the plan's es_query_cxt. COPY and the
/// worker of a subscription have no plan: there it is the one in which they call the executor, and
/// which they come back to for each row. Statements that triggers run have memory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct StatementId(pg_sys::MemoryContext);

impl StatementId {
    /// # Safety
    /// PostgreSQL passes the call of a trigger.
    pub unsafe fn of_trigger(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as this function's.
        StatementId(unsafe { (*(*fcinfo).flinfo).fn_mcxt })
    }

    /// # Safety
    /// The executor's, of an index that rows are put into.
    pub unsafe fn of_index(info: *mut pg_sys::IndexInfo) -> Self {
        // SAFETY: as this function's.
        StatementId(unsafe { (*info).ii_Context })
    }

    /// # Safety
    /// The executor's, and started.
    pub unsafe fn of_query(query: *mut pg_sys::QueryDesc) -> Self {
        // SAFETY: as this function's.
        StatementId(unsafe { (*(*query).estate).es_query_cxt })
    }

    /// Of the argument with which a function is called at the statement's end.
    pub fn ended(memory: *mut c_void) -> Self {
        StatementId(memory.cast())
    }

    /// Calls a function when the statement ends, with its memory for the argument.
    ///
    /// # Safety
    /// The statement runs; the function may be called while the process ends.
    pub unsafe fn at_end(self, then: unsafe extern "C-unwind" fn(*mut c_void)) {
        // SAFETY: the callback's record lives in the memory whose end it waits for.
        unsafe {
            let bytes = size_of::<pg_sys::MemoryContextCallback>();
            let record =
                pg_sys::MemoryContextAlloc(self.0, bytes).cast::<pg_sys::MemoryContextCallback>();
            record.write(pg_sys::MemoryContextCallback {
                func: Some(then),
                arg: self.0.cast(),
                next: std::ptr::null_mut(),
            });
            pg_sys::MemoryContextRegisterResetCallback(self.0, record);
        }
    }
}

/// How many triggers deep this call is.
pub fn trigger_depth() -> i32 {
    // SAFETY: a function of PostgreSQL's without arguments.
    unsafe { pgrx::direct_function_call(pg_sys::pg_trigger_depth, &[]) }.unwrap_or(0)
}
