//! What a call site keeps from row to row: the parsed config and the buffers that go with it.

use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_sys};
use simhash_core::config::{Config, Method};
use simhash_core::sets::minhash::Fingerprinter;
use simhash_core::sets::set_config;
use simhash_core::simhash::{Simhasher, SimhasherError};

use crate::error::raise;
use crate::memory;
use crate::models::{Schema, find};
use crate::types::ConfigText;

/// The call site's [`Simhasher`] for `config`: made at the first row, and again only when a row
/// brings another config.
pub fn simhasher<'a>(fcinfo: pg_sys::FunctionCallInfo, config: &ConfigText<'_>) -> &'a mut Simhasher {
    keep(
        fcinfo,
        |made_for: &String| made_for == config.as_str(),
        || (config.as_str().to_owned(), new_simhasher(config, fcinfo)),
    )
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
pub fn new_simhasher(config: &ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> Simhasher {
    simhasher_for(config.config(), Schema::of_call(fcinfo))
}

/// A [`Simhasher`] for a config that is at hand; its model, if it names one, is looked for in the extension's schema.
pub fn simhasher_for(config: Config, schema: Schema) -> Simhasher {
    let named = config.model.as_ref().map(|name| format!("model \"{name}\": ")).unwrap_or_default();
    let made = match &config.model {
        None => Simhasher::new(config),
        Some(name) => {
            let model = find(schema, name);
            Simhasher::with_model(config, model)
        }
    };
    made.unwrap_or_else(|error| {
        let hint = match &error {
            SimhasherError::NeedsModel(_) => "Name it as \"model\" in the config.",
            SimhasherError::OtherFeatures(_) => {
                "Tokenizer, shingle, normalize, stopwords and hmm must be those that it was trained with."
            }
            SimhasherError::NoPercentiles(_) => "Give the cap as a number greater than 0.",
        };
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, format!("{named}{error}"), hint)
    })
}

/// A maker of fingerprints of `bits` bits by one method.
pub fn fingerprinter(method: Method, config: Config, schema: Schema, bits: u32) -> Fingerprinter {
    let config = match method {
        Method::Simhash => config,
        Method::Minhash => set_config(&config, config.shingle),
    };
    Fingerprinter::new(method, simhasher_for(config, schema), bits)
}

/// Lets a long computation be cancelled: raises PostgreSQL's ERROR when the query has been.
pub fn interrupts() -> impl FnMut() {
    memory::prepare();
    || {
        pgrx::check_for_interrupts!();
    }
}
