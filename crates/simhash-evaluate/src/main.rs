//! How well the methods find near-duplicates in labelled texts.
//!
//! `simhash-evaluate run ROOT [CORPORA]` measures the corpora below ROOT/evaluate/corpora, and those in the directory
//! CORPORA that are not there; `render ROOT` writes ROOT/docs/evaluation.md from all results; `sample FROM TO` draws what
//! is shipped from full corpora.

// A program of its own, which no server's memory depends on.
#![allow(clippy::disallowed_types)]

mod corpus;
mod edits;
mod experiments;
mod method;
mod metrics;
mod random;
mod report;
mod results;
mod truth;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Serialize, de::DeserializeOwned};

use corpus::{Language, Length, SOURCES, Source};
use experiments::{Prepared, angle, lexicons, settings, short, wrapping};
use results::{Results, Sample};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["run", root] => run(Path::new(root), None),
        ["run", root, corpora] => run(Path::new(root), Some(Path::new(corpora))),
        ["render", root] => report::render(Path::new(root)),
        ["sample", from, to] => sample(Path::new(from), Path::new(to)),
        _ => Err("usage: simhash-evaluate run ROOT [CORPORA] | render ROOT | sample FROM TO".into()),
    }
}

fn run(root: &Path, corpora: Option<&Path>) -> Result<(), Box<dyn Error>> {
    simhash_core::preload();
    for source in &SOURCES {
        match find(source, root, corpora) {
            Some(path) => evaluate(source, &path, &root.join("docs/evaluation"))?,
            None => println!("{}: not here, so its results stay", source.name),
        }
    }
    report::render(root)
}

fn find(source: &Source, root: &Path, corpora: Option<&Path>) -> Option<PathBuf> {
    let directory = if source.shipped { &root.join("evaluate/corpora") } else { corpora? };
    Some(directory.join(file_name(source))).filter(|path| path.exists())
}

fn file_name(source: &Source) -> String {
    format!("{}.jsonl.xz", source.name)
}

fn evaluate(source: &'static Source, path: &Path, results: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let prepared = Prepared::new(source, &corpus::read(path)?);
    let sample = prepared.sample();
    println!("{}: {} documents, {:?} pairs", source.name, sample.documents, sample.pairs);
    let keep = Keep { sample: &sample, results, start };
    keep.rows("settings", settings::run(&prepared))?;
    keep.rows("angle", angle::run(&prepared))?;
    if source.language == Language::Chinese {
        keep.rows("wrapping", wrapping::run(&prepared))?;
    }
    if source.length == Length::Short {
        keep.rows("short", short::run(&prepared))?;
        keep.rows("speed", short::speeds(&prepared))?;
    } else {
        keep.rows("lexicons", lexicons::run(&prepared))?;
    }
    if source.language == Language::Chinese && source.length == Length::Long {
        keep.rows("edits", experiments::edits::run(&prepared))?;
    }
    Ok(())
}

struct Keep<'a> {
    sample: &'a Sample,
    results: &'a Path,
    start: Instant,
}

impl Keep<'_> {
    fn rows<Row: Serialize + DeserializeOwned>(
        &self,
        experiment: &str,
        rows: Vec<Row>,
    ) -> Result<(), Box<dyn Error>> {
        println!("  {experiment}: {} rows, {} s", rows.len(), self.start.elapsed().as_secs());
        Results { sample: self.sample.clone(), rows }.write(self.results, experiment)
    }
}

/// Documents of each corpus that are shipped.
fn shipped(source: &Source) -> usize {
    match source.name {
        "zh_laws" => 1000,
        "zh_verses" | "en_verses" => 10_000,
        "en_descriptions" => 3000,
        _ => usize::MAX,
    }
}

fn sample(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    for source in SOURCES.iter().filter(|source| source.shipped) {
        let name = file_name(source);
        let documents = corpus::write_sample(&from.join(&name), &to.join(&name), shipped(source))?;
        println!("{name}: {documents} documents");
    }
    Ok(())
}
