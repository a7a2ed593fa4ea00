//! What a call site keeps from row to row: the parsed config and the buffers that go with it.

use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_sys};
use simhash_core::config::Config;
use simhash_core::simhash::{Simhasher, SimhasherError};

use crate::error::raise;
use crate::types::ConfigText;

/// The call site's [`Simhasher`] for `config`: made at the first row, and again only when a row
/// brings another config.
pub fn simhasher<'a>(fcinfo: pg_sys::FunctionCallInfo, config: &ConfigText<'_>) -> &'a mut Simhasher {
    keep(fcinfo, |made_for: &String| made_for == config.as_str(), || {
        (config.as_str().to_owned(), new_simhasher(config))
    })
}

/// What the call site keeps: made at the first row, and again when `serves` says that it was made for another
/// key than this row's. A call site must always ask for the same type.
pub fn keep<'a, K, T>(
    fcinfo: pg_sys::FunctionCallInfo,
    serves: impl FnOnce(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> &'a mut T {
    // SAFETY: PostgreSQL passes a valid call; fn_extra is ours alone, and what it points to lives as
    // long as fn_mcxt, which outlives the call. No two references exist: a function does not call itself.
    unsafe {
        let flinfo = (*fcinfo).flinfo;
        if flinfo.is_null() {
            let mut context = PgMemoryContexts::CurrentMemoryContext;
            return &mut (*context.leak_and_drop_on_delete(make())).1;
        }
        let mut site = (*flinfo).fn_extra as *mut (K, T);
        if site.is_null() {
            site = PgMemoryContexts::For((*flinfo).fn_mcxt).leak_and_drop_on_delete(make());
            (*flinfo).fn_extra = site.cast();
        } else if !serves(&(*site).0) {
            *site = make();
        }
        &mut (*site).1
    }
}

/// A [`Simhasher`] for one call.
pub fn new_simhasher(config: &ConfigText<'_>) -> Simhasher {
    simhasher_for(config.config())
}

/// A [`Simhasher`] for a config that is at hand.
pub fn simhasher_for(config: Config) -> Simhasher {
    Simhasher::new(config).unwrap_or_else(|error| match error {
        SimhasherError::NeedsModel(name) => raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("model \"{name}\" does not exist"),
            "No model has been trained in this database.",
        ),
    })
}

/// Lets a long computation be cancelled: raises PostgreSQL's ERROR when the query has been.
pub fn interrupts() -> impl FnMut() {
    || {
        pgrx::check_for_interrupts!();
    }
}
