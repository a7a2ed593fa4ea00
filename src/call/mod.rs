//! A call from SQL: what its call site keeps, what an aggregate's state is, how it is cancelled,
//! what it shares with parallel workers.

mod aggregate;
pub mod parallel;
mod site;

pub use aggregate::{AggregateState, aggregate_context};
pub use site::{keep, keep_later};

use pgrx::{Internal, pg_sys};

use crate::memory;

/// What an `internal` argument points to; null where there is none.
pub fn pointer<T>(argument: Internal) -> *mut T {
    argument.unwrap().map_or(std::ptr::null_mut(), pg_sys::Datum::cast_mut_ptr)
}

/// Lets a long computation be cancelled: raises PostgreSQL's ERROR when the query has been.
pub fn interrupts() -> impl FnMut() {
    memory::prepare();
    || {
        pgrx::check_for_interrupts!();
    }
}
