//! A call from SQL: what its call site keeps, what an aggregate's state is, which statement fired a
//! trigger, how it is cancelled, which settings parts of it have, what it shares with parallel
//! workers.

mod aggregate;
pub mod parallel;
mod settings;
mod site;
mod statement;

pub use aggregate::{AggregateState, aggregate_context};
pub use settings::with_settings;
pub use site::{keep, keep_later};
pub use statement::{StatementId, trigger_depth};

use pgrx::{Internal, pg_sys};

use crate::memory;

/// What an `internal` argument points to; null where there is none.
pub fn pointer<T>(argument: Internal) -> *mut T {
    argument.unwrap().map_or(std::ptr::null_mut(), pg_sys::Datum::cast_mut_ptr)
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
