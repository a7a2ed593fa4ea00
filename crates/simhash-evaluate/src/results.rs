//! Results as they are stored: one JSON file for each corpus and experiment, with a row on each
//! line, so that diffs are readable.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::corpus::{Language, Length};

/// The measured sample, and how large it is.
#[derive(Debug, Serialize)]
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
    /// Pairs of one group, by [`crate::truth::BANDS`].
    pub pairs: [usize; 4],
    /// Pairs of different groups that count.
    pub others: u64,
    /// Pairs of different groups that do not count, since they are near-duplicates nevertheless.
    pub unlabelled: usize,
}

/// Each row as JSON.
pub fn lines<Row: Serialize>(rows: &[Row]) -> serde_json::Result<Vec<String>> {
    rows.iter().map(serde_json::to_string).collect()
}

/// Writes the rows of one experiment on one corpus.
pub fn write(
    directory: &Path,
    experiment: &str,
    sample: &Sample,
    rows: &[String],
) -> Result<(), Box<dyn Error>> {
    let head = serde_json::to_string(sample)?;
    let text = format!("{{\"sample\": {head},\n\"rows\": [\n{}\n]}}\n", rows.join(",\n"));
    fs::create_dir_all(directory)?;
    Ok(fs::write(directory.join(format!("{experiment}-{}.json", sample.corpus)), text)?)
}

/// Rounds to this many digits after the point, as stored.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
