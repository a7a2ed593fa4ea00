//! Tests against the definitions, by comparing every text with every other.

use std::collections::{HashMap, HashSet};

use super::blocks::Blocks;
use super::*;
use crate::Config;
use crate::base::random::SplitMix64;
use crate::sets::shingles::ShingleSet;
use crate::sets::sketch::{Layout, Sketch, Sketcher, near};
use crate::sketches::simhash::Simhasher;

/// Rows of texts, by their places. The text of a missing row is `None`.
struct Texts {
    texts: Vec<Option<String>>,
    scopes: Vec<u8>,
    /// Of missing rows, too, as an index has them.
    sketches: Vec<Option<Sketch>>,
    sketcher: Sketcher,
    layout: Layout,
    bands: usize,
    /// How many sets were made, and how many texts were hashed.
    cut: usize,
    hashed: usize,
    wanted: HashMap<u32, Vec<(u32, u32)>>,
    round: u32,
}

fn simhasher() -> Simhasher {
    Simhasher::new(Config::parse(r#"{"tokenizer": "word", "shingle": 2}"#).unwrap()).unwrap()
}

impl Texts {
    fn new(texts: Vec<String>, gone: &[usize], scopes: Vec<u8>, layout: f64, law: f64) -> Self {
        let layout = Layout::of(layout).unwrap();
        let mut sketcher = Sketcher::new(simhasher());
        let sketches = texts.iter().map(|text| sketcher.sketch(text, &mut || ())).collect();
        let mut texts: Vec<Option<String>> = texts.into_iter().map(Some).collect();
        gone.iter().for_each(|&place| texts[place] = None);
        let bands = crate::sets::sketch::Law::of(law).unwrap().bands;
        Self {
            texts,
            scopes,
            sketches,
            sketcher,
            layout,
            bands,
            cut: 0,
            hashed: 0,
            wanted: HashMap::new(),
            round: 0,
        }
    }

    fn len(&self) -> u32 {
        self.texts.len() as u32
    }

    fn law(&self, similarity: f64) -> Law {
        Law::new(similarity, self.layout).unwrap()
    }

    /// The similarity of two rows, if they are near-duplicates.
    fn near(&self, a: u32, b: u32, similarity: f64) -> Option<f64> {
        let (a, b) = (a as usize, b as usize);
        if self.scopes[a] != self.scopes[b] || self.texts[a].is_none() || self.texts[b].is_none() {
            return None;
        }
        let (a, b) = (self.sketches[a].as_ref()?, self.sketches[b].as_ref()?);
        near(a, b, similarity).then(|| a.set().jaccard(b.set()).unwrap())
    }
}

impl Rows for Texts {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        let mut keys: HashMap<(u8, u64), Vec<u32>> = HashMap::new();
        for (place, sketch) in self.sketches.iter().enumerate() {
            let Some(sketch) = sketch else { continue };
            for key in sketch.keys(self.layout) {
                if self.layout.band(key) < self.bands {
                    keys.entry((self.scopes[place], key)).or_default().push(place as u32);
                }
            }
        }
        for mut rows in keys.into_values() {
            rows.reverse();
            if !each(&mut rows) {
                return;
            }
        }
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        self.hashed += 1;
        let text = self.texts[place as usize].as_ref()?;
        Some(xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        self.cut += 1;
        let text = self.texts[place as usize].as_ref()?;
        self.sketcher.sketch(text, &mut || ()).map(|sketch| sketch.set().clone())
    }

    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32 {
        self.round += 1;
        self.wanted.insert(self.round, wanted);
        assert!(self.wanted.len() <= 2, "rounds are taken to their ends");
        self.round
    }

    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)> {
        // In another order than requested, as if workers had made them.
        let wanted = self.wanted.get_mut(&round)?;
        let at = wanted.len() / 2;
        if wanted.is_empty() {
            self.wanted.remove(&round);
            return None;
        }
        let (row, place) = wanted.swap_remove(at);
        Some((row, self.set(place)))
    }

    fn want_no_more(&mut self, round: u32) {
        self.wanted.remove(&round);
    }

    fn address(&self, place: u32) -> u64 {
        u64::from(place).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn check(&mut self) {}
}

/// Texts that are near each other in families, in chains, as copies, and as different texts of
/// equal sets; and some of other kinds.
fn texts(random: &mut SplitMix64, count: usize) -> Vec<String> {
    let mut texts: Vec<String> = vec![String::new(), "...".into()];
    while texts.len() < count {
        let text = match random.below(8) {
            0 => {
                let of = random.below(texts.len() as u64) as usize;
                texts[of].clone()
            }
            1 => {
                let of = random.below(texts.len() as u64) as usize;
                texts[of].to_uppercase()
            }
            2..=5 if texts.len() > 4 => {
                let of = random.below(texts.len() as u64) as usize;
                let words: Vec<String> = texts[of]
                    .split(' ')
                    .map(|word| match random.below(14) {
                        0 => random.below(1000).to_string(),
                        _ => word.to_owned(),
                    })
                    .collect();
                words.join(" ")
            }
            _ => {
                let start = random.below(40);
                let words = 3 + random.below(25);
                (0..words).map(|word| (start + word).to_string()).collect::<Vec<_>>().join(" ")
            }
        };
        texts.push(text);
    }
    texts
}

fn case(seed: u64, count: usize, layout: f64, law: f64) -> Texts {
    let mut random = SplitMix64::new(seed);
    let texts = texts(&mut random, count);
    let gone: Vec<usize> = (0..count).filter(|_| random.below(20) == 0).collect();
    let scopes =
        (0..count).map(|_| u8::from(seed.is_multiple_of(3) && random.below(2) == 1)).collect();
    Texts::new(texts, &gone, scopes, layout, law)
}

/// The similarity that an index is made for, and that of the law.
const LAWS: [(f64, f64); 8] = [
    (0.5, 0.5),
    (0.5, 0.6),
    (0.5, 0.7),
    (0.5, 0.8),
    (0.5, 0.9),
    (0.3, 0.4),
    (0.3, 0.7),
    (0.8, 0.8),
];
/// Bytes of memory: with the least, places are divided into blocks.
const MEMORY: [usize; 3] = [1 << 26, 60_000, 9_000];

fn cases(mut each: impl FnMut(&mut Texts, f64, usize)) {
    for (seed, (layout, law)) in (0..24).zip(LAWS.into_iter().cycle()) {
        for memory in MEMORY {
            let mut rows = case(seed, 150, layout, law);
            each(&mut rows, law, memory);
        }
    }
}

/// The cover by definition: for each row, the one that represents it.
fn expected_cover(rows: &Texts, similarity: f64, split: Option<u32>) -> Vec<Option<(u32, f64)>> {
    let mut kept: Vec<u32> = (0..split.unwrap_or(0)).collect();
    let mut result = vec![None; kept.len()];
    for place in split.unwrap_or(0)..rows.len() {
        let near = kept.iter().filter_map(|&k| Some((k, rows.near(place, k, similarity)?)));
        let best = near.reduce(|best, other| if other.1 > best.1 { other } else { best });
        if best.is_none() && split.is_none() {
            kept.push(place);
        }
        result.push(best);
    }
    result
}

#[test]
fn a_cover_is_what_its_definition_says() {
    let mut dropped = 0;
    cases(|rows, similarity, memory| {
        for split in [None, Some(40), Some(0), Some(rows.len())] {
            let expected = expected_cover(rows, similarity, split);
            let (places, law) = (rows.len(), rows.law(similarity));
            let found = cover(rows, places, split, law, memory).unwrap();
            let found: Vec<_> = (0..places).map(|place| found.kept(place)).collect();
            dropped += found.iter().flatten().count();
            assert_eq!(found, expected, "{similarity}, {split:?}, {memory}");
        }
    });
    assert!(dropped > 1000, "{dropped}");
}

#[test]
fn pairs_are_all_pairs_and_each_once() {
    let mut count = 0;
    cases(|rows, similarity, memory| {
        for split in [None, Some(70)] {
            let mut expected = HashMap::new();
            for b in 0..rows.len() {
                for a in 0..b {
                    let across = split.is_none_or(|split| a < split && b >= split);
                    if let Some(similarity) = rows.near(a, b, similarity).filter(|_| across) {
                        expected.insert((a, b), similarity);
                    }
                }
            }
            let mut pairs = Pairs::new(rows.len(), split, rows.law(similarity), memory);
            let (mut batch, mut found) = (Vec::new(), HashMap::new());
            while pairs.next_batch(rows, &mut batch).unwrap() {
                for same in &batch {
                    for a in pairs.places(same.first) {
                        for b in pairs.places(same.second) {
                            if same.first == same.second && a >= b {
                                continue;
                            }
                            let pair = (a.min(b), a.max(b));
                            assert_eq!(found.insert(pair, same.similarity), None);
                        }
                    }
                }
            }
            count += found.len();
            assert_eq!(found, expected, "{similarity}, {split:?}, {memory}");
        }
    });
    assert!(count > 1000, "{count}");
}

#[test]
fn chains_are_connected_components() {
    let mut count = 0;
    cases(|rows, similarity, memory| {
        let mut component: Vec<u32> = (0..rows.len()).collect();
        for b in 0..rows.len() {
            for a in 0..b {
                if rows.near(a, b, similarity).is_some() {
                    let (x, y) = (component[a as usize], component[b as usize]);
                    let (x, y) = (x.min(y), x.max(y));
                    component.iter_mut().filter(|c| **c == y).for_each(|c| *c = x);
                }
            }
        }
        let mut expected: HashMap<u32, HashSet<u32>> = HashMap::new();
        for (place, &first) in (0..).zip(&component) {
            expected.entry(first).or_default().insert(place);
        }
        expected.retain(|_, members| members.len() > 1);
        let (places, law) = (rows.len(), rows.law(similarity));
        let mut clusters = chain(rows, places, law, memory).unwrap();
        let mut found = HashMap::new();
        while let Some(cluster) = clusters.next(rows) {
            let first = cluster[0].place;
            for member in &cluster {
                let sketch = |place: u32| rows.sketches[place as usize].as_ref().unwrap().set();
                let similarity = sketch(first).jaccard(sketch(member.place)).unwrap();
                assert_eq!(member.similarity, similarity);
            }
            count += cluster.len();
            found.insert(first, cluster.iter().map(|member| member.place).collect());
        }
        assert_eq!(found, expected, "{similarity}, {memory}");
    });
    assert!(count > 1000, "{count}");
}

#[test]
fn stars_are_those_of_the_cover() {
    cases(|rows, similarity, memory| {
        let expected = expected_cover(rows, similarity, None);
        let (places, law) = (rows.len(), rows.law(similarity));
        let mut clusters = star(cover(rows, places, None, law, memory).unwrap(), places);
        let mut found = vec![None; places as usize];
        while let Some(cluster) = clusters.next(rows) {
            assert!(cluster.len() > 1);
            assert_eq!(cluster[0].similarity, 1.0);
            for member in &cluster[1..] {
                found[member.place as usize] = Some((cluster[0].place, member.similarity));
            }
        }
        assert_eq!(found, expected);
    });
}

#[test]
fn copies_are_cut_once() {
    let copies = vec!["one and the same text of some eight words".to_owned(); 3000];
    let mut rows = Texts::new(copies, &[], vec![0; 3000], 0.5, 0.7);
    let law = rows.law(0.7);
    let found = cover(&mut rows, 3000, None, law, 1 << 26).unwrap();
    assert!((1..3000).all(|place| found.kept(place) == Some((0, 1.0))));
    assert!(rows.cut <= 2 && rows.hashed <= 3000, "{} {}", rows.cut, rows.hashed);
    let mut pairs = Pairs::new(3000, None, law, 1 << 26);
    let mut batch = Vec::new();
    assert!(pairs.next_batch(&mut rows, &mut batch).unwrap());
    assert_eq!(batch, [Same { first: 0, second: 0, similarity: 1.0 }]);
    assert!(!pairs.next_batch(&mut rows, &mut batch).unwrap());
}

#[test]
fn too_little_memory_is_said() {
    let mut rows = case(1, 150, 0.5, 0.5);
    let law = rows.law(0.5);
    assert!(cover(&mut rows, 150, None, law, 100).is_err());
}

#[test]
fn blocks_meet_once_and_say_how_much_is_done() {
    let mut random = SplitMix64::new(53);
    for (places, split) in [(2, None), (50, None), (50, Some(20)), (50, Some(1)), (50, Some(49))] {
        let degrees: Vec<u32> = (0..places).map(|_| random.below(9) as u32).collect();
        let mut blocks = Blocks::divided(degrees.iter().copied(), split, 20 * 12 * 2);
        let (mut met, mut share) = (HashMap::new(), 0.0);
        while let Some(meeting) = blocks.next_meeting() {
            let keys = |place: u32| degrees[place as usize];
            let sizes = [&meeting.first, &meeting.second].map(|x| x.clone().map(keys).sum::<u32>());
            assert!(sizes.iter().all(|&size| size <= 20));
            assert!((blocks.share(0.0) - share).abs() < 1e-9);
            share = blocks.share(1.0);
            for a in meeting.first.clone() {
                for b in meeting.second.clone().filter(|&b| b > a) {
                    *met.entry((a, b)).or_insert(0) += 1;
                }
            }
        }
        assert!((share - 1.0).abs() < 1e-9);
        let all = (0..places).flat_map(|b| (0..b).map(move |a| (a, b)));
        let all = all.filter(|&(a, b)| split.is_none_or(|split| a < split && b >= split));
        assert_eq!(met, all.map(|pair| (pair, 1)).collect());
    }
}

#[test]
fn blocks_are_divided_once() {
    for (places, split) in [(1000, None), (1000, Some(300))] {
        let mut blocks = Blocks::of_all(places, split);
        let whole = blocks.next_meeting().unwrap();
        assert_eq!((whole.first.start, whole.second.end), (0, places));
        blocks.divide(35, 35 * 12 * 2 * 70).unwrap();
        let first = blocks.next_meeting().unwrap();
        assert_eq!(first.first, 0..70);
        assert_eq!(blocks.divide(35, 35 * 12 * 2 * 70), Err(Full));
        assert_eq!(blocks.divide(35, 1), Ok(()));
        assert_eq!(blocks.divide(35, 1), Err(Full));
    }
    for split in [Some(0), Some(9)] {
        assert_eq!(Blocks::of_all(9, split).next_meeting(), None);
    }
    assert_eq!(Blocks::of_all(0, None).next_meeting(), None);
}
