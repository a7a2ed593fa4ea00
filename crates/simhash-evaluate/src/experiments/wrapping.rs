//! Should punctuation and line breaks part Chinese words? Texts are changed before they are fingerprinted, so that every answer
//! can be compared without being built.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use simhash_core::config::{Config, NormalizeStep};
use simhash_core::han::is_han;
use simhash_core::{Fingerprint, Simhasher};

use super::Prepared;
use super::settings::{Summary, published};
use crate::corpus::SEED;
use crate::method::{Method, apart};
use crate::metrics::{Resamples, mean_and_interval, similar};
use crate::results::rounded;

/// What is done at the places in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Punctuation beside a Han character parts words; otherwise it is dropped and they may join.
    pub punctuation_parts: bool,
    /// White space between Han characters is dropped; otherwise it parts words.
    pub space_joins: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub variant: Variant,
    pub width: u32,
    pub summary: Summary,
    /// The distance of a text and its copy with a line break after every [`LINE`] characters: mean, and half its 95 % interval.
    pub wrapped: (f64, f64),
    /// The share of copies within the best distance.
    pub wrapped_found: f64,
    /// The distance of a text and its copy without punctuation.
    pub unpunctuated: (f64, f64),
}

pub const LINE: usize = 38;

pub const VARIANTS: [Variant; 4] = [
    Variant { punctuation_parts: false, space_joins: false },
    Variant { punctuation_parts: true, space_joins: false },
    Variant { punctuation_parts: false, space_joins: true },
    Variant { punctuation_parts: true, space_joins: true },
];

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let resamples = Resamples::new(&prepared.truth, SEED);
    VARIANTS
        .iter()
        .flat_map(|&variant| {
            [row::<u64>(prepared, variant, &resamples), row::<u128>(prepared, variant, &resamples)]
        })
        .collect()
}

fn row<F: Fingerprint>(prepared: &Prepared, variant: Variant, resamples: &Resamples) -> Row {
    let fingerprints = |change: fn(&str) -> String| -> Vec<Option<F>> {
        let changed: Vec<String> =
            prepared.tested.par_iter().map(|d| variant.apply(&change(&d.text))).collect();
        changed
            .par_iter()
            .map_init(simhasher, |simhasher, text| simhasher.fingerprint(text, &mut || ()))
            .collect()
    };
    let plain = fingerprints(str::to_owned);
    let distances_to = |others: &[Option<F>]| -> Vec<f64> {
        plain.iter().zip(others).map(|(&a, &b)| f64::from(apart(a, b))).collect()
    };
    let summary = Summary::new(prepared, &prepared.distances(&plain), resamples, similar, published(F::BITS));
    let wrapped = distances_to(&fingerprints(wrap));
    let unpunctuated = distances_to(&fingerprints(without_punctuation));
    let within = wrapped.iter().filter(|&&distance| distance <= summary.best as f64).count();
    let rounded_interval = |values: &[f64]| {
        let (mean, half) = mean_and_interval(values);
        (rounded(mean, 3), rounded(half, 3))
    };
    Row {
        variant,
        width: F::BITS,
        wrapped: rounded_interval(&wrapped),
        wrapped_found: rounded(within as f64 / wrapped.len() as f64, 4),
        unpunctuated: rounded_interval(&unpunctuated),
        summary,
    }
}

/// The default, but for the step that decides about white space.
fn simhasher() -> Simhasher {
    let config = Method::default_of_simhash().simhasher(None).config().clone();
    let normalize = config.normalize.without(NormalizeStep::Space);
    Simhasher::new(Config { normalize, ..config }).expect("no model is needed")
}

/// Line breaks where a page would have them.
fn wrap(text: &str) -> String {
    let mut wrapped = String::with_capacity(text.len() + text.len() / LINE);
    for line in text.split('\n') {
        for (at, c) in line.chars().enumerate() {
            if at > 0 && at % LINE == 0 {
                wrapped.push('\n');
            }
            wrapped.push(c);
        }
        wrapped.push('\n');
    }
    wrapped
}

fn without_punctuation(text: &str) -> String {
    text.chars().filter(|&c| !is_punctuation(c)).collect()
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || "，。！？；：、“”‘’（）《》〈〉【】「」『』〔〕—…·．～﹏".contains(c)
}

impl Variant {
    fn apply(self, text: &str) -> String {
        let text = if self.space_joins { join_over_space(text) } else { text.to_owned() };
        if self.punctuation_parts { part_at_punctuation(&text) } else { text }
    }
}

fn join_over_space(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(char::is_whitespace) {
        let (run, after) = rest.split_at(start);
        joined.push_str(run);
        let end = after.find(|c: char| !c.is_whitespace()).unwrap_or(after.len());
        let (white, after) = after.split_at(end);
        if !(run.ends_with(is_han) && after.starts_with(is_han)) {
            joined.push_str(white);
        }
        rest = after;
    }
    joined + rest
}

fn part_at_punctuation(text: &str) -> String {
    let mut before = None;
    let mut rest = text.chars();
    let mut parted = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        let beside = before.is_some_and(is_han) || rest.clone().next().is_some_and(is_han);
        parted.push(if is_punctuation(c) && beside { ' ' } else { c });
        before = Some(c);
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_change_what_they_say() {
        let apply = |at: usize, text| VARIANTS[at].apply(text);
        let text = "总 则，第一条\n规定  总则, a, b";
        assert_eq!(apply(0, text), text);
        assert_eq!(apply(1, text), "总 则 第一条\n规定  总则  a, b");
        assert_eq!(apply(2, text), "总则，第一条规定总则, a, b");
        assert_eq!(apply(3, text), "总则 第一条规定总则  a, b");
    }

    #[test]
    fn wrapping_keeps_the_characters() {
        let text: String = std::iter::repeat_n('字', 100).collect();
        let wrapped = wrap(&text);
        assert_eq!(wrapped.lines().map(|line| line.chars().count()).collect::<Vec<_>>(), [38, 38, 24]);
        assert_eq!(without_punctuation("总则，a。"), "总则a");
    }
}
