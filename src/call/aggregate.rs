//! The state of an aggregate: what its functions hand to each other from call to call.
//!
//! A state is made by a function of the aggregate and kept in the aggregate's memory context.

use pgrx::{Internal, PgSqlErrorCode, pg_sys};

use crate::error::raise;

/// A type that is the state of one aggregate.
///
/// # Safety
/// Functions that use the type as a state belong to that aggregate alone, so that no other type is
/// ever behind their `internal` argument.
pub unsafe trait AggregateState: Sized {
    /// The state that a call was given.
    fn given<'a>(state: Internal) -> Option<&'a mut Self> {
        // SAFETY: the implementation's promise; no two references exist at a time.
        state.unwrap().map(|datum| unsafe { &mut *datum.cast_mut_ptr::<Self>() })
    }

    /// The same state, to be passed to the next call.
    fn returned(state: Option<&mut Self>) -> Internal {
        Internal::from(state.map(|state| pg_sys::Datum::from(std::ptr::from_mut(state))))
    }
}

/// The memory context that lives as long as the aggregate. Raises 42809 outside of an aggregate.
pub fn aggregate_context(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::MemoryContext {
    let mut context = std::ptr::null_mut();
    // SAFETY: PostgreSQL passes a valid call, and sets the context when it is one of an aggregate.
    if unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } == 0 {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            "function called outside of an aggregate".into(),
            "",
        )
    }
    context
}
