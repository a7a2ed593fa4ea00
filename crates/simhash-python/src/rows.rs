//! Texts in memory as the rows of a whole table.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use simhash_core::Simhasher;
use simhash_core::base::hash::feature_hash;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::{Layout, Sketcher};
use simhash_core::whole::sharing::Rows;

use crate::laws::UNUSED;
use crate::recipe::{Purpose, Recipe};
use crate::work::Work;

/// A key in the most significant bits, and the place of a row that has it in the others.
trait Posting: Copy + Ord + Send {
    const PLACE: u32;

    fn new(key: u64, place: u32) -> Self;
    fn key(self) -> u64;
    fn place(self) -> u32;
}

impl Posting for u64 {
    const PLACE: u32 = UNUSED;

    fn new(key: u64, place: u32) -> Self {
        key | u64::from(place)
    }

    fn key(self) -> u64 {
        self >> UNUSED
    }

    fn place(self) -> u32 {
        (self & ((1 << UNUSED) - 1)) as u32
    }
}

impl Posting for u128 {
    const PLACE: u32 = u32::BITS;

    fn new(key: u64, place: u32) -> Self {
        u128::from(key) << 32 | u128::from(place)
    }

    fn key(self) -> u64 {
        (self >> 32) as u64
    }

    fn place(self) -> u32 {
        self as u32
    }
}

/// The postings of some bands, ascending.
enum Postings {
    Short(Vec<u64>),
    Long(Vec<u128>),
}

impl Postings {
    fn each_key(&self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) -> bool {
        match self {
            Postings::Short(postings) => each_key(postings, each),
            Postings::Long(postings) => each_key(postings, each),
        }
    }
}

/// Texts by their places.
pub struct TextRows<'a> {
    texts: &'a [Option<&'a str>],
    recipe: &'a Recipe,
    work: &'a Work,
    layout: Layout,
    /// Of how many bands there is memory for the postings.
    bands: usize,
    /// Of all bands, if there is memory for that.
    postings: Option<Postings>,
    simhasher: Simhasher,
    rounds: HashMap<u32, Vec<(u32, Option<ShingleSet>)>>,
    last_round: u32,
}

/// The share of all work that is making keys.
const KEYS: f64 = 0.5;

impl<'a> TextRows<'a> {
    /// The rows of texts, with the keys of a layout. There are fewer than 2^32 - 2. Where `memory`
    /// bytes do not hold all postings, they are made anew, a few bands at a time, when they are
    /// asked for.
    pub fn new(
        texts: &'a [Option<&'a str>],
        recipe: &'a Recipe,
        layout: Layout,
        memory: usize,
        work: &'a Work,
    ) -> Self {
        let posting = if is_short(texts) { size_of::<u64>() } else { size_of::<u128>() };
        let bands = memory / (posting * texts.len()).max(1);
        let mut rows = Self {
            texts,
            recipe,
            work,
            layout,
            bands: bands.clamp(1, layout.bands),
            postings: None,
            simhasher: recipe.simhasher(Purpose::Near),
            rounds: HashMap::new(),
            last_round: 0,
        };
        if rows.bands == layout.bands {
            rows.postings = Some(rows.of_bands(0..layout.bands));
        }
        rows
    }

    fn of_bands(&self, bands: Range<usize>) -> Postings {
        let all = bands.len() == self.layout.bands;
        let progress = |share| {
            if all {
                self.work.progress(KEYS * share);
            }
        };
        if is_short(self.texts) {
            Postings::Short(self.postings(bands, progress))
        } else {
            Postings::Long(self.postings(bands, progress))
        }
    }

    fn postings<P: Posting>(&self, bands: Range<usize>, progress: impl Fn(f64)) -> Vec<P> {
        let (texts, recipe, layout, work) = (self.texts, self.recipe, self.layout, self.work);
        // Of a part of the texts at a time, so that there is progress to be seen.
        let part = texts.len().div_ceil(32).max(4096);
        let mut all: Vec<P> = Vec::with_capacity(texts.len() * bands.len());
        for (number, of_part) in texts.chunks(part).enumerate() {
            let first = number * part;
            let maker = || (Sketcher::new(recipe.simhasher(Purpose::Near)), Vec::new());
            let keys = of_part.par_iter().enumerate().with_min_len(64).map_init(
                maker,
                |(sketcher, keys): &mut (Sketcher, Vec<u64>), (place, text)| {
                    work.check();
                    keys.clear();
                    if let Some(text) = text {
                        sketcher.keys(text, layout, &mut || work.check(), keys);
                    }
                    let place = (first + place) as u32;
                    // A text has a key of each band, or none.
                    let wanted = keys.get(bands.clone()).unwrap_or_default();
                    wanted.iter().map(|&key| P::new(key, place)).collect::<Vec<_>>()
                },
            );
            all.par_extend(keys.flatten_iter());
            progress((first + of_part.len()) as f64 / texts.len() as f64);
        }
        all.par_sort_unstable();
        all
    }
}

/// Whether places are so few that a posting takes 8 bytes.
fn is_short(texts: &[Option<&str>]) -> bool {
    texts.len() <= 1 << <u64 as Posting>::PLACE
}

/// Hands the places of each key that several rows have to `each`. False if it says so.
fn each_key<P: Posting>(postings: &[P], each: &mut dyn FnMut(&mut Vec<u32>) -> bool) -> bool {
    let mut places = Vec::new();
    for of_key in postings.chunk_by(|a, b| a.key() == b.key()).filter(|rows| rows.len() > 1) {
        places.clear();
        places.extend(of_key.iter().map(|posting| posting.place()));
        if !each(&mut places) {
            return false;
        }
    }
    true
}

impl Rows for TextRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        if let Some(postings) = &self.postings {
            postings.each_key(each);
            return;
        }
        let mut first = 0;
        while first < self.layout.bands {
            let bands = first..self.layout.bands.min(first + self.bands);
            first = bands.end;
            if !self.of_bands(bands).each_key(each) {
                return;
            }
        }
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        self.texts[place as usize].map(|text| feature_hash(text.as_bytes()))
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        let text = self.texts[place as usize]?;
        Some(ShingleSet::new(&mut self.simhasher, text, &mut || self.work.check()))
    }

    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32 {
        let (texts, recipe, work) = (self.texts, self.recipe, self.work);
        let made = wanted.into_par_iter().with_min_len(64).map_init(
            || recipe.simhasher(Purpose::Near),
            |simhasher, (row, place)| {
                let text = texts[place as usize];
                let set = text.map(|text| ShingleSet::new(simhasher, text, &mut || work.check()));
                (row, set)
            },
        );
        self.last_round = self.last_round.wrapping_add(1);
        self.rounds.insert(self.last_round, made.collect());
        self.last_round
    }

    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)> {
        let next = self.rounds.get_mut(&round)?.pop();
        if next.is_none() {
            self.rounds.remove(&round);
        }
        next
    }

    fn want_no_more(&mut self, round: u32) {
        self.rounds.remove(&round);
    }

    fn address(&self, place: u32) -> u64 {
        u64::from(place)
    }

    fn check(&mut self) {
        self.work.check();
    }

    fn progress(&mut self, share: f64) {
        self.work.progress(KEYS + (1.0 - KEYS) * share);
    }
}
