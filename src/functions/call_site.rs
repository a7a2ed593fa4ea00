//! What a call site keeps from row to row: the parsed config and the buffers that go with it.

use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_sys};
use simhash_core::simhash::{Simhasher, SimhasherError};

use crate::error::raise;
use crate::types::ConfigText;

struct CallSite {
    config: String,
    simhasher: Simhasher,
}

/// The call site's [`Simhasher`] for `config`: made at the first row, and again only when a row
/// brings another config.
pub fn simhasher<'a>(fcinfo: pg_sys::FunctionCallInfo, config: &ConfigText<'_>) -> &'a mut Simhasher {
    // SAFETY: PostgreSQL passes a valid call; fn_extra is ours alone, and what it points to lives as
    // long as fn_mcxt, which outlives the call. No two references exist: a function does not call itself.
    unsafe {
        let flinfo = (*fcinfo).flinfo;
        if flinfo.is_null() {
            let mut context = PgMemoryContexts::CurrentMemoryContext;
            return &mut (*context.leak_and_drop_on_delete(CallSite::new(config))).simhasher;
        }
        let mut site = (*flinfo).fn_extra as *mut CallSite;
        if site.is_null() {
            site = PgMemoryContexts::For((*flinfo).fn_mcxt).leak_and_drop_on_delete(CallSite::new(config));
            (*flinfo).fn_extra = site.cast();
        } else if (*site).config != config.as_str() {
            *site = CallSite::new(config);
        }
        &mut (*site).simhasher
    }
}

impl CallSite {
    fn new(config: &ConfigText<'_>) -> Self {
        CallSite { config: config.as_str().to_owned(), simhasher: new_simhasher(config) }
    }
}

/// A [`Simhasher`] for one call.
pub fn new_simhasher(config: &ConfigText<'_>) -> Simhasher {
    Simhasher::new(config.config()).unwrap_or_else(|error| match error {
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
