//! Simhash: a text's weighted features summed, bit by bit, into one fingerprint (Charikar 2002;
//! Manku, Jain and Das Sarma 2007).

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::Fingerprint;
use crate::base::counter::Counter;
use crate::base::exact::ExactSums;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::simd::accumulate::BitSums;
use crate::config::recipes::set_config;
use crate::config::{Cap, Config, Position, StopWords, Tokenizer, Weight};
use crate::features::model::{Model, Term};
use crate::features::shingling::{Featurizer, Occurrence};
use crate::features::weight::{Weighting, reads_model};
use crate::texts::normalize;
use crate::texts::normalize::{normalize_into, normalize_traced};
use crate::texts::place::Place;
use crate::words::lists::{Kind, WordList};

/// The objects that a configuration names: a trained model, and lists of the user's words.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// The model.
    pub model: Option<Arc<Model>>,
    /// The dictionary.
    pub dictionary: Option<Arc<WordList>>,
    /// The list of stop words.
    pub stop_words: Option<Arc<WordList>>,
}

/// Why a [`Simhasher`] cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimhasherError {
    /// The tokenizer needs the dictionary in this feature of the crate.
    NeedsFeature(&'static str),
    /// The configuration needs this trained model, which is missing.
    NeedsModel(String),
    /// The configuration names this list of words, which is missing.
    NeedsWords(Kind, String),
    /// The model was trained with this configuration, which cuts texts into other features.
    OtherFeatures(Box<Config>),
    /// The model has no percentiles of this weight.
    NoPercentiles(Weight),
}

impl fmt::Display for SimhasherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimhasherError::NeedsFeature(feature) => {
                write!(f, "the tokenizer needs the feature {feature} of the crate simhash-core")
            }
            SimhasherError::NeedsModel(name) => {
                write!(f, "the statistics of model \"{name}\" are needed")
            }
            SimhasherError::NeedsWords(kind, name) => {
                write!(f, "the words of {} \"{name}\" are needed", kind.noun())
            }
            SimhasherError::OtherFeatures(config) => {
                write!(f, "it was trained with another config, {config}")
            }
            SimhasherError::NoPercentiles(weight) => {
                write!(f, "it has no percentiles of weight {weight}")
            }
        }
    }
}

impl std::error::Error for SimhasherError {}

/// One distinct feature of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feature<'a, F> {
    /// The token, or the shingle's tokens with one space between them.
    pub text: &'a str,
    /// Its exact weight.
    pub weight: f32,
    /// The hash that is summed, into which the position is XORed if the configuration has one.
    pub hash: F,
}

/// The distinct features of a text, in the order in which they first occur. Kept in a few
/// allocations: freeing millions would delay a cancelled call, since drops check no interrupts.
#[derive(Debug, Clone, PartialEq)]
pub struct Features<F> {
    texts: Texts,
    values: Vec<(f32, F)>,
}

/// Concatenated texts, and where each one ends.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    /// The text with this number, which must be less than the number of texts.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[place]]
    }
}

impl<F: Copy> Features<F> {
    /// The number of features.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The feature with this number.
    ///
    /// # Panics
    /// When the number is not less than [`Features::len`].
    #[inline]
    pub fn get(&self, place: usize) -> Feature<'_, F> {
        let (weight, hash) = self.values[place];
        Feature { text: self.texts.get(place), weight, hash }
    }

    /// All features, in order.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = Feature<'_, F>> + ExactSizeIterator + Clone {
        (0..self.len()).map(|place| self.get(place))
    }

    /// The texts of the features alone.
    pub(crate) fn into_texts(self) -> Texts {
        self.texts
    }
}

/// Fingerprints texts by one configuration, and reuses its buffers from text to text.
///
/// `interrupt` is called at least about every millisecond, and may unwind.
///
/// ```
/// use simhash_core::{Config, Simhasher};
/// let mut simhasher = Simhasher::new(Config::default()).unwrap();
/// let a: Option<u64> = simhasher.fingerprint("Hello, World!", &mut || ());
/// let b = simhasher.fingerprint("hello   world", &mut || ());
/// assert_eq!(a, b);
/// assert_eq!(simhasher.fingerprint::<u64>("...", &mut || ()), None);
/// ```
pub struct Simhasher {
    config: Config,
    weighting: Weighting,
    featurizer: Featurizer,
    known: Option<Known>,
    normalized: String,
    /// The counter of the last text, reused for texts of the same width.
    counter: Option<Box<dyn Any + Send>>,
}

impl Simhasher {
    /// A simhasher for a configuration that names nothing.
    ///
    /// # Errors
    /// As [`Simhasher::with`]: [`SimhasherError::NeedsModel`] when the configuration names a model,
    /// [`SimhasherError::NeedsWords`] when it names a dictionary or a list of stop words.
    pub fn new(config: Config) -> Result<Self, SimhasherError> {
        Self::with(config, Named::default(), &mut || ())
    }

    /// A simhasher whose weights or cap come from `model`.
    ///
    /// # Errors
    /// As [`Simhasher::with`].
    pub fn with_model(config: Config, model: Arc<Model>) -> Result<Self, SimhasherError> {
        Self::with(config, Named { model: Some(model), ..Named::default() }, &mut || ())
    }

    /// A simhasher for a configuration and what it names.
    ///
    /// # Errors
    /// [`SimhasherError::NeedsFeature`] when the crate was compiled without the dictionary of its
    /// tokenizer, [`SimhasherError::NeedsModel`] or [`SimhasherError::NeedsWords`] when `named`
    /// lacks something that it names, [`SimhasherError::OtherFeatures`] when the model was trained
    /// on other features than those of `config`, and [`SimhasherError::NoPercentiles`] when the
    /// model has none for the cap.
    pub fn with(
        config: Config,
        named: Named,
        interrupt: &mut dyn FnMut(),
    ) -> Result<Self, SimhasherError> {
        check_named(&config, &named)?;
        let interrupt = &Interrupt::new(interrupt);
        let Named { model, dictionary, stop_words } = named;
        Ok(Simhasher {
            weighting: Weighting::new(config.weight, config.cap, model.as_deref()),
            featurizer: Featurizer::new(
                &config,
                dictionary.as_deref(),
                stop_words.as_deref(),
                interrupt,
            ),
            known: model.filter(|_| reads_model(config.weight)).map(Known::new),
            config,
            normalized: String::new(),
            counter: None,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The text's fingerprint. `None` when it has no features, or none with a weight above 0.
    pub fn fingerprint<F: Fingerprint>(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
    ) -> Option<F> {
        let interrupt = Interrupt::new(interrupt);
        let counter = self.count::<F>(text, &interrupt);
        let mut sums = BitSums::default();
        let mut weighs = false;
        self.for_each_batch(&counter, &interrupt, |hashes, weights| {
            weighs |= weights.iter().any(|&weight| weight > 0);
            sums.add(hashes, weights);
        });
        let fingerprint = weighs.then(|| sums.sign());
        self.keep(counter);
        fingerprint
    }

    /// The text's distinct features. The fingerprint is the sign of their weighted sum, bit by bit:
    /// 1 where the sum is greater than 0. `None` when together the features are longer than `limit`
    /// bytes.
    pub fn features<F: Fingerprint>(
        &mut self,
        text: &str,
        limit: usize,
        interrupt: &mut dyn FnMut(),
    ) -> Option<Features<F>> {
        let interrupt = Interrupt::new(interrupt);
        let mut texts = Texts::default();
        let counter = self.count_seeing(text, &interrupt, |place, feature| {
            if place == texts.ends.len() && texts.all.len() <= limit {
                texts.push(feature);
            }
        });
        if texts.all.len() > limit {
            return None;
        }
        let mut values = Vec::with_capacity(texts.ends.len());
        self.for_each_batch(&counter, &interrupt, |hashes, weights| {
            let weights = weights.iter().map(|&units| self.weighting.number(units));
            values.extend(weights.zip(hashes.iter().copied()));
        });
        self.keep(counter);
        Some(Features { texts, values })
    }

    /// Passes every occurrence of a feature in the text to `sink`, in order.
    pub fn for_each_feature(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
        mut sink: impl FnMut(&str),
    ) {
        self.each_feature(text, &Interrupt::new(interrupt), |feature| sink(feature.text));
    }

    /// Passes every distinct feature of the text to `sink`, in the order in which they first occur.
    pub fn for_each_distinct_feature(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
        mut sink: impl FnMut(&str),
    ) {
        let mut seen = 0;
        let counter =
            self.count_seeing::<u128>(text, &Interrupt::new(interrupt), |place, feature| {
                if place == seen {
                    seen += 1;
                    sink(feature);
                }
            });
        self.keep(counter);
    }

    /// Passes the hash of every distinct feature, as the fingerprint sums it, and its weight in
    /// units to `sink`.
    pub(crate) fn for_each_weight<F: Fingerprint>(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
        mut sink: impl FnMut(F, u32),
    ) {
        let interrupt = Interrupt::new(interrupt);
        let counter = self.count::<F>(text, &interrupt);
        self.for_each_batch(&counter, &interrupt, |hashes, weights| {
            hashes.iter().zip(weights).for_each(|(&hash, &units)| sink(hash, units));
        });
        self.keep(counter);
    }

    /// The text after the configuration's normalisation steps.
    pub fn normalize(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> String {
        normalize::normalize(text, self.config.text_steps(), interrupt)
    }

    /// The tokens of the normalised text, in order, without the stop words.
    pub fn tokens(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> Vec<String> {
        let mut tokens = Vec::new();
        self.for_each_token(text, interrupt, |token| tokens.push(token.to_owned()));
        tokens
    }

    /// Passes every token of the normalised text to `sink`, in order, without the stop words.
    pub fn for_each_token(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
        mut sink: impl FnMut(&str),
    ) {
        let interrupt = Interrupt::new(interrupt);
        normalize_into(text, self.config.text_steps(), &interrupt, &mut self.normalized);
        self.featurizer.for_each_token(&self.normalized, &self.config, &interrupt, &mut sink);
    }

    /// As [`Simhasher::for_each_token`], with the bytes of `text` that the token comes from: from
    /// the first that contributes to its first character to the last that contributes to its last.
    pub(crate) fn for_each_placed_token(
        &mut self,
        text: &str,
        interrupt: &mut dyn FnMut(),
        mut sink: impl FnMut(&str, Range<usize>),
    ) {
        let interrupt = Interrupt::new(interrupt);
        let (steps, normalized) = (self.config.text_steps(), &mut self.normalized);
        let mut traces = Vec::new();
        normalize_traced(text, steps, &interrupt, normalized, &mut traces);
        self.featurizer.for_each_placed_token(
            &self.normalized,
            &self.config,
            &interrupt,
            &mut |token, place: Range<usize>| sink(token, place.before(&traces, 0)),
        );
    }

    /// Counts the occurrences of the text's distinct features, or records their levels if they
    /// weigh by level.
    fn count<F: Fingerprint>(&mut self, text: &str, interrupt: &Interrupt) -> Box<Counter<F>> {
        // Batches let the processor overlap the look-ups.
        const BATCH: usize = 64;
        if self.known.is_some() {
            return self.count_seeing(text, interrupt, |_, _| ());
        }
        let mut counter = self.take_counter::<F>();
        let by_level = self.config.weight == Weight::Level;
        let mut batch = [(F::ZERO, 0); BATCH];
        let mut length = 0;
        let count_all = |counter: &mut Counter<F>, batch: &[(F, u32)]| {
            counter.reserve(batch.len(), interrupt);
            for &(hash, level) in batch {
                counter.count(hash, by_level.then_some(level));
            }
        };
        self.each_feature(text, interrupt, |feature| {
            batch[length] = (feature_hash(feature.text.as_bytes()), feature.level);
            length += 1;
            if length == BATCH {
                count_all(&mut counter, &batch);
                length = 0;
            }
        });
        count_all(&mut counter, &batch[..length]);
        counter
    }

    /// As [`Simhasher::count`], and calls `see` for every occurrence, with the feature's place
    /// among the distinct ones.
    fn count_seeing<F: Fingerprint>(
        &mut self,
        text: &str,
        interrupt: &Interrupt,
        mut see: impl FnMut(usize, &str),
    ) -> Box<Counter<F>> {
        let mut counter = self.take_counter::<F>();
        let by_level = self.config.weight == Weight::Level;
        let mut known = self.known.as_mut();
        if let Some(known) = &mut known {
            known.clear();
        }
        normalize_into(text, self.config.text_steps(), interrupt, &mut self.normalized);
        self.featurizer.for_each_feature(
            &self.normalized,
            &self.config,
            interrupt,
            &mut |feature| {
                counter.reserve(1, interrupt);
                let hash = feature_hash(feature.text.as_bytes());
                let place = counter.count(hash, by_level.then_some(feature.level));
                if let Some(known) = &mut known {
                    known.see(place, hash, feature.text);
                }
                see(place, feature.text);
            },
        );
        counter
    }

    pub(crate) fn each_feature(
        &mut self,
        text: &str,
        interrupt: &Interrupt,
        mut sink: impl FnMut(Occurrence<'_>),
    ) {
        normalize_into(text, self.config.text_steps(), interrupt, &mut self.normalized);
        self.featurizer.for_each_feature(&self.normalized, &self.config, interrupt, &mut sink);
    }

    /// An empty counter: the last one, if it was of the same width.
    fn take_counter<F: Fingerprint>(&mut self) -> Box<Counter<F>> {
        match self.counter.take().map(|counter| counter.downcast::<Counter<F>>()) {
            Some(Ok(mut counter)) => {
                counter.clear();
                counter
            }
            _ => Box::new(Counter::new()),
        }
    }

    /// Passes the hashes as they are summed, with their weights in units, to `sink` in batches.
    fn for_each_batch<F: Fingerprint>(
        &self,
        counter: &Counter<F>,
        interrupt: &Interrupt,
        mut sink: impl FnMut(&[F], &[u32]),
    ) {
        const BATCH: usize = 128;
        let mut weights = [0; BATCH];
        let mut placed = Vec::new();
        let distinct = counter.hashes().len();
        for start in (0..distinct).step_by(BATCH) {
            let batch = start..distinct.min(start + BATCH);
            let weights = &mut weights[..batch.len()];
            let numbers = &counter.numbers()[batch.clone()];
            match &self.known {
                None => weights
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(w, &number)| *w = self.weighting.units(number)),
                Some(known) => {
                    for ((weight, &count), &term) in
                        weights.iter_mut().zip(numbers).zip(&known.terms[batch.clone()])
                    {
                        *weight = self.weighting.by_model(count, known.occurrences, term);
                    }
                }
            }
            let mut hashes = &counter.hashes()[batch.clone()];
            if self.config.position != Position::None {
                let place = |(&hash, rank)| hash ^ self.position(rank, distinct);
                placed.clear();
                placed.extend(hashes.iter().zip(batch).map(place));
                hashes = &placed;
            }
            sink(hashes, weights);
            interrupt.spend(size_of_val(hashes));
        }
    }

    /// The pattern that is XORed into the hash of the feature with this rank among `distinct` ones.
    fn position<F: Fingerprint>(&self, rank: usize, distinct: usize) -> F {
        const BUCKETS: usize = 16;
        match self.config.position {
            Position::None => F::ZERO,
            Position::Paper => F::from_number(rank as u64),
            Position::Bucket => F::from_number((BUCKETS * rank / distinct) as u64),
            Position::Spread => {
                let pattern = SPREAD[SPREAD.len() * rank / distinct];
                F::from_words(|index| pattern.word(index % 2))
            }
        }
    }

    /// Keeps the buffers for the next text, unless the normalised text was large.
    fn keep<F: Fingerprint>(&mut self, counter: Box<Counter<F>>) {
        const KEPT: usize = 1 << 20;
        self.counter = Some(counter);
        if self.normalized.capacity() > KEPT {
            self.normalized = String::new();
        }
    }
}

/// Checks that `named` has all that `config` names, and that the model fits.
fn check_named(config: &Config, named: &Named) -> Result<(), SimhasherError> {
    let is_in = [("jieba", cfg!(feature = "jieba")), ("spaceless", cfg!(feature = "spaceless"))];
    let needed = match config.tokenizer {
        Tokenizer::Auto | Tokenizer::Code => &is_in[..],
        Tokenizer::Jieba => &is_in[..1],
        Tokenizer::Word | Tokenizer::Char => &[],
    };
    if let Some((feature, _)) = needed.iter().find(|(_, is_in)| !is_in) {
        return Err(SimhasherError::NeedsFeature(feature));
    }
    let needs = |kind, name: &str| Err(SimhasherError::NeedsWords(kind, name.to_owned()));
    if let (Some(name), None) = (&config.dictionary, &named.dictionary) {
        return needs(Kind::Dictionary, name);
    }
    if let (StopWords::Named(name), None) = (&config.stopwords, &named.stop_words) {
        return needs(Kind::StopWords, name);
    }
    let Some(model) = &named.model else {
        return match &config.model {
            Some(model) => Err(SimhasherError::NeedsModel(model.clone())),
            None => Ok(()),
        };
    };
    if set_config(config, config.shingles()) != *model.config() {
        return Err(SimhasherError::OtherFeatures(Box::new(model.config().clone())));
    }
    match config.cap {
        Some(Cap::Percentile(percent)) if model.percentile(config.weight, percent).is_none() => {
            Err(SimhasherError::NoPercentiles(config.weight))
        }
        _ => Ok(()),
    }
}

/// The patterns that [`Position::Spread`] XORs into the hashes of each eighth of the distinct
/// features. The first is 0. The others are unrelated: every fourth bit of the fraction of pi, from
/// its first hexadecimal digit on, 128 bits each. They repeat every 128 bits of a fingerprint. So a
/// quarter of its bits depends on the order of a text, and three quarters do not.
const SPREAD: [u128; 8] = {
    const EVERY_FOURTH: u128 = 0x1111_1111_1111_1111_1111_1111_1111_1111;
    [
        0,
        0x243f_6a88_85a3_08d3_1319_8a2e_0370_7344 & EVERY_FOURTH,
        0xa409_3822_299f_31d0_082e_fa98_ec4e_6c89 & EVERY_FOURTH,
        0x4528_21e6_38d0_1377_be54_66cf_34e9_0c6c & EVERY_FOURTH,
        0xc0ac_29b7_c97c_50dd_3f84_d5b5_b547_0917 & EVERY_FOURTH,
        0x9216_d5d9_8979_fb1b_d131_0ba6_98df_b5ac & EVERY_FOURTH,
        0x2ffd_72db_d01a_dfb7_b8e1_afed_6a26_7e96 & EVERY_FOURTH,
        0xba7c_9045_f12c_7f99_24a1_9947_b391_6cf7 & EVERY_FOURTH,
    ]
};

/// A model, and its statistics of the features of the current text.
struct Known {
    model: Arc<Model>,
    /// The statistics of every distinct feature, in the order of the counter.
    terms: Vec<Term>,
    /// The number of all features, whether distinct or not.
    occurrences: u64,
}

impl Known {
    fn new(model: Arc<Model>) -> Self {
        Known { model, terms: Vec::new(), occurrences: 0 }
    }

    fn clear(&mut self) {
        self.terms.clear();
        self.occurrences = 0;
    }

    #[inline]
    fn see<F: Fingerprint>(&mut self, place: usize, hash: F, feature: &str) {
        self.occurrences += 1;
        if place == self.terms.len() {
            // Models identify terms by 64-bit hashes. The features of 64-bit fingerprints have
            // these already.
            let known_by =
                if F::BITS == 64 { hash.word(0) } else { feature_hash(feature.as_bytes()) };
            self.terms.push(self.model.term_or_unseen(known_by));
        }
    }
}

/// Why a weight cannot be summed. `index` counts from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WeightError {
    /// NaN or infinite.
    NotFinite { index: usize, weight: f32 },
    /// Less than zero.
    Negative { index: usize, weight: f32 },
}

impl fmt::Display for WeightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightError::NotFinite { index, weight } => {
                write!(f, "weight {weight} at index {index} is not finite")
            }
            WeightError::Negative { index, weight } => {
                write!(f, "weight {weight} at index {index} is negative")
            }
        }
    }
}

impl std::error::Error for WeightError {}

/// The fingerprint of the caller's own features and weights.
///
/// The sum is exact, so the order of the features does not matter, and equal features add up.
/// `None` when there is no feature, or none with a weight above 0.
///
/// # Errors
/// A weight that is NaN, infinite or negative.
///
/// ```
/// use simhash_core::sketches::simhash::from_features;
/// let a = from_features::<u64>([("cat", 2.0), ("dog", 0.5)]).unwrap();
/// let b = from_features::<u64>([("dog", 0.5), ("cat", 1.0), ("cat", 1.0)]).unwrap();
/// assert!(a.is_some() && a == b);
/// assert_eq!(from_features::<u64>([("cat", 0.0)]), Ok(None));
/// assert!(from_features::<u64>([("cat", -1.0)]).is_err());
/// ```
pub fn from_features<F: Fingerprint>(
    features: impl IntoIterator<Item = (impl AsRef<[u8]>, f32)>,
) -> Result<Option<F>, WeightError> {
    let mut sums = ExactSums::default();
    for (index, (feature, weight)) in features.into_iter().enumerate() {
        if !weight.is_finite() {
            return Err(WeightError::NotFinite { index, weight });
        }
        if weight < 0.0 {
            return Err(WeightError::Negative { index, weight });
        }
        sums.add(feature_hash::<F>(feature.as_ref()), weight);
    }
    Ok(sums.sign())
}

/// As [`from_features`], for features given by their hashes. Weights must be finite and not
/// negative.
pub(crate) fn from_hashes<F: Fingerprint>(features: impl Iterator<Item = (F, f32)>) -> Option<F> {
    let mut sums = ExactSums::default();
    features.for_each(|(hash, weight)| sums.add(hash, weight));
    sums.sign()
}
