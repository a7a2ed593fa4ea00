//! Near-duplicates in large real sets: which pairs are similar, exactly, and which of them
//! `near_duplicate`, fingerprints and libraries find.
//!
//! The sets lie where `evaluate/draw` puts them. A pair is right by similarity if the Jaccard
//! similarity of its word pairs reaches what is asked for, and by label if the texts have one label
//! and share something. What is found is counted by both, so that every precision and recall
//! follows from a row.

mod clock;
mod draws;
mod join;
mod meet;
mod rivals;
mod sets;
pub mod steps;
pub mod suggested;
mod tally;

use std::error::Error;
use std::fs;
use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use simhash_core::sets::sketch::Law;
use simhash_core::sketches::minhash::reach;

use crate::method::Features;
use crate::results::{lines, rounded};
use clock::Clock;
use join::Near;
use meet::{Keys, Within, all_within, cut, fingerprints};
use rivals::Rival;
use sets::{Sets, Texts};
use tally::{Curve, Found, Tallies, Tally};

/// The similarities that are asked for.
const SIMILARITIES: [f64; 4] = [0.5, 0.6, 0.7, 0.8];

/// The least similarity of the pairs that are all known.
const LEAST: f64 = 0.5;

/// The similarity of what is measured at one only.
const ONE: f64 = 0.7;

/// With so many texts, what takes longest is measured at one similarity: datasketch.
const MANY: usize = 100_000;

/// With so many, so is rensa, and recipes other than word pairs are measured from there on only.
/// datasketch is left out, and fingerprints are not all compared.
const VERY_MANY: usize = 500_000;

/// What makes more texts share keys than this, each band by itself, is left out.
const MOST_MEETINGS: u64 = 4_000_000_000;

/// One set.
#[derive(Debug, Serialize)]
struct Sample {
    set: String,
    version: &'static str,
    texts: usize,
    labels: usize,
    /// The median text, in characters.
    median: usize,
    /// Distinct word pairs a text, on average, and the share of texts that have ten or fewer.
    shingles: f64,
    short: f64,
    /// All pairs that are right by similarity or label. What has another label and is less similar
    /// than [`LEAST`] is not counted.
    truth: Tally,
    /// The exact pairs.
    curve: Curve,
    /// Seconds to cut the texts into word pairs.
    cut: f64,
    laws: Vec<Kept>,
}

/// How many of the exact pairs the law of a similarity makes candidates.
#[derive(Debug, Serialize)]
struct Kept {
    similarity: f64,
    /// Pairs that are at most 0.01 more similar than that: all, and candidates.
    at: [u64; 2],
    /// Pairs that are at least as similar.
    from: [u64; 2],
    /// The share of the former that are candidates where other hash functions are drawn.
    draws: Vec<f64>,
}

/// What one way finds.
#[derive(Debug, Serialize)]
struct Row {
    method: String,
    similarity: Option<f64>,
    /// Pairs whose texts or estimates were compared.
    candidates: u64,
    found: Tally,
    /// Seconds of one core: to cut and sketch every text, and to find the pairs.
    sketch: f64,
    pairs: f64,
    /// Megabytes held.
    memory: u64,
}

/// Measures each set in the directory, or only those that are named, and writes what is found to
/// `results`, a file for each.
pub fn run(directory: &Path, results: &Path, only: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<_> = fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}: evaluate/draw makes it", directory.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    // The largest last.
    paths.sort_by_key(|path| fs::metadata(path).map_or(0, |file| file.len()));
    for path in &paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if only.is_empty() || only.contains(&&*name) {
            let (sample, rows) = measure(path, &name)?;
            let (sample, rows) = (serde_json::to_string(&sample)?, lines(&rows)?.join(",\n"));
            let text = format!("{{\"sample\": {sample},\n\"rows\": [\n{rows}\n]}}\n");
            fs::write(results.join(format!("large-{name}.json")), text)?;
        }
    }
    Ok(())
}

fn measure(path: &Path, name: &str) -> Result<(Sample, Vec<Row>), Box<dyn Error>> {
    println!("{name}");
    let mut texts = Texts::read(path)?;
    let labels = std::mem::take(&mut texts.labels);
    let (pairs, keys) = cut(&texts, Features::words(2), false, LEAST);
    println!("  {} texts, {} word pairs, {:.0} s", pairs.len(), pairs.features(), pairs.cut);
    let near = join::join(&pairs, LEAST);
    println!("  {} pairs of {LEAST} and more", near.len());
    let tallies = Tallies { labels: &labels, pairs: &pairs };
    let (truth, curve) = (tallies.truth(&near), tallies.curve(&near, LEAST));
    let laws = kept(&near, &pairs, &keys);
    drop(near);
    let mut rows = Rows { tallies, rows: Vec::new() };
    rows.by_distance();
    if pairs.len() < VERY_MANY {
        rows.by_reach();
    }
    rows.by_sketches("pairs", &pairs, &keys);
    drop(keys);
    for (recipe, features, parted) in [
        ("words", Features::words(1), false),
        ("both", Features::words_of([1, 2]), false),
        ("pairs, parted", Features::words(2), true),
    ] {
        let (sets, keys) = cut(&texts, features, parted, LEAST);
        rows.by_sketches(recipe, &sets, &keys);
    }
    drop(texts.lines);
    rows.by_libraries()?;
    let sample = Sample {
        set: name.to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        texts: pairs.len(),
        labels: labels.iter().max().map_or(0, |&most| most as usize + 1),
        median: texts.median,
        shingles: rounded(pairs.features() as f64 / pairs.len() as f64, 1),
        short: rounded(pairs.share_of_at_most(10), 3),
        truth,
        curve,
        cut: rounded(pairs.cut, 1),
        laws,
    };
    Ok((sample, rows.rows))
}

/// What one way found, and what that took.
struct Taken {
    candidates: u64,
    found: Found,
    sketch: f64,
    pairs: f64,
    memory: u64,
}

struct Rows<'a> {
    tallies: Tallies<'a>,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(&mut self, method: String, similarity: Option<f64>, taken: &Taken) {
        let &Taken { candidates, ref found, sketch, pairs, memory } = taken;
        let asked = similarity.map(|similarity| format!(", {similarity}")).unwrap_or_default();
        println!("  {method}{asked}: {} of {candidates}, {pairs:.1} s", found.len());
        let (sketch, pairs) = (rounded(sketch, 1), rounded(pairs, 1));
        let found = self.tallies.of(found);
        self.rows.push(Row { method, similarity, candidates, found, sketch, pairs, memory });
    }

    /// By fingerprints of word pairs.
    fn by_distance(&mut self) {
        let (within, sketch) = Within::new(self.tallies.pairs);
        let sketch = sketch + self.tallies.pairs.cut;
        let clock = Clock::start();
        let (found, candidates) = within.pairs();
        let taken =
            Taken { candidates, found, sketch, pairs: clock.seconds(), memory: within.memory() };
        self.add(within.to_string(), None, &taken);
    }

    /// By fingerprints of word pairs within the distance of a similarity, alone and verified.
    fn by_reach(&mut self) {
        let sets = self.tallies.pairs;
        let clock = Clock::start();
        let fingerprints: Vec<Option<u128>> = fingerprints(sets);
        let sketch = clock.seconds() + sets.cut;
        let memory = (fingerprints.len() * size_of::<u128>() / 1_000_000) as u64;
        let clock = Clock::start();
        let found = all_within(reach(ONE, 128), &fingerprints, 8192);
        let (all, near) = (sets.len() as u64, found.len() as u64);
        let compared = all * all.saturating_sub(1) / 2;
        let mut alone =
            Taken { candidates: compared, found, sketch, pairs: clock.seconds(), memory };
        self.add("within reach".into(), Some(ONE), &alone);
        let clock = Clock::start();
        alone.found.retain(|&(a, b)| sets.jaccard(a, b) >= ONE);
        let verified = Taken {
            candidates: near,
            pairs: alone.pairs + clock.seconds(),
            memory: memory + (sets.memory() / 1_000_000) as u64,
            ..alone
        };
        self.add("within reach, verified".into(), Some(ONE), &verified);
    }

    /// By `near_duplicate`, for one recipe.
    fn by_sketches(&mut self, recipe: &str, sets: &Sets, keys: &Keys) {
        let very_many = recipe != "pairs" && sets.len() >= VERY_MANY;
        let mut before: Option<(Law, Taken)> = None;
        for similarity in SIMILARITIES.into_iter().filter(|&asked| asked >= ONE || !very_many) {
            let meetings = keys.meetings(similarity);
            if meetings > MOST_MEETINGS {
                println!("  {recipe}, {similarity}: left out, {meetings} meetings");
                continue;
            }
            let law = Law::of(similarity).expect("a similarity with a law");
            let taken = match before.take() {
                // The same candidates, in the same time.
                Some((same, mut taken)) if same == law => {
                    taken.found.retain(|&(a, b)| sets.jaccard(a, b) >= similarity);
                    taken
                }
                _ => {
                    let clock = Clock::start();
                    let (found, candidates) = keys.pairs(sets, similarity);
                    let (pairs, memory) = (clock.seconds(), keys.memory(sets));
                    Taken { candidates, found, sketch: keys.sketch, pairs, memory }
                }
            };
            self.add(format!("near_duplicate, {recipe}"), Some(similarity), &taken);
            before = Some((law, taken));
        }
    }

    fn by_libraries(&mut self) -> Result<(), Box<dyn Error>> {
        let pairs = self.tallies.pairs;
        let asked = |name: &'static str| match (name, pairs.len()) {
            ("datasketch", VERY_MANY..) => &[][..],
            ("datasketch", MANY..) | (_, VERY_MANY..) => &[ONE],
            _ => &SIMILARITIES,
        };
        for rival in rivals::run(pairs, asked)? {
            let Rival { name, similarity, candidates, found, sketch, pairs: took, memory } = rival;
            let sketch = sketch + pairs.cut;
            let taken = Taken { candidates, found, sketch, pairs: took, memory };
            self.add(name, Some(similarity), &taken);
        }
        Ok(())
    }
}

/// What the law of each similarity keeps of the exact pairs.
fn kept(near: &[Near], sets: &Sets, keys: &Keys) -> Vec<Kept> {
    let law = |similarity| Law::of(similarity).expect("a similarity with a law");
    let at = |similarity| {
        let at = near.iter().map(|pair| (pair, pair.similarity()));
        let at = at.filter(|&(_, own)| (similarity..similarity + 0.01).contains(&own));
        (law(similarity), at.map(|(pair, _)| (pair.a, pair.b)).collect::<Found>())
    };
    let at = SIMILARITIES.map(at);
    let draws = draws::shares(sets, &at);
    let laws = SIMILARITIES.iter().zip(&at).zip(draws).map(|((&similarity, (law, at)), draws)| {
        let holds = |a, b| keys.shared(a, b, law.bands) >= law.shared;
        let from = || near.par_iter().filter(|pair| pair.similarity() >= similarity);
        let found = at.par_iter().filter(|&&(a, b)| holds(a, b)).count();
        Kept {
            similarity,
            at: [at.len() as u64, found as u64],
            from: [from().count(), from().filter(|pair| holds(pair.a, pair.b)).count()]
                .map(|count| count as u64),
            draws: draws.into_iter().map(|share| rounded(share, 5)).collect(),
        }
    });
    laws.collect()
}
