//! The stored form of a model, in which terms are looked up without parsing.
//!
//! All numbers are little-endian. The parts, with their sizes in bytes:
//! - magic and version (8), the XXH3-64 of all that follows (8)
//! - the number of documents (8), the number of terms n (8), the directory's bits b (4)
//! - the configuration: its length (4) and its canonical JSON
//! - percentiles 1 to 99 of the weights tf, log, idf, tfidf and entropy (5 x 99 x 4)
//! - the XXH3-64 hashes of the terms, ascending (8 n)
//! - the document frequencies of the terms (4 n), and their entropies (4 n)
//! - the directory: where the hashes with each value of their top b bits start (4 (2^b + 1))
//!
//! That is 16 bytes per term, and a quarter to half a byte more for the directory.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::bytes::{Reader, write_text, write_u32, write_u64};
use crate::base::interrupt::Interrupt;
use crate::config::{Config, Weight};

/// The statistics of a corpus.
#[derive(Clone, PartialEq, Eq)]
pub struct Model {
    bytes: Box<[u8]>,
    config: Config,
    documents: u64,
    terms: usize,
    directory_bits: u32,
    percentiles: usize,
    hashes: usize,
    frequencies: usize,
    entropies: usize,
    directory: usize,
}

/// The statistics of a term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Inverse document frequency: ln(|D| / (df + 1)), or ln |D| for a term that is in no document.
    pub idf: f64,
    /// The mean of left and right neighbour entropy, in bits. 0 for a term that is in no document.
    pub entropy: f64,
}

/// The bytes are not a valid model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelError;

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a model, or a damaged one")
    }
}

impl std::error::Error for ModelError {}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model of {} terms in {} documents, {}", self.terms, self.documents, self.config)
    }
}

const MAGIC: &[u8; 8] = b"simmod\x01\n";

/// The weights whose percentiles are stored, in this order.
pub(crate) const PERCENTILE_WEIGHTS: [Weight; 5] =
    [Weight::Tf, Weight::Log, Weight::Idf, Weight::Tfidf, Weight::Entropy];
pub(crate) const PERCENTILES: usize = 99;

/// Entropies are stored in units of 2^-20 bits.
const ENTROPY_UNIT: f64 = (1u32 << 20) as f64;

/// The contents of a model. Entries ascend by hash, and no two have the same hash.
pub(crate) struct Parts<'a> {
    pub config: &'a Config,
    pub documents: u64,
    pub percentiles: [[u32; PERCENTILES]; PERCENTILE_WEIGHTS.len()],
    pub entries: &'a [Entry],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub hash: u64,
    pub document_frequency: u32,
    /// In units of 2^-20 bits.
    pub entropy: u32,
}

pub(crate) fn entropy_units(entropy: f64) -> u32 {
    libm::round(entropy * ENTROPY_UNIT) as u32
}

pub(crate) fn entropy_from_units(units: u32) -> f64 {
    f64::from(units) / ENTROPY_UNIT
}

/// ln(|D| / (df + 1)).
pub(crate) fn inverse_document_frequency(documents: u64, frequency: u32) -> f64 {
    libm::log(documents as f64 / (f64::from(frequency) + 1.0))
}

impl Model {
    pub(crate) fn from_parts(parts: &Parts<'_>, interrupt: &Interrupt) -> Self {
        let entries = || parts.entries.iter().inspect(|_| interrupt.spend(8));
        let terms = parts.entries.len();
        // On average eight to sixteen hashes share their top bits: one or two cache lines.
        let directory_bits = terms.max(8).ilog2() - 3;
        let mut bytes = Vec::with_capacity(4096 + terms * 17);
        bytes.extend_from_slice(MAGIC);
        write_u64(&mut bytes, 0);
        write_u64(&mut bytes, parts.documents);
        write_u64(&mut bytes, terms as u64);
        write_u32(&mut bytes, directory_bits);
        write_text(&mut bytes, &parts.config.to_string());
        parts.percentiles.iter().flatten().for_each(|&units| write_u32(&mut bytes, units));
        entries().for_each(|entry| write_u64(&mut bytes, entry.hash));
        entries().for_each(|entry| write_u32(&mut bytes, entry.document_frequency));
        entries().for_each(|entry| write_u32(&mut bytes, entry.entropy));
        for start in 0..=1u64 << directory_bits {
            interrupt.spend(256);
            let first =
                parts.entries.partition_point(|entry| top_bits(entry.hash, directory_bits) < start);
            write_u32(&mut bytes, first as u32);
        }
        let sum = xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
        Self::from_bytes(bytes.into()).expect("what was just written")
    }

    /// The model with these [`Model::as_bytes`].
    ///
    /// # Errors
    /// If the bytes are not a valid model.
    pub fn from_bytes(bytes: Box<[u8]>) -> Result<Self, ModelError> {
        Self::read(&bytes).map(|model| Model { bytes, ..model }).ok_or(ModelError)
    }

    /// The model, but with `bytes` empty.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let magic = reader.bytes(MAGIC.len())?;
        if magic != MAGIC || reader.u64()? != xxh3_64(reader.0) {
            return None;
        }
        let documents = reader.u64()?;
        let terms = usize::try_from(reader.u64()?).ok()?;
        let directory_bits = reader.u32().filter(|&bits| bits < 32)?;
        let config = reader.text()?.parse().ok()?;
        let mut part = |count: usize, size: usize| {
            let start = bytes.len() - reader.0.len();
            reader.bytes(count.checked_mul(size)?).map(|_| start)
        };
        let percentiles = part(PERCENTILE_WEIGHTS.len() * PERCENTILES, 4)?;
        let hashes = part(terms, 8)?;
        let frequencies = part(terms, 4)?;
        let entropies = part(terms, 4)?;
        let directory = part((1 << directory_bits) + 1, 4)?;
        reader.0.is_empty().then_some(Model {
            bytes: Box::default(),
            config,
            documents,
            terms,
            directory_bits,
            percentiles,
            hashes,
            frequencies,
            entropies,
            directory,
        })
    }

    /// The XXH3-64 of everything after the checksum, which determines the model's answers.
    pub fn content_hash(&self) -> u64 {
        let stored = self.bytes.get(8..).and_then(|rest| rest.first_chunk());
        u64::from_le_bytes(stored.copied().unwrap_or_default())
    }

    /// The stored form.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The configuration with which the corpus was cut into terms and counted.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// |D|, the number of documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The number of distinct terms.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// The document frequency and the statistics of the term with the given XXH3-64. `None` for a
    /// term that is in no document.
    pub fn term(&self, hash: u64) -> Option<(u32, Term)> {
        let at = self.find(hash)?;
        let frequency = self.u32_at(self.frequencies, at);
        let idf = inverse_document_frequency(self.documents, frequency);
        Some((
            frequency,
            Term { idf, entropy: entropy_from_units(self.u32_at(self.entropies, at)) },
        ))
    }

    /// The statistics of the term with the given XXH3-64, or those of a term that is in no
    /// document.
    pub(crate) fn term_or_unseen(&self, hash: u64) -> Term {
        let unseen = || Term { idf: inverse_document_frequency(self.documents, 0), entropy: 0.0 };
        self.term(hash).map_or_else(unseen, |(_, term)| term)
    }

    /// A percentile, from 1 to 99, of the weights of the corpus's features, in units of the weight.
    /// A feature counts once for each document that has it. `None` for a weight without
    /// percentiles.
    pub(crate) fn percentile(&self, weight: Weight, percent: u8) -> Option<u32> {
        let row = PERCENTILE_WEIGHTS.iter().position(|&kept| kept == weight)?;
        let column = usize::from(percent).checked_sub(1).filter(|&column| column < PERCENTILES)?;
        Some(self.u32_at(self.percentiles, row * PERCENTILES + column))
    }

    fn find(&self, hash: u64) -> Option<usize> {
        let start = top_bits(hash, self.directory_bits) as usize;
        let first = self.u32_at(self.directory, start) as usize;
        let end = self.u32_at(self.directory, start + 1) as usize;
        // The checksum rejects a damaged directory. A directory that was never valid must not cause
        // a panic either.
        (first..end.min(self.terms)).find(|&at| self.u64_at(self.hashes, at) == hash)
    }

    fn u32_at(&self, part: usize, index: usize) -> u32 {
        let bytes = self.bytes[part + 4 * index..].first_chunk();
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn u64_at(&self, part: usize, index: usize) -> u64 {
        let bytes = self.bytes[part + 8 * index..].first_chunk();
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

fn top_bits(hash: u64, bits: u32) -> u64 {
    hash.checked_shr(u64::BITS - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(terms: u64) -> Model {
        let mut entries: Vec<Entry> = (0..terms)
            .map(|i| Entry {
                hash: xxh3_64(&i.to_le_bytes()),
                document_frequency: i as u32 + 1,
                entropy: 7 * i as u32,
            })
            .collect();
        entries.sort_by_key(|entry| entry.hash);
        let config = Config::default();
        let percentiles =
            std::array::from_fn(|row| std::array::from_fn(|column| (row * 1000 + column) as u32));
        let parts = Parts { config: &config, documents: 1 << 20, percentiles, entries: &entries };
        Model::from_parts(&parts, &Interrupt::new(&mut || ()))
    }

    #[test]
    fn finds_every_term_and_no_other() {
        for terms in [0, 1, 7, 8, 9, 1000, 20_000] {
            let model = Model::from_bytes(model(terms).as_bytes().into()).unwrap();
            assert_eq!(model.terms() as u64, terms);
            for i in 0..terms {
                let (frequency, term) = model.term(xxh3_64(&i.to_le_bytes())).unwrap();
                assert_eq!(u64::from(frequency), i + 1);
                assert_eq!(term.entropy, (7 * i) as f64 / ENTROPY_UNIT);
                assert!((term.idf - ((1 << 20) as f64 / (i + 2) as f64).ln()).abs() < 1e-12);
            }
            assert!((terms..terms + 1000).all(|i| model.term(xxh3_64(&i.to_le_bytes())).is_none()));
            assert_eq!(model.percentile(Weight::Idf, 90), Some(2089));
            assert_eq!(model.percentile(Weight::Level, 90), None);
            let bytes = model.as_bytes().len() as f64;
            assert!(
                terms < 1000 || bytes < 2200.0 + 17.0 * terms as f64,
                "{bytes} bytes for {terms} terms"
            );
        }
    }

    #[test]
    fn damage_is_refused() {
        let bytes = model(50).as_bytes().to_vec();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Model::from_bytes(damaged.into()), Err(ModelError), "byte {at}");
        }
        assert!((0..bytes.len()).all(|length| Model::from_bytes(bytes[..length].into()).is_err()));
    }
}
