//! Texts as sets of the hashes of their shingles, all in one piece of memory.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

/// The texts of a set.
#[derive(Debug)]
pub struct Texts {
    pub lines: Vec<Box<str>>,
    /// The label of each text, numbered from 0.
    pub labels: Vec<u32>,
    /// The median text, in characters.
    pub median: usize,
}

#[derive(Deserialize)]
struct Line {
    text: Box<str>,
    label: String,
}

impl Texts {
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let (mut lines, mut labels, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for line in BufReader::new(File::open(path)?).lines() {
            let Line { text, label } = serde_json::from_str(&line?)?;
            lengths.push(text.chars().count());
            let next = numbers.len() as u32;
            labels.push(*numbers.entry(label).or_insert(next));
            lines.push(text);
        }
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
        Ok(Texts { lines, labels, median })
    }
}

/// Sets of hashes. In one of ten thousand sets as large as these, two shingles have the same 64
/// bits.
#[derive(Debug)]
pub struct Sets {
    hashes: Vec<u64>,
    ends: Vec<usize>,
    /// The seconds of one core to cut the texts.
    pub cut: f64,
}

impl Sets {
    pub fn new() -> Self {
        Sets { hashes: Vec::new(), ends: Vec::new(), cut: 0.0 }
    }

    /// Adds a set, whose hashes may be in any order and any number of times.
    pub fn push(&mut self, hashes: &mut Vec<u64>) {
        hashes.sort_unstable();
        hashes.dedup();
        self.hashes.extend_from_slice(hashes);
        self.ends.push(self.hashes.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of elements of all sets together.
    pub fn features(&self) -> usize {
        self.hashes.len()
    }

    pub fn memory(&self) -> usize {
        self.hashes.len() * size_of::<u64>() + self.ends.len() * size_of::<usize>()
    }

    /// All hashes, set by set, and where each set ends.
    pub fn raw(&self) -> (&[u64], &[usize]) {
        (&self.hashes, &self.ends)
    }

    /// The distinct hashes of a set, ascending.
    pub fn get(&self, number: usize) -> &[u64] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.hashes[start..self.ends[number]]
    }

    /// The Jaccard similarity. 0 if a set is empty.
    pub fn jaccard(&self, a: u32, b: u32) -> f64 {
        let (a, b) = (self.get(a as usize), self.get(b as usize));
        let common = common(a, b);
        common as f64 / (a.len() + b.len() - common).max(1) as f64
    }

    /// The share of the sets that have at most `size` elements.
    pub fn share_of_at_most(&self, size: usize) -> f64 {
        let few = (0..self.len()).filter(|&number| self.get(number).len() <= size).count();
        few as f64 / self.len() as f64
    }
}

/// How many elements two ascending slices have in common.
pub fn common<T: Copy + Ord>(mut a: &[T], mut b: &[T]) -> usize {
    let mut common = 0;
    while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
        common += usize::from(x == y);
        (a, b) = (if x <= y { a_rest } else { a }, if y <= x { b_rest } else { b });
    }
    common
}
