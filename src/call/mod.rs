//! A call from SQL: what its call site keeps, what an aggregate's state is, how it is cancelled,
//! what it shares with parallel workers.

mod aggregate;
pub mod parallel;
mod site;

pub use aggregate::{AggregateState, aggregate_context};
pub use site::{keep, keep_later};

use std::ffi::c_void;

use pgrx::{Internal, pg_sys};

use crate::memory;

/// What an `internal` argument points to; null where there is none.
pub fn pointer<T>(argument: Internal) -> *mut T {
    argument.unwrap().map_or(std::ptr::null_mut(), pg_sys::Datum::cast_mut_ptr)
}

/// Calls a function when memory is freed, with the memory for its argument.
///
/// # Safety
/// A memory context that is alive; the function may be called while the process ends.
pub unsafe fn at_end_of(
    memory: pg_sys::MemoryContext,
    then: unsafe extern "C-unwind" fn(*mut c_void),
) {
    // SAFETY: the callback's record lives in the memory whose end it waits for.
    unsafe {
        let record = pg_sys::MemoryContextAlloc(memory, size_of::<pg_sys::MemoryContextCallback>())
            .cast::<pg_sys::MemoryContextCallback>();
        record.write(pg_sys::MemoryContextCallback {
            func: Some(then),
            arg: memory.cast(),
            next: std::ptr::null_mut(),
        });
        pg_sys::MemoryContextRegisterResetCallback(memory, record);
    }
}

/// What fired a trigger, if the call is one of a trigger.
///
/// # Safety
/// PostgreSQL passes the call; what it was fired by lives as long as the call.
pub unsafe fn trigger_data<'a>(
    fcinfo: pg_sys::FunctionCallInfo,
) -> Option<&'a pg_sys::TriggerData> {
    // SAFETY: the context of a call by the trigger manager is a TriggerData.
    unsafe {
        let context = (*fcinfo).context.as_ref()?;
        let is_one = context.type_ == pg_sys::NodeTag::T_TriggerData;
        is_one.then(|| &*(*fcinfo).context.cast())
    }
}

/// Lets a long computation be cancelled: raises PostgreSQL's ERROR when the query has been.
pub fn interrupts() -> impl FnMut() {
    memory::prepare();
    || {
        pgrx::check_for_interrupts!();
    }
}
