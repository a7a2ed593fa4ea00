//! Tokenizers and sizes of shingles on one corpus: how many of the revised and of the edited texts
//! they find, at a distance within which few unrelated texts are.

use rayon::prelude::*;
use simhash_core::Simhasher;
use simhash_core::config::{Config, Shingles, Tokenizer};
use simhash_core::sets::shingles::ShingleSet;

use crate::corpus::{Document, SEED};
use crate::edits::{EDITS, edited};
use crate::method::{Features, Method, apart};
use crate::random::Random;

/// How much of an edited text is changed, in percent.
const PERCENT: u32 = 10;
/// At most one of this many pairs of unrelated texts is within the distance.
const PAIRS: usize = 100_000;
/// Texts that share more of their runs of three characters do not count as unrelated.
const RELATED: f64 = 0.3;

/// What one method finds.
#[derive(Debug)]
pub struct Row {
    pub label: String,
    /// The greatest distance with at most one of [`PAIRS`] unrelated pairs within it.
    pub distance: u32,
    /// The median distance of unrelated, revised and edited texts.
    pub medians: [u32; 3],
    /// The share of revised and of edited texts within the distance.
    pub found: [f64; 2],
}

type Pairs = Vec<(usize, usize)>;

/// Texts, and the pairs of unrelated, revised and edited ones.
struct Texts {
    texts: Vec<String>,
    unrelated: Pairs,
    revised: Pairs,
    edited: Pairs,
}

pub fn run(documents: &[Document]) -> Vec<Row> {
    let texts = Texts::new(documents);
    println!(
        "{} revised, {} edited, {} unrelated pairs",
        texts.revised.len(),
        texts.edited.len(),
        texts.unrelated.len()
    );
    let of = |tokenizer, sizes: &[usize]| Features {
        tokenizer,
        shingle: Shingles::new(sizes.iter().copied()).expect("sizes of shingles"),
        ..Features::words(1)
    };
    let mut rows = Vec::new();
    for tokenizer in [Tokenizer::Auto, Tokenizer::Word, Tokenizer::Char] {
        for sizes in [&[1][..], &[2], &[3], &[4], &[1, 2], &[2, 3]] {
            let method = Method::minhash(of(tokenizer, sizes));
            rows.push(texts.row(method, tokenizer, sizes));
        }
    }
    rows
}

impl Texts {
    /// The first text of each group is edited. Each other one is a revision of the one before it.
    fn new(documents: &[Document]) -> Self {
        let mut texts: Vec<String> = documents.iter().map(|d| d.text.clone()).collect();
        let groups: Vec<u32> = documents.iter().map(|d| d.group).collect();
        let is_first = |&place: &usize| place == 0 || groups[place] != groups[place - 1];
        let firsts: Vec<usize> = (0..groups.len()).filter(is_first).collect();
        let revised =
            (1..groups.len()).filter(|place| !is_first(place)).map(|b| (b - 1, b)).collect();
        let mut random = Random::new(SEED, "tokenizers");
        let mut edited_pairs = Vec::new();
        for &place in &firsts {
            let donor = &documents[firsts[random.below(firsts.len())]].text;
            let text = edited(&documents[place].text, PERCENT, &EDITS, donor, &mut random);
            edited_pairs.push((place, texts.len()));
            texts.push(text);
        }
        let unrelated = unrelated(&firsts, &texts);
        Texts { texts, unrelated, revised, edited: edited_pairs }
    }

    fn row(&self, method: Method, tokenizer: Tokenizer, sizes: &[usize]) -> Row {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let fingerprints = method.fingerprints::<u128>(&texts, None);
        let distances = |pairs: &Pairs| {
            let mut distances: Vec<u32> =
                pairs.par_iter().map(|&(a, b)| apart(fingerprints[a], fingerprints[b])).collect();
            distances.sort_unstable();
            distances
        };
        let all = [&self.unrelated, &self.revised, &self.edited].map(distances);
        let median = |distances: &Vec<u32>| distances.get(distances.len() / 2).copied();
        // One unrelated pair more than that would be too many.
        let distance =
            all[0].get(all[0].len() / PAIRS).map_or(u128::BITS, |&d| d.saturating_sub(1));
        let found = |distances: &Vec<u32>| {
            distances.partition_point(|&d| d <= distance) as f64 / distances.len().max(1) as f64
        };
        Row {
            label: format!("{tokenizer} | {}", sizes_shown(sizes)),
            distance,
            medians: [0, 1, 2].map(|i| median(&all[i]).unwrap_or(0)),
            found: [found(&all[1]), found(&all[2])],
        }
    }
}

fn sizes_shown(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// The pairs of the groups' first texts that share few runs of three characters.
fn unrelated(firsts: &[usize], texts: &[String]) -> Pairs {
    let shingle = Shingles::new([3]);
    let config = Config { tokenizer: Tokenizer::Char, shingle, ..Config::default() };
    let new = || Simhasher::new(config.clone()).expect("no model is needed");
    let sets: Vec<ShingleSet> = firsts
        .par_iter()
        .map_init(new, |simhasher, &place| ShingleSet::new(simhasher, &texts[place], &mut || ()))
        .collect();
    let pairs = (0..sets.len()).into_par_iter().flat_map_iter(|b| {
        let sets = &sets;
        (0..b)
            .filter(move |&a| sets[a].jaccard(&sets[b]).is_some_and(|j| j < RELATED))
            .map(move |a| (firsts[a], firsts[b]))
    });
    pairs.collect()
}

/// The rows as a Markdown table.
pub fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| tokenizer | shingle | unrelated | revised | edited | distance | revised found | \
         edited found |\n|---|---|---|---|---|---|---|---|\n",
    );
    for Row { label, distance, medians: [unrelated, revised, edited], found } in rows {
        let [of_revised, of_edited] = found.map(|share| format!("{:.1} %", 100.0 * share));
        table += &format!(
            "| {label} | {unrelated} | {revised} | {edited} | {distance} | {of_revised} | \
             {of_edited} |\n"
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revised_and_edited_texts_are_nearer_than_others() {
        let word = |i: usize| char::from_u32(0x3042 + (i * i * 31 % 80) as u32).expect("kana");
        let text = |i: usize| (0..200).map(|j| word(i * 7 + j * 13 + i * j)).collect::<String>();
        let mut documents = Vec::new();
        for group in 0..20 {
            let text = text(group as usize);
            documents.push(Document { group, text: text.clone() });
            if group % 2 == 0 {
                documents.push(Document { group, text: text.replace(word(3), "。") });
            }
        }
        let texts = Texts::new(&documents);
        assert_eq!((texts.revised.len(), texts.edited.len()), (10, 20));
        assert!(texts.revised.iter().all(|&(a, b)| documents[a].group == documents[b].group));
        assert!(!texts.unrelated.is_empty());
        let row = texts.row(Method::minhash(Features::characters(2)), Tokenizer::Char, &[2]);
        let [unrelated, revised, edited] = row.medians;
        assert!(revised < unrelated && edited < unrelated && row.distance < unrelated, "{row:?}");
        assert!(table(&[row]).contains("| char | 2 | "));
    }
}
