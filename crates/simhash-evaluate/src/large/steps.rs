//! What each step of normalisation costs and gains in the large sets.

use std::error::Error;
use std::path::Path;

use rayon::prelude::*;
use simhash_core::config::{Config, NormalizeStep, NormalizeSteps};

use super::join::{Near, join};
use super::meet::sets_of;
use super::sets::Texts;
use super::{LEAST, ONE};

/// Prints a table's row for the default steps, and one for each step except `html`, which is left
/// out of them or added to them. A row has the number of texts that the step changes, and
/// precision, recall and F1 by label of the pairs that are as similar as [`LEAST`] and as [`ONE`].
pub fn run(path: &Path) -> Result<(), Box<dyn Error>> {
    let texts = Texts::read(path)?;
    let default = NormalizeSteps::default();
    let (before, plain) = sets_of(&texts, &config(default));
    let pairs = same_label(&texts.labels);
    println!(
        "{}, default | 0 | {}",
        path.display(),
        measured(&join(&before, LEAST), &texts, pairs)
    );
    for &step in NormalizeStep::ALL.iter().filter(|&&step| step != NormalizeStep::Html) {
        let (sign, steps) = match default.contains(step) {
            true => ("without", default.without(step)),
            false => ("with", default.with(step)),
        };
        let (sets, normalized) = sets_of(&texts, &config(steps));
        let changed = normalized.iter().zip(&plain).filter(|(a, b)| a != b).count();
        println!("{sign} {step} | {changed} | {}", measured(&join(&sets, LEAST), &texts, pairs));
    }
    Ok(())
}

fn config(normalize: NormalizeSteps) -> Config {
    let config = Config { normalize, ..Config::default() };
    config.with_shingles(config.set_shingles())
}

/// The number of pairs that have the same label.
fn same_label(labels: &[u32]) -> u64 {
    let mut sorted = labels.to_vec();
    sorted.par_sort_unstable();
    let sizes = sorted.chunk_by(|a, b| a == b).map(|group| group.len() as u64);
    sizes.map(|size| size * (size - 1) / 2).sum()
}

fn measured(near: &[Near], texts: &Texts, all: u64) -> String {
    let of = |least: f64| {
        let found = || near.par_iter().filter(|pair| pair.similarity() >= least);
        let right = found()
            .filter(|pair| texts.labels[pair.a as usize] == texts.labels[pair.b as usize])
            .count() as f64;
        let (found, all) = (found().count() as f64, all as f64);
        format!(
            "{found} | {:.5} | {:.5} | {:.5}",
            right / found,
            right / all,
            2.0 * right / (found + all)
        )
    };
    format!("{} | {}", of(LEAST), of(ONE))
}
