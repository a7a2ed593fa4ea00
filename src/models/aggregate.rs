//! Training of a model by an aggregate, whose rows may be counted in parallel.

use pgrx::PgSqlErrorCode;
use simhash_core::config::Config;
use simhash_core::models::train::{TrainError, Trainer};

use super::hasher::named_words;
use super::train::{new_trainer, raise_out_of_memory, raise_train_error};
use crate::call::interrupts;
use crate::catalog::Schema;
use crate::error::raise;
use crate::guc::work_mem;
use crate::types::{ConfigText, Text};

/// The counts of an aggregate, and its config as text.
pub struct Counting {
    trainer: Trainer,
    config: String,
}

impl Counting {
    pub fn new(config: &ConfigText<'_>, schema: Schema) -> Self {
        let trainer = new_trainer(&config.config(), schema);
        Counting { trainer, config: config.as_str().to_owned() }
    }

    /// An empty state with the config of another one.
    pub fn like(other: &Counting, schema: Schema) -> Self {
        let trainer = new_trainer(other.trainer.config(), schema);
        Counting { trainer, config: other.config.clone() }
    }

    /// Reads the result of [`Counting::to_bytes`]. Raises XX001 for any other bytes.
    pub fn from_bytes(bytes: &[u8], schema: Schema) -> Self {
        let named = |config: &Config| named_words(config, schema);
        let Ok(trainer) = Trainer::from_bytes(bytes, named, &mut interrupts()) else {
            raise(
                PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                "malformed state of simhash_train_agg".into(),
                "",
            )
        };
        let config = trainer.config().to_string();
        Counting { trainer, config }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.trainer.to_bytes(&mut interrupts())
    }

    /// Counts a text. Raises 22023 if its config differs from the first one.
    pub fn add(&mut self, body: &Text<'_>, config: &ConfigText<'_>) {
        if self.config != config.as_str() {
            raise_train_error(TrainError::NotATrainer);
        }
        if let Err(error) = self.trainer.add(body.as_str(), &mut interrupts()) {
            raise_train_error(error);
        }
        if self.trainer.documents().is_multiple_of(256) {
            self.check_memory();
        }
    }

    /// Adds the counts of another state.
    pub fn combine(&mut self, other: &Counting) {
        if let Err(error) = self.trainer.combine(&other.trainer, &mut interrupts()) {
            raise_train_error(error);
        }
        self.check_memory();
    }

    /// The model of the counts so far. Counting may continue afterwards.
    pub fn model(&mut self) -> Vec<u8> {
        self.trainer.finish(None, &mut interrupts()).as_bytes().to_vec()
    }

    fn check_memory(&self) {
        if self.trainer.memory() > work_mem() {
            raise_out_of_memory(
                "simhash_train_agg",
                "Raise simhash.work_mem, or use simhash_train, which writes to temporary files.",
            )
        }
    }
}
