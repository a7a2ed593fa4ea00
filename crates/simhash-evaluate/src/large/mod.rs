//! Near-duplicates in large real sets: which pairs are similar, exactly, and which of them
//! `near_duplicate`, fingerprints and libraries find.
//!
//! The sets are where `evaluate/draw` writes them. A pair is right by similarity if the Jaccard
//! similarity of its word pairs reaches the requested one. It is right by label if both texts have
//! the same label. Of these, the report leaves out pairs that share little. Pairs that are found
//! are counted by both, so that every precision and recall follows from a row.

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

/// The requested similarities.
const SIMILARITIES: [f64; 4] = [0.5, 0.6, 0.7, 0.8];

/// The least similarity at which all pairs are known.
const LEAST: f64 = 0.5;

/// The similarity of the measurements that are made at only one.
const ONE: f64 = 0.7;

/// With this many texts, datasketch, which takes longest, is measured at one similarity.
const MANY: usize = 100_000;

/// With this many, rensa too is measured at one similarity, and other recipes than word pairs only
/// from that similarity on. datasketch is left out, and not all fingerprints are compared.
const VERY_MANY: usize = 500_000;

/// A measurement is left out if more pairs of texts share keys than this, each band counted by
/// itself.
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
    /// Distinct word pairs of a text, on average, and the share of texts that have at most ten.
    shingles: f64,
    short: f64,
    /// All pairs that are right by similarity or label. Pairs of different labels that are less
    /// similar than [`LEAST`] are not counted.
    truth: Tally,
    /// The exact pairs.
    curve: Curve,
    /// Seconds to cut the texts into word pairs.
    cut: f64,
    laws: Vec<Kept>,
}

/// How many of the exact pairs are candidates by the law of a similarity.
#[derive(Debug, Serialize)]
struct Kept {
    similarity: f64,
    /// Pairs that are at least as similar, but less than 0.01 more: all, and the candidates among
    /// them.
    at: [u64; 2],
    /// Pairs that are at least as similar, and the candidates among them.
    from: [u64; 2],
    /// The share of the pairs of `at` that are candidates, in each draw of other hash functions.
    draws: Vec<f64>,
}

/// The pairs that one method finds.
#[derive(Debug, Serialize)]
struct Row {
    method: String,
    similarity: Option<f64>,
    /// Pairs whose texts or estimates were compared.
    candidates: u64,
    found: Tally,
    /// The seconds of one core to cut and sketch all texts, and to find the pairs.
    sketch: f64,
    pairs: f64,
    /// The megabytes held.
    memory: u64,
}

/// Measures each set in the directory, or only those that are named, and writes a file for each to
/// `results`.
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

/// The pairs that one method found, and their cost.
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

    /// Measures fingerprints of word pairs.
    fn by_distance(&mut self) {
        let (within, sketch) = Within::new(self.tallies.pairs);
        let sketch = sketch + self.tallies.pairs.cut;
        let clock = Clock::start();
        let (found, candidates) = within.pairs();
        let taken =
            Taken { candidates, found, sketch, pairs: clock.seconds(), memory: within.memory() };
        self.add(within.to_string(), None, &taken);
    }

    /// Measures fingerprints of word pairs within the distance of a similarity, alone and verified.
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

    /// Measures `near_duplicate` with one recipe.
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

/// How many of the exact pairs are candidates by the law of each similarity.
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
