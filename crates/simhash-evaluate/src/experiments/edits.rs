//! The experiments of E-Simhash (Zhang, Sheng, Zhang and Yang 2020): texts are compared with edited
//! copies of themselves, by 128 bits.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use simhash_core::config::{Position, Weight};
use simhash_core::features::model::Model;

use super::Prepared;
use super::settings::WEIGHTS;
use crate::corpus::SEED;
use crate::edits::{EDITS, edited, edited_passage};
use crate::method::{Features, Method, apart};
use crate::random::Random;

/// How much of a text is edited, in percent.
const PERCENTS: [u32; 4] = [5, 10, 15, 20];
/// The number of rounds, each with edits of its own.
const ROUNDS: u64 = 5;
/// The greatest distance that is recorded. The paper's distances are 1 to 19.
const MOST: usize = 24;
/// Texts are taken while they have at most this many characters together.
const CHARACTERS: usize = 400_000;

/// One method at one share of edits.
#[derive(Debug, Serialize)]
pub struct Row {
    pub method: Method,
    /// The kind of edits: short spans, with "all" kinds of edits, or one "passage".
    pub edits: &'static str,
    pub percent: u32,
    pub texts: usize,
    /// For each round, the number of copies within each distance of their own text.
    pub found: Vec<Vec<u32>>,
    /// For each round, the number of pairs of a copy and another text within each distance.
    pub others: Vec<Vec<u64>>,
}

/// Every weighting, E-Simhash's with every position, and one-bit MinHash.
fn methods() -> Vec<Method> {
    let words = Features::words(1);
    let weights = WEIGHTS.into_iter().chain([Weight::Entropy]);
    let positions = [Position::None, Position::Paper, Position::Bucket, Position::Spread];
    let capped = Method { capped: true, ..Method::new(words, Weight::Entropy) };
    let mut methods: Vec<Method> = weights.map(|weight| Method::new(words, weight)).collect();
    methods.extend(positions.map(|position| Method { position, ..capped }));
    methods.extend([1, 2].map(|size| Method::minhash(Features::words(size))));
    methods
}

/// One text of each group, and its copies, by share, kind of edits and round.
struct Texts<'a> {
    texts: Vec<&'a str>,
    /// The place of each in the sample.
    numbers: Vec<usize>,
    edited: Vec<Edited>,
}

/// Edits a text by a share in percent, with new text from a donor.
type Editing = fn(&str, u32, &str, &mut Random) -> String;

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
        let firsts =
            prepared.tested.iter().enumerate().filter(|(_, document)| seen.insert(document.group));
        let enough = firsts.take_while(|(_, document)| {
            characters += document.text.chars().count();
            characters <= CHARACTERS
        });
        let (numbers, texts): (Vec<usize>, Vec<&str>) =
            enough.map(|(number, document)| (number, document.text.as_str())).unzip();
        let copies = |name: &'static str, edit: Editing, percent: u32| {
            let round = |round: u64| -> Vec<String> {
                let one = |number: usize| {
                    let purpose = format!("edit {percent} {name} {round} {number}");
                    let mut random = Random::new(SEED, &purpose);
                    let donor = (number + 1 + random.below(texts.len() - 1)) % texts.len();
                    edit(texts[number], percent, texts[donor], &mut random)
                };
                (0..texts.len()).into_par_iter().map(one).collect()
            };
            Edited { percent, name, rounds: (0..ROUNDS).map(round).collect() }
        };
        let spans: Editing =
            |text, percent, donor, random| edited(text, percent, &EDITS, donor, random);
        let all = PERCENTS.map(|percent| copies("all", spans, percent));
        let passage = PERCENTS.map(|percent| copies("passage", edited_passage, percent));
        Texts { texts, numbers, edited: all.into_iter().chain(passage).collect() }
    }
}

fn rows(prepared: &Prepared, texts: &Texts<'_>, method: Method, model: &Arc<Model>) -> Vec<Row> {
    let originals = method.fingerprints::<u128>(&texts.texts, Some(model));
    texts
        .edited
        .iter()
        .map(|edited| {
            let rounds = edited.rounds.iter().map(|copies| {
                let copies: Vec<&str> = copies.iter().map(String::as_str).collect();
                count(
                    prepared,
                    texts,
                    &originals,
                    &method.fingerprints::<u128>(&copies, Some(model)),
                )
            });
            let (found, others) = rounds.unzip();
            let texts = texts.texts.len();
            Row { method, edits: edited.name, percent: edited.percent, texts, found, others }
        })
        .collect()
}

/// The number of copies found, and of others taken, within each distance.
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
