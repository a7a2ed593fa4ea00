//! Results as they are kept: one JSON file a corpus and experiment, one line a row, so that changes can be read.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::corpus::{Language, Length};

/// What was measured on, and how large it was.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sample {
    pub corpus: String,
    pub language: Language,
    pub length: Length,
    pub shipped: bool,
    pub seed: u64,
    pub version: String,
    pub documents: usize,
    pub groups: usize,
    /// Documents of other groups that trained the models.
    pub trained: usize,
    /// The median text, in characters.
    pub median: usize,
    /// Pairs of one group by [`crate::truth::BANDS`].
    pub pairs: [usize; 4],
    /// Pairs of different groups that count.
    pub others: u64,
    /// Pairs of different groups that do not, being near-duplicates all the same.
    pub unlabelled: usize,
}

/// The rows of one experiment on one corpus.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results<Row> {
    pub sample: Sample,
    pub rows: Vec<Row>,
}

impl<Row: Serialize + DeserializeOwned> Results<Row> {
    pub fn write(&self, directory: &Path, experiment: &str) -> Result<(), Box<dyn Error>> {
        let rows = self.rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let sample = serde_json::to_string(&self.sample)?;
        let text = format!("{{\"sample\": {sample},\n\"rows\": [\n{}\n]}}\n", rows.join(",\n"));
        fs::create_dir_all(directory)?;
        fs::write(directory.join(format!("{experiment}-{}.json", self.sample.corpus)), text)?;
        Ok(())
    }

    /// `None` when that was not measured yet.
    pub fn read(directory: &Path, experiment: &str, corpus: &str) -> Result<Option<Self>, Box<dyn Error>> {
        let path = directory.join(format!("{experiment}-{corpus}.json"));
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path)?;
        Ok(Some(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?))
    }
}

/// To so many digits after the point, as kept.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
