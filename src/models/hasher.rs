//! What makes fingerprints by a config, and by the model if the config names one.

use pgrx::PgSqlErrorCode;
use simhash_core::config::{Config, Method};
use simhash_core::sets::minhash::Fingerprinter;
use simhash_core::sets::set_config;
use simhash_core::simhash::{Simhasher, SimhasherError};

use super::cache::find;
use crate::catalog::Schema;
use crate::error::raise;

/// A [`Simhasher`] for a config. Its model, if it names one, is looked for in the extension's
/// schema.
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
                "Tokenizer, shingle, normalize, stopwords and hmm \
                 must be those that it was trained with."
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
