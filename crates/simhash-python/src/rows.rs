//! Texts in memory as the rows of a table, for searches over whole tables.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use simhash_core::Simhasher;
use simhash_core::base::hash::feature_hash;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::{Layout, Sketcher};
use simhash_core::whole::sharing::Rows;

use crate::postings::{InFile, InMemory, Places, Posting, SHORT};
use crate::recipe::{Purpose, Recipe};
use crate::work::Work;

/// Texts by their places.
pub struct TextRows<'a> {
    texts: &'a [Option<&'a str>],
    recipe: &'a Recipe,
    work: &'a Work,
    places: Box<dyn Places + Send>,
    simhasher: Simhasher,
    rounds: HashMap<u32, Vec<(u32, Option<ShingleSet>)>>,
    last_round: u32,
}

/// The share of the whole work that is needed to make keys.
const KEYS: f64 = 0.5;

impl<'a> TextRows<'a> {
    /// The rows of texts, with the keys of a layout. There must be fewer than 2^32 - 2. If `memory`
    /// bytes do not hold all postings, they are made for a few bands at a time and kept in a
    /// temporary file in `directory`.
    pub fn new(
        texts: &'a [Option<&'a str>],
        recipe: &'a Recipe,
        layout: Layout,
        memory: usize,
        directory: &Path,
        work: &'a Work,
    ) -> Self {
        let maker = Maker { texts, recipe, layout, directory, work };
        let places = if texts.len() <= SHORT {
            maker.places::<u64>(memory)
        } else {
            maker.places::<u128>(memory)
        };
        Self {
            texts,
            recipe,
            work,
            places: places.unwrap_or_else(|error| work.fail(error)),
            simhasher: recipe.simhasher(Purpose::Near),
            rounds: HashMap::new(),
            last_round: 0,
        }
    }
}

/// The parts from which postings are made.
struct Maker<'a> {
    texts: &'a [Option<&'a str>],
    recipe: &'a Recipe,
    layout: Layout,
    directory: &'a Path,
    work: &'a Work,
}

impl Maker<'_> {
    fn places<P: Posting + 'static>(&self, memory: usize) -> io::Result<Box<dyn Places + Send>> {
        let all = self.layout.bands;
        let at_once = (memory / (P::SIZE * self.texts.len()).max(1)).clamp(1, all);
        if at_once == all {
            return Ok(Box::new(InMemory(self.postings::<P>(0..all))));
        }
        let mut first = 0;
        let next = || {
            let bands = first..all.min(first + at_once);
            first = bands.end;
            (!bands.is_empty()).then(|| self.postings::<P>(bands))
        };
        let file = InFile::new(self.directory, next, &mut || self.work.check())?;
        Ok(Box::new(file))
    }

    /// The postings of some bands, ascending.
    fn postings<P: Posting>(&self, bands: Range<usize>) -> Vec<P> {
        let &Maker { texts, recipe, layout, work, .. } = self;
        // In parts of the texts, so that progress is visible.
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
                    // A text has a key for each band, or no keys.
                    let wanted = keys.get(bands.clone()).unwrap_or_default();
                    wanted.iter().map(|&key| P::new(key, place)).collect::<Vec<_>>()
                },
            );
            all.par_extend(keys.flatten_iter());
            let of_bands = (first + of_part.len()) as f64 / texts.len() as f64;
            let done = bands.start as f64 + of_bands * bands.len() as f64;
            work.progress(KEYS * done / layout.bands as f64);
        }
        all.par_sort_unstable();
        all
    }
}

impl Rows for TextRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        let work = self.work;
        let walked = self.places.each_key(each, &mut || work.check());
        walked.unwrap_or_else(|error| work.fail(error));
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
