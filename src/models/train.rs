//! Training of a model on a query's texts, in one pass and in bounded memory.

use std::time::{Duration, Instant};

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::config::Config;
use simhash_core::models::train::{TrainError, Trainer};

use super::hasher::named_words;
use super::spill::TempFile;
use super::store;
use crate::call::interrupts;
use crate::catalog::Schema;
use crate::error::raise;
use crate::guc::work_mem;
use crate::query::{Column, for_each_row, is_text};
use crate::types::ConfigText;

/// The minimal time between two progress notices.
const NOTICE_EVERY: Duration = Duration::from_secs(10);

/// A trainer for the features of a config. Raises an ERROR if the config does not allow training.
pub fn new_trainer(config: &Config, schema: Schema) -> Trainer {
    let named = named_words(config, schema);
    Trainer::with(config, named, &mut interrupts()).unwrap_or_else(|error| {
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string(), "")
    })
}

pub fn raise_train_error(error: TrainError) -> ! {
    match error {
        TrainError::TooManyTerms => raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "more distinct terms than a model can hold".into(),
            "",
        ),
        TrainError::NotATrainer => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "documents of one model must be counted with one config".into(),
            "",
        ),
    }
}

pub fn raise_out_of_memory(what: &str, hint: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!("{what} needs more than the {} MB that simhash.work_mem allows", work_mem() >> 20),
        hint,
    )
}

/// Trains a model on the texts that a query returns and stores it under a name. Returns the number
/// of texts.
pub fn train(schema: Schema, name: &str, query: &str, config: &ConfigText<'_>) -> i64 {
    // SAFETY: reads the transaction state. Raises an ERROR in a read-only transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"simhash_train()".as_ptr()) };
    store::check_may_insert(schema);
    store::check_new_name(schema, name);
    let mut trainer = new_trainer(&config.config(), schema);
    let mut spill = TempFile::default();
    let mut interrupt = interrupts();
    let mut noticed = Instant::now();
    let columns = [Column { name: "body", types: "text", accepts: &is_text }];
    for_each_row(query, &columns, &mut |row| {
        let Some(body) = row.text(0) else { return };
        if let Err(error) = trainer.add(body.as_str(), &mut interrupt) {
            raise_train_error(error);
        }
        if trainer.memory_at_most() > work_mem() {
            if trainer.term_memory() > work_mem() / 2 {
                raise_out_of_memory(
                    "simhash_train",
                    "Raise simhash.work_mem, or train on a sample of the texts.",
                );
            }
            trainer.spill(&mut spill, &mut interrupt);
        }
        if trainer.documents().is_multiple_of(256) && noticed.elapsed() >= NOTICE_EVERY {
            noticed = Instant::now();
            pgrx::notice!("{} documents, {} distinct terms", trainer.documents(), trainer.terms());
        }
    });
    let model = trainer.finish(Some(&mut spill), &mut interrupt);
    spill.close();
    store::insert(schema, name, &model);
    model.documents() as i64
}
