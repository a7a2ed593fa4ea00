//! The makers of fingerprints that a call site keeps from row to row, with the parsed config and
//! their buffers.

use pgrx::PgSqlErrorCode;
use simhash_core::config::Method;
use simhash_core::sketches::minhash::Fingerprinter;
use simhash_core::sketches::simhash::Simhasher;

use crate::call::Call;
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::{fingerprinter, simhasher_for};
use crate::types::ConfigText;

/// The call site's [`Simhasher`] for `config`. It is made at the first row, and again only for a
/// row with another config.
pub fn simhasher<'a>(call: &'a mut Call<'_>, config: &ConfigText<'_>) -> &'a mut Simhasher {
    call.keep(
        |made_for: &String| made_for == config.as_str(),
        |call| (config.as_str().to_owned(), new_simhasher(config, call)),
    )
}

/// A [`Simhasher`] for one call.
pub fn new_simhasher(config: &ConfigText<'_>, call: &Call<'_>) -> Simhasher {
    simhasher_for(config.config(), Schema::of_call(call))
}

/// The call site's maker of one-bit MinHash fingerprints.
pub fn minhasher<'a>(
    call: &'a mut Call<'_>,
    config: &ConfigText<'_>,
    bits: u32,
) -> &'a mut Fingerprinter {
    call.keep(
        |made_for: &String| made_for == config.as_str(),
        |call| {
            let schema = Schema::of_call(call);
            let made = fingerprinter(Method::Minhash, config.config(), schema, bits);
            (config.as_str().to_owned(), made)
        },
    )
}

/// The method of that name. Raises 22023 if there is none.
pub fn method_named(name: &str) -> Method {
    Method::from_name(name).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value \"{name}\" for \"method\""),
            &format!("Allowed: {}.", Method::names()),
        )
    })
}
