//! How well the methods find near-duplicates in labelled texts.
//!
//! `simhash-evaluate run ROOT [CORPORA]` measures the corpora below ROOT/evaluate/corpora, and in
//! the directory CORPORA those that are not shipped. Results go to ROOT/docs/evaluation, from where
//! the package `report` makes the page. `sample FROM TO` draws what is shipped from full corpora.

#![allow(clippy::disallowed_types, reason = "no server's memory depends on this program")]

mod corpus;
mod edits;
mod experiments;
mod method;
mod metrics;
mod random;
mod results;
mod truth;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use corpus::{Language, Length, SOURCES, Source};
use experiments::{Prepared, angle, lexicons, settings, short};
use results::lines;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["run", root] => run(Path::new(root), None),
        ["run", root, corpora] => run(Path::new(root), Some(Path::new(corpora))),
        ["sample", from, to] => sample(Path::new(from), Path::new(to)),
        _ => Err("usage: simhash-evaluate run ROOT [CORPORA] | sample FROM TO".into()),
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
    Ok(())
}

fn find(source: &Source, root: &Path, corpora: Option<&Path>) -> Option<PathBuf> {
    let shipped = source.shipped.is_some();
    let directory = if shipped { &root.join("evaluate/corpora") } else { corpora? };
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
    let keep = |experiment: &str, rows: Vec<String>| {
        println!("  {experiment}: {} rows, {} s", rows.len(), start.elapsed().as_secs());
        results::write(results, experiment, &sample, &rows)
    };
    keep("settings", lines(&settings::run(&prepared))?)?;
    keep("angle", lines(&angle::run(&prepared))?)?;
    if source.length == Length::Short {
        keep("short", lines(&short::run(&prepared))?)?;
    } else {
        keep("lexicons", lines(&lexicons::run(&prepared))?)?;
    }
    if source.language == Language::Chinese && source.length == Length::Long {
        keep("edits", lines(&experiments::edits::run(&prepared))?)?;
    }
    Ok(())
}

fn sample(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    for source in &SOURCES {
        let Some(most) = source.shipped else { continue };
        let name = file_name(source);
        let documents = corpus::write_sample(&from.join(&name), &to.join(&name), most)?;
        println!("{name}: {documents} documents");
    }
    Ok(())
}
