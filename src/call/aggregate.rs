//! The state of an aggregate, which its functions pass from call to call.
//!
//! A function of the aggregate makes the state in the aggregate's memory context.

use pgrx::{Internal, PgSqlErrorCode, pg_sys};

use super::site::Call;
use crate::error::raise;

/// A type that is the state of exactly one aggregate.
///
/// # Safety
/// Only functions of that aggregate take the type as a state, so their `internal` argument never
/// points to another type.
pub unsafe trait AggregateState: Sized {
    /// The state passed to a call.
    fn given<'a>(state: Internal) -> Option<&'a mut Self> {
        // SAFETY: the implementation guarantees the type; no two references to it exist at a time.
        state.unwrap().map(|datum| unsafe { &mut *datum.cast_mut_ptr::<Self>() })
    }

    /// The state, kept for as long as the aggregate lives. Its memory context frees it without
    /// dropping it.
    fn kept<'a>(self, call: &Call<'_>) -> &'a mut Self {
        // What palloc aligns to (MAXALIGN).
        const { assert!(align_of::<Self>() <= 8) };
        let context = aggregate_context(call);
        // SAFETY: the context exists; palloc raises an ERROR if there is no memory.
        let state = unsafe { pg_sys::MemoryContextAlloc(context, size_of::<Self>()) }.cast();
        // SAFETY: the allocation has room for the state, and lives as long as the aggregate.
        unsafe {
            std::ptr::write(state, self);
            &mut *state
        }
    }

    /// The state, as the result that PostgreSQL passes to the next call.
    fn returned(state: Option<&mut Self>) -> Internal {
        Internal::from(state.map(|state| pg_sys::Datum::from(std::ptr::from_mut(state))))
    }
}

/// The memory context that lives as long as the aggregate. Raises 42809 outside an aggregate.
pub fn aggregate_context(call: &Call<'_>) -> pg_sys::MemoryContext {
    let mut context = std::ptr::null_mut();
    // SAFETY: PostgreSQL passes a valid call. AggCheckCallContext sets the context if it returns
    // nonzero.
    if unsafe { pg_sys::AggCheckCallContext(call.as_ptr(), &mut context) } == 0 {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            "function called outside of an aggregate".into(),
            "",
        )
    }
    context
}
