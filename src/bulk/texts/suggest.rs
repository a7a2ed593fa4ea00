//! `simhash_suggest` for texts: which similarity suits a table, by a sample of its rows and their
//! neighbours.
//!
//! The rows of the index are read once, for their number and a sample of them. Each row of the
//! sample is looked up as a query would, and its text is compared with those of some candidates.
//! [`simhash_core::whole::suggest::similarity`] draws the conclusions.
//!
//! The same index gives the same answer, with the same memory: the samples have fixed seeds, and
//! the numbers of rows, pairs, leaves and bytes limit the work, not time.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::PgSqlErrorCode;
use simhash_core::base::random::SplitMix64;
use simhash_core::config::{Config, Weight};
use simhash_core::sets::sketch::{Law, Sketch, Sketcher};
use simhash_core::whole::suggest::Sample;
use simhash_core::whole::suggest::similarity::{Histogram, Neighbour, Parts};
use simhash_index::postings::{Candidates, Presence, ROWS, posting_key};
use simhash_index::{Entry, TreeKey};

use super::super::leaves::each_entry;
use super::super::progress::{self, Command, Progress};
use super::rows::Reader;
use crate::am::kind::{Kind, open};
use crate::am::opened::Opened;
use crate::am::texts::Recipe;
use crate::call::interrupts;
use crate::error::raise;
use crate::guc::work_mem;
use crate::storage::{Index, check_for_interrupts, family, with_key_type};
use crate::types::ConfigText;

/// The most rows that are looked up.
const SAMPLE: usize = 2048;
/// How many rows of the index are tried, to find so many that the query sees.
const TRIED: usize = 16 * SAMPLE;
/// How many candidates of one row count, the first ones. A million copies of a row mean no more
/// than so many.
const MOST_CANDIDATES: usize = 4000;
/// How many candidates' texts are read for each row, on average. If a row has more candidates than
/// may still be read, so many are drawn at random, and each counts for several.
const MOST_READ: usize = 64;
/// Look-ups end when so many pairs have been compared: some seconds.
const COMPARED: usize = 4 << 20;
/// The most steps of one row's look-up. Each reads a leaf for every key.
const STEPS: usize = 256;
/// Look-ups end when so many bytes of texts have been read: some seconds.
const BYTES: usize = 128 << 20;

/// A pair of the sample, both rows by the TIDs of their visible versions.
pub struct Pair<'a> {
    pub rows: [u64; 2],
    pub texts: [&'a str; 2],
    pub similarity: f64,
}

/// The histogram of an open index of texts. `each` gets every compared pair that is near by the
/// similarity of the index.
pub fn histogram(opened: &Opened, each: impl FnMut(&Pair<'_>)) -> Histogram {
    let rel = opened.rel();
    let recipe = Recipe::of(rel);
    // SAFETY: the relations are open.
    let [heap, index] = [opened.heap, opened.index].map(|relation| unsafe { (*relation).rd_id });
    // SAFETY: the index is open.
    let simhasher = unsafe { recipe.simhasher(rel) };
    let _progress = Progress::start(Command::Suggest, heap, index, 1, 0);
    let config = ConfigText::config_of(&recipe.config);
    with_key_type!(family(rel), K => {
        let index = open::<K>(rel);
        let reader = Reader::new(opened);
        let law = Law::of(recipe.similarity);
        let Some(law) = law else { raise_no_law(recipe.similarity) };
        let random = SplitMix64::new(0);
        let (sketcher, index) = (Sketcher::new(simhasher), &index);
        Looking {
            index,
            recipe,
            config,
            law,
            sketcher,
            reader,
            random,
            known: Known { rows: HashMap::new(), bytes: 0 },
            bytes: 0,
            texts: 0,
            compared: 0,
        }
        .all(each)
    })
}

fn raise_no_law(similarity: f64) -> ! {
    let code = PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
    raise(code, format!("no law for similarity {similarity}"), "")
}

struct Looking<'a, K: TreeKey> {
    index: &'a Index<K>,
    recipe: Recipe,
    config: Config,
    law: Law,
    sketcher: Sketcher,
    reader: Reader<'a>,
    random: SplitMix64,
    known: Known,
    /// The bytes of all texts read, and how many texts of candidates these are.
    bytes: usize,
    texts: usize,
    /// How many pairs have been compared.
    compared: usize,
}

/// Rows that were read, by the TIDs in the index. `None` for a row that the query does not see.
struct Known {
    rows: HashMap<u64, Option<Rc<Read>>>,
    bytes: usize,
}

impl Known {
    /// Keeps a row as long as memory allows.
    fn keep(&mut self, tid: u64, row: Option<Rc<Read>>) {
        let bytes = |row: &Rc<Read>| {
            size_of::<Read>() + row.text.len() + row.sketch.as_ref().map_or(0, Sketch::memory)
        };
        self.bytes += 64 + row.as_ref().map_or(0, bytes);
        if self.bytes <= work_mem() {
            self.rows.insert(tid, row);
        }
    }
}

/// A row of the sample, as the query sees it.
struct Read {
    /// The TID of the visible version.
    row: u64,
    text: String,
    /// None for a text without a token.
    sketch: Option<Sketch>,
    parts: Parts,
}

impl<K: TreeKey> Looking<'_, K> {
    fn all(&mut self, mut each: impl FnMut(&Pair<'_>)) -> Histogram {
        progress::reading();
        let mut sample = Sample::new(TRIED);
        each_entry(self.index, ROWS, |entry: Entry<K>| {
            if entry.key.fingerprint() == Presence::Keys.key::<K::Fingerprint>() {
                sample.offer(entry);
            }
        });
        let entries = sample.seen();
        progress::have_read(entries as usize);
        progress::searching();
        let mut histogram =
            Histogram::new(self.recipe.similarity, self.config.weight == Weight::Idf);
        let (mut tried, mut seen) = (0u64, 0u64);
        let sample = sample.into_items();
        let most = sample.len().min(SAMPLE) as f64;
        for entry in sample {
            if seen as usize >= SAMPLE || self.bytes > BYTES || self.compared > COMPARED {
                break;
            }
            tried += 1;
            let Some(read) = self.read(entry.tid) else { continue };
            seen += 1;
            let left = (MOST_READ * seen as usize).saturating_sub(self.texts);
            let (neighbours, of_each) = self.neighbours(&entry, &read, left, &mut each);
            let words = read.sketch.as_ref().map_or(0, |sketch| sketch.set().len());
            histogram.add(words, &neighbours, of_each);
            if seen.is_multiple_of(16) {
                progress::searched(seen as f64 / most, histogram.found() as u64);
            }
        }
        let share = seen as f64 / tried.max(1) as f64;
        histogram.finish((entries as f64 * share).round() as u64);
        histogram
    }

    /// Reads a row by the TID in the index. `None` if the query does not see it.
    fn read(&mut self, tid: u64) -> Option<Rc<Read>> {
        if let Some(known) = self.known.rows.get(&tid) {
            return known.clone();
        }
        let read = self.read_anew(tid).map(Rc::new);
        self.known.keep(tid, read.clone());
        read
    }

    fn read_anew(&mut self, tid: u64) -> Option<Read> {
        let row = self.reader.visible(tid)?;
        let (sketcher, config, bytes) = (&mut self.sketcher, &self.config, &mut self.bytes);
        self.reader.with_text(|text| {
            *bytes += text.len();
            let sketch = sketcher.sketch(text, &mut interrupts());
            let parts = Parts::of(text, config, &mut interrupts());
            Read { row, text: beginning(text), sketch, parts }
        })
    }

    /// The neighbours of a row, and for how many each counts. If more than `left` texts would have
    /// to be read, only some of the neighbours are.
    fn neighbours(
        &mut self,
        entry: &Entry<K>,
        read: &Read,
        left: usize,
        each: &mut impl FnMut(&Pair<'_>),
    ) -> (Vec<Neighbour>, f64) {
        let mut neighbours = Vec::new();
        let Some(own) = &read.sketch else { return (neighbours, 1.0) };
        let mut candidates = self.candidates(entry, own);
        let all = candidates.len();
        let new = candidates.iter().filter(|&tid| !self.known.rows.contains_key(tid)).count();
        self.texts += new.min(MOST_READ.max(left));
        if new > MOST_READ.max(left) {
            for place in 0..MOST_READ {
                let other = place as u64 + self.random.below((all - place) as u64);
                candidates.swap(place, other as usize);
            }
            candidates.truncate(MOST_READ);
        }
        self.compared += candidates.len();
        let of_each = all as f64 / candidates.len().max(1) as f64;
        // In heap order.
        candidates.sort_unstable();
        for tid in candidates {
            check_for_interrupts();
            let Some(other) = self.read(tid) else { continue };
            let Some(sketch) = &other.sketch else { continue };
            let Some(similarity) = own.set().near(sketch.set(), self.recipe.similarity) else {
                continue;
            };
            let numbers = read.parts.numbers(other.parts);
            neighbours.push(Neighbour { similarity, numbers });
            each(&Pair {
                rows: [read.row, other.row],
                texts: [&read.text, &other.text],
                similarity,
            });
        }
        (neighbours, of_each)
    }

    /// The rows that may be near to a row, without itself: the first ones.
    fn candidates(&mut self, entry: &Entry<K>, sketch: &Sketch) -> Vec<u64> {
        let keys: Vec<K::Fingerprint> =
            sketch.keys(self.recipe.layout()).take(self.law.bands).map(posting_key).collect();
        let mut found = Candidates::new(self.index, entry.key.scope(), &keys, self.law.shared);
        let mut tids = Vec::new();
        for _ in 0..STEPS {
            if tids.len() > MOST_CANDIDATES || !found.next_step(self.index, &mut tids) {
                break;
            }
        }
        tids.retain(|&tid| tid != entry.tid);
        tids.truncate(MOST_CANDIDATES);
        tids
    }
}

/// How many characters of a text are shown.
const SHOWN: usize = 200;

/// The beginning of a text, on one line.
fn beginning(text: &str) -> String {
    let start = text.chars().take(SHOWN);
    let start: String = start.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let rest = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    words.join(" ") + rest
}

/// Whether an index that is open is on texts.
pub fn is_of_texts(opened: &Opened) -> bool {
    // SAFETY: the index is open.
    unsafe { Kind::of_index(opened.index) }.is_of_texts()
}
