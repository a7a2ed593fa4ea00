//! Decides which texts are near-duplicates: their sketches agree in enough bands, and their sets of
//! shingles are similar enough.
//!
//! A sketch is MinHash with bands (Broder 1997; Leskovec, Rajaraman and Ullman, "Mining of Massive
//! Datasets", 3.4). Each component is the least value of its own hash function over the set of
//! shingles. Two sets of Jaccard similarity J agree in each component with probability J,
//! independently of the other components and of the sizes of the sets ([`scattered`]). So they
//! agree in a band of r components with probability J^r, and the number of bands in which they
//! agree is binomial. That is the [`Law`]. The components of [`crate::sketches::minhash`] depend on
//! each other. They miss fewer pairs of larger sets, but they miss 1.5 % of the pairs of sets of
//! one and two shingles at 0.5, where the law says 0.9 %.
//!
//! If shingles have weights, each shingle's value becomes an exponentially distributed number whose
//! mean is one over the weight ([`scattered::add_scaled`]). A component is the least of these
//! numbers. A shingle has the least one with a probability of its weight over the total weight. So
//! two sets agree in a component with a probability equal to their weighted Jaccard coefficient,
//! and the same laws hold for it. This is consistent weighted sampling (Ioffe, ICDM 2010) where a
//! shingle weighs the same in every set.
//!
//! The laws are nested: two sketches that satisfy the law of a similarity satisfy that of every
//! smaller one. So texts that are near at a similarity are near at every smaller one. Every law
//! uses the first bands of the same sketch. A band of two rows, used below 0.5, has the first two
//! components of the band of three rows with its number. So an index made for one similarity serves
//! every greater one with the keys that it has.

use super::shingles::{ShingleSet, each_weight, set_hash};
use crate::Simhasher;
use crate::base::interrupt::Interrupt;
use crate::base::random::mix;
use crate::base::simd::scattered;
use crate::base::simd::scattered::LANES;
use crate::config::Weight;
use crate::features::weight::MODEL_UNIT;

/// Similarities are from this to 1.
pub const LEAST_SIMILARITY: f64 = 0.3;

/// The default of `near_duplicate` and of whole tables. The index serves more by default.
pub const DEFAULT_SIMILARITY: f64 = 0.7;

/// The number of bits of a key. It is in the most significant bits of a `u64`, and the others are
/// 0.
pub const KEY_BITS: u32 = 40;

/// The most bands that an index stores keys of.
pub const MOST_BANDS: usize = 49;

/// A value in the form of a key that is greater than every key of every layout.
pub const NO_KEY: u64 = u64::MAX << (64 - KEY_BITS);

/// Two texts are candidates at a similarity if they agree in at least `shared` of the first `bands`
/// bands of `rows` rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    pub bands: usize,
    pub rows: usize,
    pub shared: usize,
}

/// The law for the similarities from each number on. At exactly that similarity it finds at least
/// 0.999 of all pairs, and below 0.6 at least 0.99. A law of more bands looks up more keys but can
/// require more shared ones, so fewer texts that are not near become candidates. Looking up a key
/// costs a fiftieth of reading a candidate's text. From 0.8 on, fewer bands suffice to keep
/// candidates rare, and they make an index that serves no smaller similarity smaller.
const LAWS: [(f64, Law); 8] = [
    (0.9, Law { bands: 14, rows: 3, shared: 5 }),
    (0.8, Law { bands: 24, rows: 3, shared: 5 }),
    (0.7, Law { bands: THIRDS, rows: 3, shared: 4 }),
    (0.65, Law { bands: THIRDS, rows: 3, shared: 2 }),
    (0.6, Law { bands: THIRDS, rows: 3, shared: 1 }),
    (0.5, Law { bands: THIRDS, rows: 3, shared: 1 }),
    (0.4, Law { bands: THIRDS, rows: 2, shared: 1 }),
    (LEAST_SIMILARITY, Law { bands: MOST_BANDS, rows: 2, shared: 1 }),
];

/// The number of bands of three rows. They have all components of a sketch.
const THIRDS: usize = 35;
const COMPONENTS: usize = 3 * THIRDS;
const _: () = assert!(COMPONENTS <= LANES);

impl Law {
    /// The law of a similarity. `None` unless it lies in [[`LEAST_SIMILARITY`], 1].
    ///
    /// ```
    /// use simhash_core::sets::sketch::Law;
    /// assert_eq!(Law::of(0.7), Some(Law { bands: 35, rows: 3, shared: 4 }));
    /// assert_eq!([0.29, 1.01, f64::NAN].map(Law::of), [None; 3]);
    /// ```
    pub fn of(similarity: f64) -> Option<Law> {
        let law = LAWS.iter().find(|&&(from, _)| similarity >= from);
        law.filter(|_| similarity <= 1.0).map(|&(_, law)| law)
    }

    /// Whether two texts are candidates.
    pub fn holds(self, a: &Sketch, b: &Sketch) -> bool {
        self.holds_of(&a.components, &b.components)
    }

    /// Whether two texts with these sets of shingles are candidates.
    pub fn holds_for(self, a: &ShingleSet, b: &ShingleSet) -> bool {
        let components = |set| of_set(set, &Interrupt::new(&mut || ()));
        match (components(a), components(b)) {
            (Some(a), Some(b)) => self.holds_of(&a, &b),
            _ => false,
        }
    }

    fn holds_of(self, a: &[u32; LANES], b: &[u32; LANES]) -> bool {
        let agree = |&row: &u8| a[usize::from(row)] == b[usize::from(row)];
        let bands = components(self.rows)[..self.bands].iter();
        bands.filter(|rows| rows.iter().all(agree)).nth(self.shared - 1).is_some()
    }
}

/// The keys that an index made for a similarity stores of each text: those of `bands` bands of
/// `rows` rows. They serve every greater similarity too. Candidates by the [`Law::of`] that
/// similarity agree in at least its `shared` of its first `bands` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub bands: usize,
    pub rows: usize,
}

impl Layout {
    /// The layout of a similarity. `None` unless it lies in [[`LEAST_SIMILARITY`], 1].
    pub fn of(similarity: f64) -> Option<Layout> {
        // The laws of greater similarities have no more bands, and no fewer rows.
        Law::of(similarity).map(|Law { bands, rows, .. }| Layout { bands, rows })
    }

    /// The band of a key of [`Sketch::keys`]. Of only the first bits of a key, it may be the band
    /// before.
    #[inline]
    pub fn band(self, key: u64) -> usize {
        let width = (1 << KEY_BITS) / self.bands as u64;
        ((key >> (64 - KEY_BITS)) / width) as usize
    }

    /// The keys of the bands, in order. The bands divide the numbers of [`KEY_BITS`] bits among
    /// themselves, so keys of different bands are never equal. No layout's number of bands is a
    /// power of two, so the last number is left over: [`NO_KEY`].
    #[inline]
    fn keys(self, sketch: &[u32; LANES]) -> impl Iterator<Item = u64> {
        let width = (1 << KEY_BITS) / self.bands as u64;
        components(self.rows)[..self.bands].iter().zip(0..).map(move |(&rows, band)| {
            let [first, second, third] = rows.map(|row| u64::from(sketch[usize::from(row)]));
            let mut hash = mix(mix(band + 1) ^ (first | second << 32));
            if self.rows == 3 {
                hash = mix(hash ^ third);
            }
            let within = (u128::from(hash) * u128::from(width)) >> 64;
            (band * width + within as u64) << (64 - KEY_BITS)
        })
    }
}

/// The components of each band of `rows` rows. A band of two rows repeats its first component.
///
/// A band of two rows has the first two components of the band of three rows with its number. Each
/// band after the last of these has the third components of two bands. So no component is in two
/// bands.
fn components(rows: usize) -> &'static [[u8; 3]] {
    const OF_THREE: [[u8; 3]; THIRDS] = {
        let mut bands = [[0; 3]; THIRDS];
        let mut band = 0;
        while band < THIRDS {
            let first = 3 * band as u8;
            bands[band] = [first, first + 1, first + 2];
            band += 1;
        }
        bands
    };
    const OF_TWO: [[u8; 3]; MOST_BANDS] = {
        let mut bands = [[0; 3]; MOST_BANDS];
        let mut band = 0;
        while band < MOST_BANDS {
            let [first, second] = if band < THIRDS {
                [3 * band as u8, 3 * band as u8 + 1]
            } else {
                let behind = 6 * (band - THIRDS) as u8;
                [behind + 2, behind + 5]
            };
            bands[band] = [first, second, first];
            band += 1;
        }
        bands
    };
    if rows == 3 { &OF_THREE } else { &OF_TWO }
}

/// A text's sketch and its set of shingles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    components: Box<[u32; LANES]>,
    set: ShingleSet,
}

impl Sketch {
    /// The keys of a [`Layout::of`] some similarity, ascending. Key i belongs to band i.
    pub fn keys(&self, layout: Layout) -> impl Iterator<Item = u64> + '_ {
        layout.keys(&self.components)
    }

    /// The set of shingles. It is not empty.
    pub fn set(&self) -> &ShingleSet {
        &self.set
    }

    /// The bytes of memory.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.components) + self.set.memory()
    }
}

/// Makes sketches of texts, reusing its buffers from text to text.
pub struct Sketcher(Simhasher);

impl Sketcher {
    /// A sketcher for the shingles of `simhasher`, which has the configuration of a
    /// [`crate::config::recipes::near_recipe`].
    pub fn new(simhasher: Simhasher) -> Self {
        Sketcher(simhasher)
    }

    /// The text's sketch. `None` if it has no token.
    pub fn sketch(&mut self, text: &str, interrupt: &mut dyn FnMut()) -> Option<Sketch> {
        let set = ShingleSet::new(&mut self.0, text, interrupt);
        let components = of_set(&set, &Interrupt::new(interrupt))?;
        Some(Sketch { components: Box::new(components), set })
    }

    /// Replaces `keys` by the keys of the text's sketch. This is faster than making the sketch.
    /// False, and no keys, if the text has no token.
    pub fn keys(
        &mut self,
        text: &str,
        layout: Layout,
        interrupt: &mut dyn FnMut(),
        keys: &mut Vec<u64>,
    ) -> bool {
        keys.clear();
        let mut least = Least::new();
        if self.0.config().weight == Weight::Idf {
            let none = &mut || ();
            let unchecked = Interrupt::new(none);
            each_weight(&mut self.0, text, interrupt, |hash, weight| {
                least.add_weighed(hash, weight, &unchecked);
            });
        } else {
            let interrupt = Interrupt::new(interrupt);
            self.0.each_feature(text, &interrupt, |shingle| {
                least.add(set_hash(shingle.text), &interrupt);
            });
        }
        let components = least.finish();
        keys.extend(components.iter().flat_map(|components| layout.keys(components)));
        components.is_some()
    }
}

/// The components of a set of shingles. `None` if it is empty.
fn of_set(set: &ShingleSet, interrupt: &Interrupt) -> Option<[u32; LANES]> {
    let mut least = Least::new();
    let weighed = set.hashes().iter().zip(set.weights());
    if set.weights().is_empty() {
        set.hashes().iter().for_each(|&hash| least.add(hash, interrupt));
    } else {
        weighed.for_each(|(&hash, &weight)| least.add_weighed(hash, weight, interrupt));
    }
    least.finish()
}

/// Computes the components of shingles, each of which may be added any number of times.
struct Least {
    components: [u32; LANES],
    /// Shingles that are not in the components yet, and one over the weight of each. Either all
    /// shingles of a text have weights, or none has.
    waiting: [u64; BATCH],
    scales: [f32; BATCH],
    is_weighed: bool,
    length: usize,
    some: bool,
}

/// How many shingles are put into a sketch at a time.
const BATCH: usize = 64;

impl Least {
    fn new() -> Self {
        Least {
            components: [u32::MAX; LANES],
            waiting: [0; BATCH],
            scales: [0.0; BATCH],
            is_weighed: false,
            length: 0,
            some: false,
        }
    }

    #[inline]
    fn add(&mut self, hash: u64, interrupt: &Interrupt) {
        self.waiting[self.length] = hash;
        self.length += 1;
        if self.length == BATCH {
            self.take_waiting();
            interrupt.spend(BATCH * size_of::<u64>());
        }
    }

    /// The weight is greater than 0.
    #[inline]
    fn add_weighed(&mut self, hash: u64, weight: u32, interrupt: &Interrupt) {
        self.is_weighed = true;
        self.scales[self.length] = MODEL_UNIT as f32 / weight as f32;
        self.add(hash, interrupt);
    }

    fn take_waiting(&mut self) {
        let (waiting, scales) = (&self.waiting[..self.length], &self.scales[..self.length]);
        if self.is_weighed {
            scattered::add_scaled(waiting, scales, &mut self.components);
        } else {
            scattered::add(waiting, &mut self.components);
        }
        self.some |= self.length > 0;
        self.length = 0;
    }

    fn finish(mut self) -> Option<[u32; LANES]> {
        self.take_waiting();
        self.some.then_some(self.components)
    }
}

/// Whether two texts are near-duplicates: they are candidates by [`Law::of`] the similarity,
/// Jaccard's coefficient of their sets of shingles is at least the similarity, and their numbers
/// agree if the configuration compares them. The result is symmetric. It is false if the similarity
/// has no law.
///
/// Shingles are compared by hashes of 64 bits: see [`ShingleSet`].
pub fn near(a: &Sketch, b: &Sketch, similarity: f64) -> bool {
    Law::of(similarity).is_some_and(|law| law.holds(a, b))
        && a.set.near(&b.set, similarity).is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::Config;
    use crate::base::hash::feature_hash;
    use crate::base::random::SplitMix64;
    use crate::config::recipes::near_recipe;
    use crate::models::train::Trainer;

    fn sketcher() -> Sketcher {
        let config = r#"{"tokenizer": "word"}"#.parse::<Config>().unwrap();
        Sketcher::new(Simhasher::new(config).unwrap())
    }

    fn text(words: &[u16]) -> String {
        words.iter().map(|word| format!("{word} ")).collect()
    }

    /// P[Binomial(trials, p) >= least].
    fn tail(trials: usize, p: f64, least: usize) -> f64 {
        let mut at = (1.0 - p).powi(trials as i32);
        let mut below = 0.0;
        for successes in 0..least {
            below += at;
            at *= (trials - successes) as f64 / (successes + 1) as f64 * p / (1.0 - p);
        }
        1.0 - below
    }

    #[test]
    fn laws_find_what_they_promise_and_are_nested() {
        assert_eq!(LAWS[LAWS.len() - 1].0, LEAST_SIMILARITY);
        for (similarity, law) in LAWS {
            let promised = if similarity >= 0.6 { 0.999 } else { 0.99 };
            let found = tail(law.bands, similarity.powi(law.rows as i32), law.shared);
            println!("{similarity}: {law:?} finds {found:.5}");
            assert!(found >= promised, "{law:?} finds {found} at {similarity}");
            assert!(law.bands <= MOST_BANDS && !law.bands.is_power_of_two());
            assert!(law.rows == 2 || law.rows == 3 && law.bands <= THIRDS);
        }
        assert!(LAWS.windows(2).all(|laws| {
            let [(greater, a), (smaller, b)] = [laws[0], laws[1]];
            greater > smaller && a.bands <= b.bands && a.rows >= b.rows && a.shared >= b.shared
        }));
    }

    #[test]
    fn similarities_have_laws_from_the_least_on() {
        for (similarity, bands) in
            [(0.3, 49), (0.49, 35), (0.5, 35), (0.7, 35), (0.8, 24), (1.0, 14)]
        {
            assert_eq!(Law::of(similarity).unwrap().bands, bands);
            assert_eq!(Layout::of(similarity).unwrap().bands, bands);
        }
        for none in [0.3f64.next_down(), 1f64.next_up(), f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!((Law::of(none), Layout::of(none)), (None, None));
        }
    }

    /// No component is in two bands of a layout, and a band of two rows is part of the band of
    /// three rows.
    #[test]
    fn bands_are_disjoint_and_nested() {
        let [two, three] = [components(2), components(3)];
        for (rows, bands) in [(2, two), (3, three)] {
            let mut all: Vec<u8> = bands.iter().flat_map(|band| &band[..rows]).copied().collect();
            all.sort_unstable();
            all.dedup();
            assert!(
                all.len() == bands.len() * rows && usize::from(all[all.len() - 1]) < COMPONENTS
            );
        }
        assert!(two.iter().zip(three).all(|(two, three)| two[..2] == three[..2]));
    }

    /// Sets of any size obey the binomial law: the share of pairs that are candidates is as it
    /// says.
    #[test]
    fn sets_of_a_few_shingles_obey_the_law() {
        let mut random = SplitMix64::new(7);
        let interrupt = &mut || ();
        let interrupt = Interrupt::new(interrupt);
        let sketch = |hashes: &[u64]| {
            let mut hashes = hashes.to_vec();
            hashes.sort_unstable();
            let set = ShingleSet::from_parts(hashes, [], 0).unwrap();
            let components = Box::new(of_set(&set, &interrupt).unwrap());
            Sketch { components, set: ShingleSet::default() }
        };
        // Sizes of the first set, of the second, and of their intersection.
        for (a, b, common) in [
            (1, 2, 1),
            (2, 3, 2),
            (3, 4, 3),
            (2, 2, 1),
            (3, 3, 2),
            (4, 5, 4),
            (7, 10, 7),
            (9, 10, 9),
            (10, 10, 7),
            (12, 12, 10),
            (20, 20, 10),
            (28, 28, 23),
            (50, 50, 41),
        ] {
            const PAIRS: usize = 4000;
            let j = common as f64 / (a + b - common) as f64;
            let mut counts = [0; LAWS.len()];
            for _ in 0..PAIRS {
                let mut hash = || random.next_u64();
                let all: Vec<u64> = (0..a + b - common).map(|_| hash()).collect();
                let (x, y) = (sketch(&all[..a]), sketch(&all[a - common..]));
                for ((_, law), count) in LAWS.iter().zip(&mut counts) {
                    *count += usize::from(law.holds(&x, &y));
                }
            }
            assert_laws(j, counts, PAIRS);
        }
    }

    /// Checks that each law found as many of the pairs, all `j` similar, as expected.
    fn assert_laws(j: f64, counts: [usize; LAWS.len()], pairs: usize) {
        for ((_, law), count) in LAWS.iter().zip(counts) {
            let p = tail(law.bands, j.powi(law.rows as i32), law.shared);
            let deviation = (p * (1.0 - p) / pairs as f64).sqrt() + 1.0 / pairs as f64;
            let found = count as f64 / pairs as f64;
            assert!((found - p).abs() < 4.5 * deviation, "{law:?} finds {found} at {j}, not {p}");
        }
    }

    /// Weighted sets agree in a component with the probability that is their weighted Jaccard
    /// coefficient, and in bands as the law says.
    #[test]
    fn weighted_sets_obey_the_law() {
        let mut random = SplitMix64::new(13);
        let interrupt = &mut || ();
        let interrupt = Interrupt::new(interrupt);
        // The weights of what is in the first set only, in both, and in the second only.
        let long: Vec<u32> = (0..300).map(|n| 1 << 14 << (n % 9)).collect();
        for [first, both, second] in [
            [&[1 << 18][..], &[1 << 18], &[]],
            [&[1 << 17], &[5 << 18], &[1 << 19]],
            [&[9 << 18], &[1 << 18; 9], &[1, 1, 1]],
            [&[3 << 18, 1 << 16], &[1 << 20, 7 << 17, 1 << 15], &[1 << 18; 4]],
            [&long[..40], &long[..], &long[100..180]],
        ] {
            const PAIRS: usize = 4000;
            let sum = |weights: &[u32]| weights.iter().map(|&w| f64::from(w)).sum::<f64>();
            let j = sum(both) / (sum(first) + sum(both) + sum(second));
            let (mut equal, mut counts) = (0, [0; LAWS.len()]);
            for _ in 0..PAIRS {
                let mut drawn = |weights: &[u32]| -> Vec<(u64, u32)> {
                    weights.iter().map(|&weight| (random.next_u64(), weight)).collect()
                };
                let parts = [first, both, second].map(&mut drawn);
                let set = |a: &[(u64, u32)], b: &[(u64, u32)]| {
                    let mut all = [a, b].concat();
                    all.sort_unstable();
                    let hashes = all.iter().map(|&(hash, _)| hash);
                    ShingleSet::from_parts(hashes, all.iter().map(|&(_, w)| w), 0).unwrap()
                };
                let sets = [set(&parts[0], &parts[1]), set(&parts[1], &parts[2])];
                let found = sets[0].jaccard(&sets[1]).unwrap();
                assert!((found - j).abs() < 1e-12, "{found}, not {j}");
                let [x, y] = sets.map(|set| {
                    let components = Box::new(of_set(&set, &interrupt).unwrap());
                    Sketch { components, set }
                });
                let same = |&place: &usize| x.components[place] == y.components[place];
                equal += (0..COMPONENTS).filter(same).count();
                for ((_, law), count) in LAWS.iter().zip(&mut counts) {
                    *count += usize::from(law.holds(&x, &y));
                }
            }
            let trials = (PAIRS * COMPONENTS) as f64;
            let share = equal as f64 / trials;
            let deviation = (j * (1.0 - j) / trials).sqrt();
            assert!((share - j).abs() < 4.5 * deviation, "{share} of components agree, not {j}");
            assert_laws(j, counts, PAIRS);
        }
    }

    /// `tests/golden.py` computes the same keys independently.
    #[test]
    fn weighted_keys_are_those_of_another_implementation() {
        let mut shingles: Vec<(u64, u32)> = (0..40u32)
            .map(|i| (set_hash(&format!("shingle {i}")), (i * i % 17 + 1) << 14))
            .collect();
        shingles.sort_unstable();
        let hashes = shingles.iter().map(|&(hash, _)| hash);
        let weights = shingles.iter().map(|&(_, weight)| weight);
        let set = ShingleSet::from_parts(hashes, weights, 0).unwrap();
        let components = Box::new(of_set(&set, &Interrupt::new(&mut || ())).unwrap());
        let sketch = Sketch { components, set };
        let keys = sketch.keys(Layout::of(0.5).unwrap());
        let digits: String = keys.map(|key| format!("{:010x}", key >> 24)).collect();
        assert_eq!(format!("{:016x}", feature_hash::<u64>(digits.as_bytes())), "19c553ff5ae2ec1f");
    }

    #[test]
    fn rare_words_decide() {
        let plain: Config = r#"{"tokenizer": "word"}"#.parse().unwrap();
        let mut trainer = Trainer::new(&plain).unwrap();
        // Words in all ten texts have an idf below 0. Sets omit them, except that of a text without
        // others.
        for i in 0..10 {
            trainer.add(&format!("all of these say item{i}"), &mut || ()).unwrap();
        }
        let model = Arc::new(trainer.finish(None, &mut || ()));
        let config = r#"{"tokenizer": "word", "shingle": 1, "weight": "idf", "model": "m"}"#;
        let config = near_recipe(&config.parse().unwrap());
        let mut sketcher = Sketcher::new(Simhasher::with_model(config, model).unwrap());
        let mut sketch = |text: &str| sketcher.sketch(text, &mut || ());
        let [one, same, other] = ["all of these say item1", "item1", "all of these say item2"]
            .map(|t| sketch(t).unwrap());
        assert_eq!(one, same);
        let [common, copy, less] =
            ["all of these say", "say all of these", "these"].map(|t| sketch(t).unwrap());
        assert_eq!(common, copy);
        assert_eq!(common.set().jaccard(less.set()), Some(0.25));
        assert_eq!(common.set().jaccard(one.set()), Some(0.0));
        assert_eq!(sketch("..."), None);
        assert!(near(&one, &same, 1.0) && !near(&one, &other, LEAST_SIMILARITY));
        let layout = Layout::of(DEFAULT_SIMILARITY).unwrap();
        let mut keys = Vec::new();
        assert!(sketcher.keys("say item1 of all", layout, &mut || (), &mut keys));
        assert!(one.keys(layout).eq(keys.iter().copied()));
        assert!(sketcher.keys("these say all of", layout, &mut || (), &mut keys));
        assert!(common.keys(layout).eq(keys.iter().copied()));
        assert!(!sketcher.keys("...", layout, &mut || (), &mut keys) && keys.is_empty());
    }

    proptest! {
        #[test]
        fn near_is_nested_symmetric_and_of_the_sets(
            mut a in prop::collection::vec(0u16..40, 1..30),
            b in prop::collection::vec(0u16..40, 1..30),
            keep in 0usize..30,
        ) {
            let b = [&a[..keep.min(a.len())], &b].concat();
            let mut sketcher = sketcher();
            let mut sketch = |words: &[u16]| sketcher.sketch(&text(words), &mut || ()).unwrap();
            let (x, y) = (sketch(&a), sketch(&b));
            let jaccard = x.set().jaccard(y.set()).unwrap();
            let mut smaller = true;
            for similarity in (30..=100).map(|percent| f64::from(percent) / 100.0) {
                let is_near = near(&x, &y, similarity);
                prop_assert_eq!(is_near, near(&y, &x, similarity));
                prop_assert!(smaller || !is_near, "near at {} and not at less", similarity);
                prop_assert!(!is_near || jaccard >= similarity);
                prop_assert!(near(&x, &x, similarity));
                smaller = is_near;
            }
            a.reverse();
            a.extend_from_within(..);
            prop_assert_eq!(sketch(&a), x);
        }

        /// An index finds near texts by the keys that it has, at every similarity from its own on.
        #[test]
        fn keys_of_every_layout_serve_greater_similarities(
            a in prop::collection::vec(0u16..1000, 1..30),
            b in prop::collection::vec(0u16..1000, 0..8),
            keep in 1usize..30,
        ) {
            let b = [&a[..keep.min(a.len())], &b].concat();
            let mut sketcher = sketcher();
            let (x, y) = (text(&a), text(&b));
            let [sx, sy] = [&x, &y].map(|text| sketcher.sketch(text, &mut || ()).unwrap());
            for (made_for, _) in LAWS {
                let layout = Layout::of(made_for).unwrap();
                let [kx, ky] = [&x, &y].map(|text| {
                    let mut keys = vec![1];
                    assert!(sketcher.keys(text, layout, &mut || (), &mut keys));
                    keys
                });
                prop_assert!(sx.keys(layout).eq(kx.iter().copied()));
                prop_assert_eq!(kx.len(), layout.bands);
                prop_assert!(kx.is_sorted_by(|a, b| a < b) && kx[kx.len() - 1] < NO_KEY);
                prop_assert!(kx.iter().all(|key| key.trailing_zeros() >= 64 - KEY_BITS));
                for (asked, law) in LAWS.into_iter().filter(|&(asked, _)| asked >= made_for) {
                    let equal = (0..law.bands).filter(|&band| kx[band] == ky[band]).count();
                    prop_assert!(
                        equal >= law.shared || !law.holds(&sx, &sy),
                        "made for {}, asked for {}", made_for, asked
                    );
                    // Keys of fewer rows are less strict.
                    if law.rows == layout.rows {
                        prop_assert_eq!(law.holds(&sx, &sy), equal >= law.shared);
                    }
                }
            }
        }
    }

    #[test]
    fn texts_without_a_token_have_no_sketch() {
        let mut keys = vec![1, 2];
        let layout = Layout::of(DEFAULT_SIMILARITY).unwrap();
        assert_eq!(sketcher().sketch(" - ", &mut || ()), None);
        assert!(!sketcher().keys("", layout, &mut || (), &mut keys) && keys.is_empty());
    }

    #[test]
    fn a_long_text_is_interrupted() {
        let words: Vec<u16> = (0..40_000).collect();
        let mut checks = 0;
        sketcher().sketch(&text(&words), &mut || checks += 1).unwrap();
        let layout = Layout::of(0.5).unwrap();
        sketcher().keys(&text(&words), layout, &mut || checks += 1, &mut Vec::new());
        assert!(checks > 60, "{checks} checks");
    }
}
