//! `simhash_train`: a model from a query's texts, in one pass and bounded memory.

use std::time::{Duration, Instant};

use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::models::train::{TrainError, Trainer};

use super::cache::Schema;
use super::spill::TempFile;
use super::store;
use crate::error::raise;
use crate::functions::call_site::interrupts;
use crate::functions::cursor::{Column, for_each_row, is_text};
use crate::guc::work_mem;
use crate::types::{ConfigText, Text};

/// Between two notices of progress.
const NOTICE_EVERY: Duration = Duration::from_secs(10);

/// Counts by what of `config` decides on features; raises an ERROR if that cannot be.
pub fn new_trainer(config: &ConfigText<'_>) -> Trainer {
    Trainer::new(&config.config())
        .unwrap_or_else(|error| raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string(), ""))
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
            "the documents of one model must be counted with one config".into(),
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

#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_train(
    name: Text<'_>,
    query: Text<'_>,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> i64 {
    let schema = Schema::of_call(fcinfo);
    // SAFETY: reads the transaction's state; raises an ERROR in a read-only one.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"simhash_train()".as_ptr()) };
    store::check_may_insert(schema);
    store::check_new_name(schema, name.as_str());
    let mut trainer = new_trainer(&config);
    let mut spill = TempFile::default();
    let mut interrupt = interrupts();
    let mut noticed = Instant::now();
    let columns = [Column { name: "body", types: "text", accepts: &is_text }];
    for_each_row(query.as_str(), &columns, &mut |row| {
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
    store::insert(schema, name.as_str(), &model);
    model.documents() as i64
}
