//! Training: one pass over a corpus that counts terms, the documents they occur in, and their
//! neighbours.
//!
//! Every count is a whole number, and every sum is one of whole numbers. So documents may be
//! counted in any order and in any number of parts ([`Trainer::combine`]): the model is the same to
//! the last bit.
//!
//! Definitions that publications leave open: the neighbours of a feature are the features of its
//! size before and after it. The first feature of a document has no left neighbour, and the last
//! one no right neighbour. Probabilities are over existing neighbours. A document without features
//! counts in |D|.

use std::fmt;

use crate::base::counter::{Counter, MOST};
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::sort::{sort_checked, sort_checked_by};
use crate::base::sorted::SortedMap;
use crate::base::spill::{PairCounts, RECORD, Spill, pair};
use crate::config::recipes::set_config;
use crate::config::{Config, MAX_SIZES, Weight};
use crate::features::bytes::{Reader, write_text, write_u32, write_u64};
use crate::features::model::{
    Entry, Model, PERCENTILE_WEIGHTS, PERCENTILES, Parts, Term, entropy_from_units, entropy_units,
    inverse_document_frequency,
};
use crate::features::weight;
use crate::sketches::simhash::SimhasherError;
use crate::{Named, Simhasher};

/// Term frequencies are summed in units of 2^-32.
const FREQUENCY_UNIT: f64 = (1u64 << 32) as f64;
/// c log2 c is summed in units of 2^-24.
const LOG_UNIT: f64 = (1u32 << 24) as f64;

/// Why training fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainError {
    /// More than 3 · 2^29 distinct terms.
    TooManyTerms,
    /// Bytes that no trainer wrote, or a trainer of another configuration.
    NotATrainer,
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyTerms => "more distinct terms than a model can have",
            Self::NotATrainer => "no trainer of this configuration",
        })
    }
}

impl std::error::Error for TrainError {}

/// Counts documents.
///
/// ```
/// use simhash_core::{Config, models::train::Trainer};
/// let mut trainer = Trainer::new(&Config::default()).unwrap();
/// for text in ["the cat", "the dog", "a cow"] {
///     trainer.add(text, &mut || ()).unwrap();
/// }
/// let model = trainer.finish(None, &mut || ());
/// assert_eq!((model.documents(), model.terms()), (3, 5));
/// let hash = simhash_core::base::hash::feature_hash::<u64>(b"the");
/// let (documents, the) = model.term(hash).unwrap();
/// assert_eq!((documents, the.idf, the.entropy), (2, 0.0, 0.5));
/// ```
pub struct Trainer {
    config: Config,
    simhasher: Simhasher,
    documents: u64,
    /// The hashes of the terms. A hash's place is the term's number.
    numbers: Counter<u64>,
    terms: Vec<TermCounts>,
    pairs: PairCounts,
    /// For each number of occurrences, how many pairs of a feature and a document have it.
    occurrences: SortedMap<u32, u64>,
    /// The features of the current document, in order: the term's number, and the place of its size
    /// among the configuration's sizes.
    document: Vec<(u32, usize)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct TermCounts {
    documents: u32,
    /// The occurrences in the current document.
    here: u32,
    /// The sum of its term frequencies, in units of [`FREQUENCY_UNIT`].
    frequencies: u64,
}

impl Trainer {
    /// A trainer that counts by the part of `config` that decides which features a text has.
    ///
    /// # Errors
    /// [`SimhasherError::NeedsWords`] when `config` names a dictionary or a list of stop words.
    pub fn new(config: &Config) -> Result<Self, SimhasherError> {
        Self::with(config, Named::default(), &mut || ())
    }

    /// A trainer that counts by a configuration and the lists of words that it names.
    ///
    /// # Errors
    /// [`SimhasherError::NeedsWords`] when `named` lacks one of them.
    pub fn with(
        config: &Config,
        named: Named,
        interrupt: &mut dyn FnMut(),
    ) -> Result<Self, SimhasherError> {
        let config = set_config(config, config.shingles());
        Ok(Trainer {
            simhasher: Simhasher::with(config.clone(), Named { model: None, ..named }, interrupt)?,
            config,
            documents: 0,
            numbers: Counter::new(),
            terms: Vec::new(),
            pairs: PairCounts::default(),
            occurrences: SortedMap::default(),
            document: Vec::new(),
        })
    }

    /// The configuration that texts are counted by.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The number of documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The number of distinct terms.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.term_memory() + self.pairs.memory()
    }

    /// The peak bytes of memory of a spill, or of the next growth. When that is too much, it is
    /// time to [`Trainer::spill`].
    pub fn memory_at_most(&self) -> usize {
        self.term_memory() + self.pairs.memory_at_most()
    }

    /// Bytes of memory that spilling does not free.
    pub fn term_memory(&self) -> usize {
        self.numbers.memory() + self.terms.capacity() * size_of::<TermCounts>()
    }

    /// Moves the neighbour pairs out of memory.
    pub fn spill(&mut self, spill: &mut dyn Spill, interrupt: &mut dyn FnMut()) {
        self.pairs.spill(spill, &Interrupt::new(interrupt));
    }

    /// Counts one document.
    ///
    /// # Errors
    /// [`TrainError::TooManyTerms`].
    pub fn add(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> Result<(), TrainError> {
        let interrupt = Interrupt::new(interrupt);
        let mut document = std::mem::take(&mut self.document);
        document.clear();
        let (numbers, terms) = (&mut self.numbers, &mut self.terms);
        self.simhasher.each_feature(text, &interrupt, |feature| {
            let number = number(numbers, terms, feature_hash(feature.text.as_bytes()), &interrupt);
            document.push((number, feature.size));
        });
        if document.iter().any(|&(number, _)| number == NO_NUMBER) {
            return Err(TrainError::TooManyTerms);
        }
        self.count(&document, &interrupt);
        self.document = document;
        Ok(())
    }

    fn count(&mut self, document: &[(u32, usize)], interrupt: &Interrupt) {
        self.documents += 1;
        let mut last = [None; MAX_SIZES];
        for &(number, size) in document {
            if let Some(before) = last[size].replace(number) {
                self.pairs.add(pair(before, number), 1, interrupt);
            }
        }
        for &(number, _) in document {
            interrupt.spend(8);
            self.terms[number as usize].here += 1;
        }
        for &(number, _) in document {
            interrupt.spend(16);
            let term = &mut self.terms[number as usize];
            let count = std::mem::take(&mut term.here);
            if count > 0 {
                term.documents += 1;
                term.frequencies +=
                    (f64::from(count) / document.len() as f64 * FREQUENCY_UNIT) as u64;
                *self.occurrences.get_or_insert_with(count, || 0) += 1;
            }
        }
    }

    /// Adds the counts of another trainer of the same configuration, except those that it has
    /// spilt.
    ///
    /// # Errors
    /// [`TrainError::NotATrainer`] for another configuration, [`TrainError::TooManyTerms`].
    pub fn combine(
        &mut self,
        other: &Trainer,
        interrupt: &mut dyn FnMut(),
    ) -> Result<(), TrainError> {
        let interrupt = &Interrupt::new(interrupt);
        if self.config != other.config {
            return Err(TrainError::NotATrainer);
        }
        let mut numbers = Vec::with_capacity(other.terms.len());
        for (&hash, counted) in other.numbers.hashes().iter().zip(&other.terms) {
            let own = number(&mut self.numbers, &mut self.terms, hash, interrupt);
            let Some(term) = self.terms.get_mut(own as usize) else {
                return Err(TrainError::TooManyTerms);
            };
            term.documents += counted.documents;
            term.frequencies += counted.frequencies;
            numbers.push(own);
        }
        for (key, count) in other.pairs.iter() {
            let [left, right] =
                [key >> 32, key & 0xffff_ffff].map(|number| numbers[number as usize]);
            self.pairs.add(pair(left, right), count, interrupt);
        }
        for (count, &times) in other.occurrences.iter() {
            *self.occurrences.get_or_insert_with(count, || 0) += times;
        }
        self.documents += other.documents;
        Ok(())
    }

    /// The counts that are not spilt, as bytes for [`Trainer::from_bytes`].
    pub fn to_bytes(&self, interrupt: &mut dyn FnMut()) -> Vec<u8> {
        let interrupt = &Interrupt::new(interrupt);
        let mut bytes = Vec::with_capacity(64 + self.terms.len() * 20 + self.pairs.len() * 12);
        write_text(&mut bytes, &self.config.to_string());
        write_u64(&mut bytes, self.documents);
        write_u64(&mut bytes, self.terms.len() as u64);
        for (&hash, term) in self.numbers.hashes().iter().zip(&self.terms) {
            interrupt.spend(20);
            write_u64(&mut bytes, hash);
            write_u32(&mut bytes, term.documents);
            write_u64(&mut bytes, term.frequencies);
        }
        write_u64(&mut bytes, self.pairs.len() as u64);
        for (pair, count) in self.pairs.iter() {
            interrupt.spend(RECORD);
            write_u64(&mut bytes, pair);
            write_u32(&mut bytes, count);
        }
        write_u64(&mut bytes, self.occurrences.len() as u64);
        for (count, &times) in self.occurrences.iter() {
            write_u32(&mut bytes, count);
            write_u64(&mut bytes, times);
        }
        bytes
    }

    /// Reads the bytes of [`Trainer::to_bytes`]. `named` finds the lists of words that its
    /// configuration names.
    ///
    /// # Errors
    /// [`TrainError::NotATrainer`] for any other bytes.
    pub fn from_bytes(
        bytes: &[u8],
        named: impl FnOnce(&Config) -> Named,
        interrupt: &mut dyn FnMut(),
    ) -> Result<Self, TrainError> {
        let mut reader = Reader(bytes);
        let config = reader.text().and_then(|config| config.parse::<Config>().ok());
        let trainer = config.and_then(|config| {
            let trainer = Trainer::with(&config, named(&config), interrupt).ok()?;
            trainer.read(&mut reader, &Interrupt::new(interrupt))
        });
        trainer.ok_or(TrainError::NotATrainer)
    }

    fn read(mut self, reader: &mut Reader<'_>, interrupt: &Interrupt) -> Option<Self> {
        let trainer = &mut self;
        trainer.documents = reader.u64()?;
        let terms = reader.u64()?;
        for expected in 0..terms {
            let (hash, documents, frequencies) = (reader.u64()?, reader.u32()?, reader.u64()?);
            let number = number(&mut trainer.numbers, &mut trainer.terms, hash, interrupt);
            if u64::from(number) != expected {
                return None;
            }
            trainer.terms[number as usize] = TermCounts { documents, here: 0, frequencies };
        }
        for _ in 0..reader.u64()? {
            let (pair, count) = (reader.u64()?, reader.u32()?);
            if pair >> 32 >= terms || pair & 0xffff_ffff >= terms {
                return None;
            }
            trainer.pairs.add(pair, count, interrupt);
        }
        for _ in 0..reader.u64()? {
            let (count, times) = (reader.u32()?, reader.u64()?);
            *trainer.occurrences.get_or_insert_with(count, || 0) = times;
        }
        reader.0.is_empty().then_some(self)
    }

    /// The model of everything counted. If pairs were spilt, `spill` must be the one that has them.
    /// Without a spill, more documents can be counted afterwards.
    pub fn finish(
        &mut self,
        spill: Option<&mut (dyn Spill + '_)>,
        interrupt: &mut dyn FnMut(),
    ) -> Model {
        let interrupt = &Interrupt::new(interrupt);
        let mut neighbours = Vec::with_capacity(self.terms.len());
        neighbours.extend(self.terms.iter().map(|_| {
            interrupt.spend(size_of::<[Neighbours; 2]>());
            [Neighbours::default(); 2]
        }));
        self.pairs.for_each(spill, interrupt, |pair, count| {
            let (left, right) = ((pair >> 32) as usize, (pair & 0xffff_ffff) as usize);
            neighbours[left][1].add(count);
            neighbours[right][0].add(count);
        });
        let mut entries: Vec<(Entry, u64)> = Vec::with_capacity(self.terms.len());
        for ((&hash, counts), neighbours) in
            self.numbers.hashes().iter().zip(&self.terms).zip(neighbours)
        {
            interrupt.spend(64);
            let [left, right] = neighbours.map(Neighbours::entropy);
            let entropy = entropy_units((left + right) / 2.0);
            entries.push((
                Entry { hash, document_frequency: counts.documents, entropy },
                counts.frequencies,
            ));
        }
        sort_checked_by(&mut entries, &mut || interrupt.check(), |a, b| a.0.hash.cmp(&b.0.hash));
        let percentiles = PERCENTILE_WEIGHTS.map(|scheme| {
            let weights = match scheme {
                Weight::Tf | Weight::Log => self.occurrence_weights(scheme),
                _ => self.term_weights(scheme, &entries, interrupt),
            };
            weighted_percentiles(weights, interrupt)
        });
        let entries: Vec<Entry> =
            entries.into_iter().inspect(|_| interrupt.spend(16)).map(|(entry, _)| entry).collect();
        let parts = Parts {
            config: &self.config,
            documents: self.documents,
            percentiles,
            entries: &entries,
        };
        Model::from_parts(&parts, interrupt)
    }

    /// The weight for each number of occurrences, and how many pairs of a feature and a document
    /// have it.
    fn occurrence_weights(&self, scheme: Weight) -> Vec<(u32, u64)> {
        let units = |count| weight::Weighting::new(scheme, None, None).units(count);
        self.occurrences.iter().map(|(count, &times)| (units(count), times)).collect()
    }

    /// Each term's weight at its mean term frequency, and its document frequency.
    fn term_weights(
        &self,
        scheme: Weight,
        entries: &[(Entry, u64)],
        interrupt: &Interrupt,
    ) -> Vec<(u32, u64)> {
        entries
            .iter()
            .map(|&(entry, frequencies)| {
                interrupt.spend(64);
                let documents = entry.document_frequency;
                let frequency = frequencies as f64 / FREQUENCY_UNIT / f64::from(documents.max(1));
                let idf = inverse_document_frequency(self.documents, documents);
                let term = Term { idf, entropy: entropy_from_units(entry.entropy) };
                (weight::model_units(scheme, frequency, term), u64::from(documents))
            })
            .collect()
    }
}

/// The number that no term has.
const NO_NUMBER: u32 = u32::MAX;

/// The number of a term, which may be new. [`NO_NUMBER`] when there are too many.
#[inline]
fn number(
    numbers: &mut Counter<u64>,
    terms: &mut Vec<TermCounts>,
    hash: u64,
    interrupt: &Interrupt,
) -> u32 {
    if terms.len() >= MOST && numbers.get(hash).is_none() {
        return NO_NUMBER;
    }
    numbers.reserve(1, interrupt);
    let place = numbers.count(hash, Some(0));
    if place == terms.len() {
        terms.push(TermCounts::default());
    }
    place as u32
}

/// The terms that follow or precede a term: how many, and the sum of c log2 c over the counts c of
/// the distinct ones.
#[derive(Clone, Copy, Default)]
struct Neighbours {
    total: u64,
    logs: u64,
}

impl Neighbours {
    fn add(&mut self, count: u64) {
        self.total += count;
        self.logs += (count as f64 * libm::log2(count as f64) * LOG_UNIT) as u64;
    }

    /// The negative sum of p log2 p with p = c / total, which is log2(total) less the sum of
    /// c log2 c / total.
    fn entropy(self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let total = self.total as f64;
        (libm::log2(total) - self.logs as f64 / LOG_UNIT / total).max(0.0)
    }
}

/// Percentiles 1 to 99 of weights, each given with how many times it occurs. Percentile p is the
/// least weight that p per cent do not exceed.
fn weighted_percentiles(mut weights: Vec<(u32, u64)>, interrupt: &Interrupt) -> [u32; PERCENTILES] {
    sort_checked(&mut weights, &mut || interrupt.check());
    let all: u128 = weights.iter().map(|&(_, times)| u128::from(times)).sum();
    let mut percentiles = [0; PERCENTILES];
    let mut weights = weights.into_iter();
    let (mut units, mut passed) = (0, 0u128);
    for (percent, percentile) in (1u128..).zip(&mut percentiles) {
        while passed * 100 < percent * all {
            let Some((next, times)) = weights.next() else { break };
            units = next;
            passed += u128::from(times);
        }
        *percentile = units;
    }
    percentiles
}

#[cfg(test)]
mod tests;
