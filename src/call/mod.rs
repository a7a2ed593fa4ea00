//! The context of a call from SQL: data kept at its call site, aggregate states, the statement that
//! fired a trigger, cancellation, settings for a part of the call, and parallel workers.

mod aggregate;
pub mod parallel;
mod settings;
mod site;
mod statement;

pub use aggregate::{AggregateState, aggregate_context};
pub use settings::with_settings;
pub use site::Call;
pub use statement::{StatementId, trigger_depth};

use pgrx::{Internal, pg_sys};

use crate::memory;

/// The pointer in an `internal` argument; null if the argument is NULL.
pub fn pointer<T>(argument: Internal) -> *mut T {
    argument.unwrap().map_or(std::ptr::null_mut(), pg_sys::Datum::cast_mut_ptr)
}

/// A check for interrupts for long computations: it raises PostgreSQL's ERROR if the query was
/// cancelled.
pub fn interrupts() -> impl FnMut() {
    memory::prepare();
    || {
        pgrx::check_for_interrupts!();
    }
}
