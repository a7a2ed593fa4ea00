//! A configuration with the objects that it names, and the simhashers that cut texts by it.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use simhash_core::config::StopWords;
use simhash_core::config::recipes::{near_recipe, recipe};
use simhash_core::features::model::Model;
use simhash_core::words::lists::{Kind, WordList};
use simhash_core::{Config, Named, Simhasher, passages};

/// What texts are cut for. Each purpose uses a part of the configuration, the same as in the
/// extension.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Tokens, normalised texts, simhash.
    All,
    /// MinHash.
    Sets,
    /// Near-duplicates.
    Near,
    /// Copied passages.
    Passages,
}

/// A configuration, and the objects that it names.
#[pyclass(frozen, module = "pg_simhash._native")]
pub struct Recipe {
    config: Config,
    named: Named,
}

#[pymethods]
impl Recipe {
    #[new]
    #[pyo3(signature = (config, model=None, dictionary=None, stopwords=None))]
    fn new(
        config: &str,
        model: Option<Vec<u8>>,
        dictionary: Option<Vec<(String, Option<i64>)>>,
        stopwords: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let config =
            Config::parse(config).map_err(|error| value_error(error.message(), &error.hint()))?;
        let model = model.map(|bytes| {
            Model::from_bytes(bytes.into()).map(Arc::new).map_err(|error| {
                value_error(
                    format!("the model cannot be read: {error}"),
                    "Take what SELECT model FROM simhash_model gives.",
                )
            })
        });
        let list = |kind, words: Vec<(String, Option<i64>)>| {
            let list = WordList::new(kind, words, &mut || ());
            list.map(Arc::new).map_err(|error| value_error(error.message(), &error.hint()))
        };
        let stopwords = stopwords.map(|words| words.into_iter().map(|word| (word, None)).collect());
        let named = Named {
            model: model.transpose()?,
            dictionary: dictionary.map(|words| list(Kind::Dictionary, words)).transpose()?,
            stop_words: stopwords.map(|words| list(Kind::StopWords, words)).transpose()?,
        };
        let recipe = Recipe { config, named };
        // Report missing or unsuitable objects at once.
        for purpose in [Purpose::All, Purpose::Near] {
            recipe.made(purpose)?;
        }
        Ok(recipe)
    }

    /// The configuration, as the extension writes it.
    fn __str__(&self) -> String {
        self.config.to_string()
    }
}

impl Recipe {
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The simhasher that cuts texts for a purpose.
    pub fn simhasher(&self, purpose: Purpose) -> Simhasher {
        self.made(purpose).expect("it could be made when the recipe was made")
    }

    fn made(&self, purpose: Purpose) -> PyResult<Simhasher> {
        let config = match purpose {
            Purpose::All => self.config.clone(),
            Purpose::Sets => recipe(&self.config),
            Purpose::Near => near_recipe(&self.config),
            Purpose::Passages => passages::recipe(&self.config),
        };
        let Named { model, dictionary, stop_words } = self.named.clone();
        let names_stop_words = matches!(config.stopwords, StopWords::Named(_));
        let named = Named {
            model: model.filter(|_| config.model.is_some()),
            dictionary: dictionary.filter(|_| config.dictionary.is_some()),
            stop_words: stop_words.filter(|_| names_stop_words),
        };
        Simhasher::with(config, named, &mut || ()).map_err(|error| {
            value_error(
                error.to_string(),
                "Give what a config names with it: Config(config, model=bytes, \
                 dictionary={word: frequency}, stopwords=[word]).",
            )
        })
    }
}

/// A ValueError with a hint.
pub fn value_error(message: String, hint: &str) -> PyErr {
    PyValueError::new_err(format!("{message}. {hint}").trim_end().to_owned())
}
