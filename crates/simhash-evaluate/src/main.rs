//! Measures how well the methods find near-duplicates in labelled texts.
//!
//! `simhash-evaluate run ROOT [CORPORA]` measures the corpora below ROOT/evaluate/corpora, and
//! those that are not shipped in the directory CORPORA. It writes results to ROOT/docs/evaluation,
//! from which the package `report` makes the page. `only EXPERIMENT ROOT [CORPORA]` runs one
//! experiment. `large SETS ROOT [SET]...` measures the large sets in the directory SETS, which
//! `evaluate/draw` makes.
//! `sample FROM TO` draws the shipped samples from full corpora. `tokenizers FILE` prints a table
//! of tokenizers for the texts of one file. For one of the large sets, `steps FILE` prints a table
//! of the steps of normalisation, and `suggested FILE` a row about the similarity that is proposed.

#![allow(clippy::disallowed_types, reason = "no server's memory depends on this program")]

mod corpus;
mod edits;
mod experiments;
mod large;
mod method;
mod metrics;
mod random;
mod results;
mod truth;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use corpus::{Language, Length::*, SOURCES, Source};
use experiments::{Prepared, angle, lexicons, settings, short, tokenizers, verified};
use results::lines;

/// Its name, which corpora it is for, and what measures one of them.
type Experiment =
    (&'static str, fn(&Source) -> bool, fn(&Prepared) -> serde_json::Result<Vec<String>>);

const EXPERIMENTS: [Experiment; 6] = [
    ("settings", |_| true, |prepared| lines(&settings::run(prepared))),
    ("verified", |_| true, |prepared| lines(&verified::run(prepared))),
    ("angle", |_| true, |prepared| lines(&angle::run(prepared))),
    ("short", |source| source.length == Short, |prepared| lines(&short::run(prepared))),
    ("lexicons", |source| source.length == Long, |prepared| lines(&lexicons::run(prepared))),
    ("edits", is_long_chinese, |prepared| lines(&experiments::edits::run(prepared))),
];

fn is_long_chinese(source: &Source) -> bool {
    source.language == Language::Chinese && source.length == Long
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["run", root] => run(&EXPERIMENTS, root, None),
        ["run", root, corpora] => run(&EXPERIMENTS, root, Some(corpora)),
        ["only", name, root] => run(&[experiment(name)?], root, None),
        ["only", name, root, corpora] => run(&[experiment(name)?], root, Some(corpora)),
        ["large", sets, root, ref only @ ..] => {
            large::run(Path::new(sets), &Path::new(root).join("docs/evaluation"), only)
        }
        ["sample", from, to] => sample(Path::new(from), Path::new(to)),
        ["suggested", file] => large::suggested::run(Path::new(file)),
        ["steps", file] => large::steps::run(Path::new(file)),
        ["tokenizers", file] => {
            let rows = tokenizers::run(&corpus::read(Path::new(file))?);
            print!("{}", tokenizers::table(&rows));
            Ok(())
        }
        _ => Err("usage: simhash-evaluate run ROOT [CORPORA] | only EXPERIMENT ROOT [CORPORA] \
                  | large SETS ROOT [SET]... | sample FROM TO | tokenizers FILE \
                  | steps FILE | suggested FILE"
            .into()),
    }
}

fn experiment(name: &str) -> Result<Experiment, String> {
    EXPERIMENTS.into_iter().find(|&(other, ..)| other == name).ok_or_else(|| {
        let names = EXPERIMENTS.map(|(name, ..)| name).join(", ");
        format!("{name}: no such experiment; these are: {names}")
    })
}

fn run(
    experiments: &[Experiment],
    root: &str,
    corpora: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    simhash_core::preload();
    let (root, corpora) = (Path::new(root), corpora.map(Path::new));
    for source in &SOURCES {
        match find(source, root, corpora) {
            Some(path) => evaluate(experiments, source, &path, &root.join("docs/evaluation"))?,
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

fn evaluate(
    experiments: &[Experiment],
    source: &'static Source,
    path: &Path,
    results: &Path,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let prepared = Prepared::new(source, &corpus::read(path)?);
    let sample = prepared.sample();
    println!("{}: {} documents, {:?} pairs", source.name, sample.documents, sample.pairs);
    for (name, is_for, measure) in experiments {
        if is_for(source) {
            let rows = measure(&prepared)?;
            println!("  {name}: {} rows, {} s", rows.len(), start.elapsed().as_secs());
            results::write(results, name, &sample, &rows)?;
        }
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
