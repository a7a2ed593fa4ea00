//! The experiments of E-Simhash (Zhang, Sheng, Zhang and Yang 2020): texts against edited copies of themselves, 128 bits.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use simhash_core::config::{Position, Weight};
use simhash_core::models::Model;

use super::Prepared;
use crate::corpus::SEED;
use crate::edits::{EDITS, Edit, edited, edited_passage};
use crate::method::{Features, Method, apart};
use crate::random::Random;

/// Shares of a text that are edited, in percent.
pub const PERCENTS: [u32; 4] = [5, 10, 15, 20];
/// Rounds, each with edits of its own.
pub const ROUNDS: u64 = 5;
/// Distances 0 to this are kept; the paper's are 1 to 19.
pub const MOST: usize = 24;
/// Texts are edited until they have so many characters.
const CHARACTERS: usize = 400_000;

/// One method at one share of edits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub method: Method,
    /// What the copies were edited by: "all" kinds or one of them in short spans, or "passage": one passage.
    pub edits: String,
    pub percent: u32,
    pub texts: usize,
    /// For every round, the number of copies within each distance of their own text.
    pub found: Vec<Vec<u32>>,
    /// For every round, the number of pairs of a copy and another text within each distance.
    pub others: Vec<Vec<u64>>,
}

/// Every weighting with every position.
pub fn methods() -> Vec<Method> {
    let weights = [
        Weight::Uniform,
        Weight::Tf,
        Weight::Log,
        Weight::Level,
        Weight::Idf,
        Weight::Tfidf,
        Weight::Entropy,
    ];
    let plain = weights.map(|weight| Method::new(Features::words(1), weight));
    let capped = Method { capped: true, ..Method::new(Features::words(1), Weight::Entropy) };
    let positions = [Position::None, Position::Paper, Position::Bucket, Position::Spread];
    let weighted = plain.into_iter().chain([capped]);
    let weighted = weighted.flat_map(|method| positions.map(|position| Method { position, ..method }));
    weighted.chain([1, 2].map(|size| Method::minhash(Features::words(size)))).collect()
}

/// One text of every group, and the copies of each: by share, kinds of edits, round.
struct Texts<'a> {
    texts: Vec<&'a str>,
    /// Where each is in the sample.
    numbers: Vec<usize>,
    edited: Vec<Edited>,
}

struct Edited {
    percent: u32,
    name: &'static str,
    rounds: Vec<Vec<String>>,
}

pub fn run(prepared: &Prepared) -> Vec<Row> {
    let texts = Texts::new(prepared);
    let model = Features::words(1).train(&prepared.training);
    methods().into_iter().flat_map(|method| rows(prepared, &texts, method, &model)).collect()
}

impl<'a> Texts<'a> {
    fn new(prepared: &'a Prepared) -> Self {
        let mut seen = std::collections::HashSet::new();
        let mut characters = 0;
        let firsts = prepared.tested.iter().enumerate().filter(|(_, document)| seen.insert(document.group));
        let enough = firsts.take_while(|(_, document)| {
            characters += document.text.chars().count();
            characters <= CHARACTERS
        });
        let (numbers, texts): (Vec<usize>, Vec<&str>) =
            enough.map(|(number, document)| (number, document.text.as_str())).unzip();
        let copies = |percent: u32,
                      name: &'static str,
                      edit: &(dyn Fn(&str, &str, &mut Random) -> String + Sync)| {
            let round = |round: u64| -> Vec<String> {
                let one = |number: usize| {
                    let mut random = Random::new(SEED, &format!("edit {percent} {name} {round} {number}"));
                    let donor = (number + 1 + random.below(texts.len() - 1)) % texts.len();
                    edit(texts[number], texts[donor], &mut random)
                };
                (0..texts.len()).into_par_iter().map(one).collect()
            };
            Edited { percent, name, rounds: (0..ROUNDS).map(round).collect() }
        };
        let spans = |percent: u32, name: &'static str, kinds: &[Edit]| {
            copies(percent, name, &|text, donor, random| edited(text, percent, kinds, donor, random))
        };
        let passage = |percent: u32| {
            copies(percent, "passage", &|text, donor, random| edited_passage(text, percent, donor, random))
        };
        let mut edited: Vec<Edited> = PERCENTS.map(|percent| spans(percent, "all", &EDITS)).into();
        edited.extend(EDITS.map(|kind| spans(15, kind.name(), &[kind])));
        edited.extend(PERCENTS.map(passage));
        Texts { texts, numbers, edited }
    }
}

fn rows(prepared: &Prepared, texts: &Texts<'_>, method: Method, model: &Arc<Model>) -> Vec<Row> {
    let originals = method.fingerprints::<u128>(&texts.texts, Some(model));
    // Single kinds of edits are told apart without positions and by E-Simhash as we have it.
    let single = method.position == Position::None || method.capped;
    let wanted = texts.edited.iter().filter(|edited| edited.name == "all" || single);
    wanted
        .map(|edited| {
            let rounds = edited.rounds.iter().map(|copies| {
                let copies: Vec<&str> = copies.iter().map(String::as_str).collect();
                count(prepared, texts, &originals, &method.fingerprints::<u128>(&copies, Some(model)))
            });
            let (found, others) = rounds.unzip();
            let texts = texts.texts.len();
            Row { method, edits: edited.name.into(), percent: edited.percent, texts, found, others }
        })
        .collect()
}

/// Copies found, and others taken, within each distance.
fn count(
    prepared: &Prepared,
    texts: &Texts<'_>,
    originals: &[Option<u128>],
    copies: &[Option<u128>],
) -> (Vec<u32>, Vec<u64>) {
    let (mut found, mut others) = (vec![0; MOST + 1], vec![0; MOST + 1]);
    for (a, &original) in originals.iter().enumerate() {
        for (b, &copy) in copies.iter().enumerate() {
            let distance = apart(original, copy) as usize;
            if distance > MOST {
                continue;
            }
            let (first, second) = (texts.numbers[a.min(b)], texts.numbers[a.max(b)]);
            if a == b {
                found[distance] += 1;
            } else if prepared.truth.unlabelled[first].binary_search(&(second as u32)).is_err() {
                others[distance] += 1;
            }
        }
    }
    for distance in 1..=MOST {
        found[distance] += found[distance - 1];
        others[distance] += others[distance - 1];
    }
    (found, others)
}
