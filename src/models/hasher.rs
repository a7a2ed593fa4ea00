//! Makers of fingerprints for a config, with the model and the word lists that it names.

use pgrx::PgSqlErrorCode;
use simhash_core::Named;
use simhash_core::config::recipes::{recipe, set_config};
use simhash_core::config::{Config, Method, StopWords};
use simhash_core::sketches::minhash::Fingerprinter;
use simhash_core::sketches::simhash::{Simhasher, SimhasherError};
use simhash_core::words::lists::Kind;

use super::cache::find;
use super::word_lists;
use crate::call::interrupts;
use crate::catalog::Schema;
use crate::error::raise;

/// The model and the word lists that a config names, from the extension's schema.
pub fn named(config: &Config, schema: Schema) -> Named {
    Named {
        model: config.model.as_ref().map(|name| find(schema, name)),
        ..named_words(config, schema)
    }
}

/// Only the word lists that a config names.
pub fn named_words(config: &Config, schema: Schema) -> Named {
    let find = |kind, name: &String| word_lists::find(schema, kind, name);
    Named {
        model: None,
        dictionary: config.dictionary.as_ref().map(|name| find(Kind::Dictionary, name)),
        stop_words: match &config.stopwords {
            StopWords::Of(_) => None,
            StopWords::Named(name) => Some(find(Kind::StopWords, name)),
        },
    }
}

/// A [`Simhasher`] for a config. Named models and lists are looked up in the extension's schema.
pub fn simhasher_for(config: Config, schema: Schema) -> Simhasher {
    let prefix =
        config.model.as_ref().map(|name| format!("model \"{name}\": ")).unwrap_or_default();
    let named = named(&config, schema);
    let counted_by = set_config(&config, config.shingles());
    let made = Simhasher::with(config, named, &mut interrupts());
    made.unwrap_or_else(|error| {
        let hint = match &error {
            SimhasherError::NeedsModel(_) => "Name it as \"model\" in the config.".to_owned(),
            SimhasherError::NeedsWords(..) => {
                "Create the list, or omit it from the config.".to_owned()
            }
            SimhasherError::OtherFeatures(_) => format!(
                "Tokenizer, shingle, normalize, dictionary, stopwords, spots, hmm, comments and \
                 whitespace must be those that it was trained with. Train another one: \
                 SELECT simhash_train('name', 'SELECT body FROM ...', '{counted_by}');"
            ),
            SimhasherError::NoPercentiles(_) => {
                "Give the cap as a number greater than 0.".to_owned()
            }
            // The other variants concern optional features of the crate, all of which are compiled
            // in.
            _ => "Please report this.".to_owned(),
        };
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, format!("{prefix}{error}"), &hint)
    })
}

/// A fingerprinter for `bits` bits by one method.
pub fn fingerprinter(method: Method, config: Config, schema: Schema, bits: u32) -> Fingerprinter {
    let config = match method {
        Method::Simhash => config,
        Method::Minhash => recipe(&config),
    };
    Fingerprinter::new(method, simhasher_for(config, schema), bits)
}
