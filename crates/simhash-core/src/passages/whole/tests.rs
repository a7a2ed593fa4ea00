//! Tests against the definitions, by comparing every pair of texts, window by window.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::compare::Common;
use super::*;
use crate::base::random::SplitMix64;
use crate::passages::{Window, Winnower, kept, share};
use crate::sketches::simhash::Simhasher;

/// Rows of texts, by their places.
struct Sample {
    texts: Vec<String>,
    /// Rows that no longer exist, although keys refer to them.
    gone: HashSet<u32>,
    keys: Vec<(u32, Vec<u32>)>,
    simhasher: Simhasher,
    walks: usize,
    hashed: usize,
    cut: usize,
    /// The number of texts announced together, and the places announced last.
    together: usize,
    expected: HashSet<u32>,
    /// The number of texts that were read without being announced.
    surprises: usize,
}

fn simhasher() -> Simhasher {
    Simhasher::new(r#"{"tokenizer": "word"}"#.parse().unwrap()).unwrap()
}

impl Sample {
    /// Makes the keys for passages of `words` tokens.
    fn new(texts: Vec<String>, words: usize) -> Self {
        let mut simhasher = simhasher();
        let mut winnower = Winnower::new(Window::of(words).unwrap());
        let mut keys: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut of_text: HashMap<&str, Vec<u32>> = HashMap::new();
        for (place, text) in (0..).zip(&texts) {
            let hashes = of_text.entry(text).or_insert_with(|| {
                let kept = kept(&mut simhasher, &mut winnower, text, &mut || ());
                let mut keys: Vec<u32> = kept.iter().map(|kept| kept.hash as u32).collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            });
            hashes.iter().for_each(|&key| keys.entry(key).or_default().push(place));
        }
        let mut keys: Vec<(u32, Vec<u32>)> = keys.into_iter().collect();
        keys.sort_unstable();
        let (gone, expected) = Default::default();
        let (walks, hashed, cut, surprises) = Default::default();
        let together = 1;
        Self { texts, gone, keys, simhasher, walks, hashed, cut, together, expected, surprises }
    }

    fn len(&self) -> u32 {
        self.texts.len() as u32
    }

    fn tokens(&self, place: u32) -> Vec<&str> {
        self.texts[place as usize].split_whitespace().collect()
    }

    /// The number of different texts that have a key.
    fn texts_of(&self, key: &[u32]) -> usize {
        key.iter().map(|&place| &self.texts[place as usize]).collect::<HashSet<_>>().len()
    }

    /// The memory that holds the keys of any two rows.
    fn least_memory(&self) -> usize {
        let shared = self.keys.iter().filter(|(_, rows)| rows.len() > 1);
        let mut degrees = vec![0; self.texts.len()];
        shared.flat_map(|(_, rows)| rows).for_each(|&place| degrees[place as usize] += 1);
        2 * (2 * 12 * degrees.iter().max().unwrap_or(&0) + 4)
    }

    fn all(&mut self, mut pairs: Pairs) -> (Vec<Found>, LeftOut) {
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while pairs.next_batch(self, &mut batch).unwrap() {
            assert!((1..=BATCH).contains(&batch.len()));
            all.extend_from_slice(&batch);
        }
        assert!(batch.is_empty() && !pairs.next_batch(self, &mut batch).unwrap());
        (all, pairs.left_out())
    }
}

impl Rows for Sample {
    fn each_key(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool) {
        self.walks += 1;
        for (key, rows) in self.keys.iter().filter(|(_, rows)| rows.len() > 1) {
            let mut rows: Vec<u32> = rows.iter().rev().copied().collect();
            let middle = rows.len() / 2;
            rows.rotate_left(middle);
            if !each(*key, &mut rows) {
                return;
            }
        }
    }

    fn together(&self) -> usize {
        self.together
    }

    fn expect_digests(&mut self, places: &[u32]) {
        assert!(places.len() <= self.together);
        self.expected = places.iter().copied().collect();
    }

    fn expect_tokens(&mut self, places: &[u32]) {
        assert!(self.together > 1);
        self.expected = places.iter().copied().collect();
        assert_eq!(self.expected.len(), places.len());
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        self.hashed += 1;
        assert!(self.expected.remove(&place));
        let text = &self.texts[place as usize];
        (!self.gone.contains(&place)).then(|| xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
    }

    fn each_token(&mut self, place: u32, sink: &mut dyn FnMut(&str)) -> bool {
        self.cut += 1;
        self.surprises += usize::from(!self.expected.remove(&place) && self.together > 1);
        if self.gone.contains(&place) {
            return false;
        }
        self.simhasher.for_each_token(&self.texts[place as usize], &mut || (), sink);
        true
    }

    fn address(&self, place: u32) -> u64 {
        u64::from(place ^ 1)
    }

    fn check(&mut self) {}
}

/// For each token of `a`, whether it is in a run of `words` tokens that `b` has as well.
fn covered<T: Hash + Eq>(a: &[T], b: &[T], words: usize) -> Vec<bool> {
    let runs: HashSet<&[T]> = b.windows(words).collect();
    let mut covered = vec![false; a.len()];
    for (start, run) in a.windows(words).enumerate() {
        if runs.contains(run) {
            covered[start..start + words].fill(true);
        }
    }
    covered
}

fn count(covered: &[bool]) -> u32 {
    covered.iter().filter(|is| **is).count() as u32
}

fn stretches(covered: &[bool]) -> u32 {
    covered.chunk_by(|a, b| a == b).filter(|stretch| stretch[0]).count() as u32
}

fn common<T: Hash + Eq>(a: &[T], b: &[T], words: usize) -> Option<Common> {
    let [of_a, of_b] = [covered(a, b, words), covered(b, a, words)];
    let (tokens, of_text) = (count(&of_a), count(&of_b));
    (tokens > 0).then(|| Common { passages: stretches(&of_a), tokens, of_text })
}

/// All pairs, and the number of left out keys.
fn expected(
    rows: &Sample,
    split: Option<u32>,
    words: usize,
    most: Option<usize>,
    with_copies: bool,
) -> (Vec<Found>, u64) {
    let is_each = split.is_some() || with_copies;
    let most = most.unwrap_or(usize::MAX);
    let across = |a, b| split.is_none_or(|split| a < split && b >= split);
    let (mut proposed, mut left_out) = (HashSet::new(), 0);
    for (_, key) in &rows.keys {
        let pairs = key.iter().flat_map(|&a| key.iter().map(move |&b| (a, b)));
        let mut pairs = pairs.filter(|&(a, b)| a < b && across(a, b)).peekable();
        if rows.texts_of(key) <= most {
            proposed.extend(pairs);
        } else {
            left_out += u64::from(pairs.peek().is_some());
        }
    }
    let first = |place: u32| {
        let text = &rows.texts[place as usize];
        (0..).zip(&rows.texts).find(|(x, y)| y == &text && !rows.gone.contains(x)).map(|x| x.0)
    };
    let mut found = Vec::new();
    for (a, b) in proposed {
        let [of_a, of_b] = [a, b].map(|place| rows.tokens(place));
        let is_copy = !is_each && first(b) != Some(b) && first(b) != Some(a);
        let is_of_copy = !is_each && first(a) != Some(a);
        if rows.gone.contains(&a) || rows.gone.contains(&b) || is_copy || is_of_copy {
            continue;
        }
        let Some(common) = common(&of_a, &of_b, words) else { continue };
        let share_a = f64::from(common.tokens) / of_a.len() as f64;
        let share_b = f64::from(common.of_text) / of_b.len() as f64;
        let (passages, words) = (common.passages, common.tokens);
        found.push(Found { a, b, passages, words, share_a, share_b });
    }
    (found, left_out)
}

/// Random texts of few words, partly made of passages of earlier ones, and copies.
fn texts(random: &mut SplitMix64, count: usize, kinds: u64, longest: u64) -> Vec<String> {
    let mut all: Vec<Vec<u64>> = Vec::new();
    for _ in 0..count {
        let mut text: Vec<u64> = Vec::new();
        let other = (!all.is_empty()).then(|| all[random.below(all.len() as u64) as usize].clone());
        match (random.below(4), other) {
            (0, Some(other)) if random.below(2) == 0 => text = other,
            (1, _) => {
                let period: Vec<u64> = (0..=random.below(3)).map(|_| random.below(kinds)).collect();
                let length = random.below(longest) as usize;
                text.extend(period.iter().cycle().take(length));
            }
            (_, Some(other)) => {
                for _ in 0..=random.below(3) {
                    text.extend((0..random.below(longest / 4)).map(|_| random.below(kinds)));
                    let start = random.below(other.len() as u64 + 1) as usize;
                    let end = other.len().min(start + random.below(longest / 2) as usize);
                    text.extend_from_slice(&other[start..end]);
                }
            }
            _ => text.extend((0..random.below(longest)).map(|_| random.below(kinds))),
        }
        all.push(text);
    }
    let letter = |number: u64| char::from(b'a' + (number % 26) as u8);
    let word = |number: u64| format!("{}{} ", letter(number / 26), letter(number));
    let written = |text: &Vec<u64>| text.iter().map(|&number| word(number)).collect();
    all.iter().map(written).collect()
}

fn sorted(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
    found
}

fn assert_same(found: Vec<Found>, expected: Vec<Found>, case: &str) {
    let [found, expected] = [found, expected].map(sorted);
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{case}");
    }
    assert_eq!(found.len(), expected.len(), "{case}");
}

/// Checks that pairs of texts, expanded to their copies, are all pairs of rows.
fn check_copies(
    rows: &mut Sample,
    split: Option<u32>,
    words: usize,
    most: Option<usize>,
    memory: usize,
) {
    let (pairs, _) = expected(rows, split, words, most, true);
    let mut of_texts = Pairs::new(rows.len(), split, words, most, memory).of_texts();
    let (mut found, mut batch) = (Vec::new(), Vec::new());
    while of_texts.next_batch(rows, &mut batch).unwrap() {
        for pair in &batch {
            let [a, b] = [pair.a, pair.b].map(|place| of_texts.copies(place));
            assert_eq!([a[0], b[0]], [pair.a, pair.b]);
            let each = a.iter().flat_map(|&a| b.iter().map(move |&b| (a.min(b), a.max(b))));
            let own = |&(a, b): &(u32, u32)| a != b;
            let mut each: Vec<_> = each.filter(own).collect();
            each.sort_unstable();
            each.dedup();
            found.extend(each);
        }
    }
    let mut expected: Vec<_> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "of texts {split:?} {words} {most:?} {memory}");
}

fn check(rows: &mut Sample, split: Option<u32>, words: usize, most: Option<usize>, memory: usize) {
    let (pairs, left_out) = expected(rows, split, words, most, false);
    let of_all = Pairs::new(rows.len(), split, words, most, memory);
    rows.surprises = 0;
    let (found, of_found) = rows.all(of_all);
    assert_same(found, pairs, &format!("{split:?} {words} {most:?} {memory}"));
    // Once texts are discarded, one may be read again that was in memory when others were
    // announced.
    assert!(rows.surprises == 0 || memory < 1 << 24);
    assert_eq!(of_found.keys, left_out);
    assert_eq!(of_found.most_frequent.is_some(), left_out > 0);
    let Some(frequent) = of_found.most_frequent else { return };
    let key = rows.keys.iter().find(|(key, _)| *key == frequent.key).unwrap();
    assert_eq!(frequent.texts, rows.texts_of(&key.1));
    assert_eq!(Some(&frequent.place), key.1.iter().min());
    assert!(split.is_some() || rows.keys.iter().all(|x| rows.texts_of(&x.1) <= frequent.texts));
}

#[test]
fn pairs_are_those_of_brute_force() {
    let mut random = SplitMix64::new(48);
    let mut walks = [0; 2];
    for case in 0..60 {
        let (kinds, longest) = [(2, 40), (4, 100), (30, 120), (400, 200)][case % 4];
        let texts = texts(&mut random, 40, kinds, longest);
        let of_index = [5, 8][case / 4 % 2];
        let mut rows = Sample::new(texts, of_index);
        rows.together = [1, 7, 1000][case % 3];
        for split in [None, Some(random.below(42) as u32)] {
            for words in [of_index, of_index + 1, 3 * of_index] {
                check(&mut rows, split, words, None, 1 << 24);
                check(&mut rows, split, words, Some(random.below(6) as usize), 1 << 24);
                rows.walks = 0;
                let memory = rows.least_memory();
                check(&mut rows, split, words, Some(4), memory);
                check_copies(&mut rows, split, words, Some(4), memory);
                check_copies(&mut rows, split, words, None, 1 << 24);
                walks[usize::from(rows.walks > 2)] += 1;
            }
        }
    }
    assert!(walks[1] > 50, "memory is full too rarely: {walks:?}");
}

#[test]
fn rows_that_are_gone_are_in_no_pair() {
    let mut random = SplitMix64::new(49);
    for _ in 0..20 {
        let mut rows = Sample::new(texts(&mut random, 40, 20, 80), 5);
        rows.gone = (0..10).map(|_| random.below(40) as u32).collect();
        check(&mut rows, None, 5, None, 1 << 24);
        check(&mut rows, Some(20), 5, None, 1 << 24);
    }
}

#[test]
fn shares_are_those_of_two_texts() {
    let mut random = SplitMix64::new(50);
    let mut rows = Sample::new(texts(&mut random, 60, 50, 300), 5);
    let pairs = Pairs::new(60, None, 9, None, 1 << 24);
    let (found, _) = rows.all(pairs);
    assert!(found.len() > 100, "{}", found.len());
    let mut simhasher = simhasher();
    for pair in found {
        let [a, b] = [pair.a, pair.b].map(|place| rows.texts[place as usize].as_str());
        assert_eq!(pair.share_a, share(&mut simhasher, [a, b], 9, &mut || ()));
        assert_eq!(pair.share_b, share(&mut simhasher, [b, a], 9, &mut || ()));
    }
}

#[test]
fn texts_are_thrown_away_when_memory_is_full() {
    let mut random = SplitMix64::new(51);
    let mut rows = Sample::new(texts(&mut random, 30, 600, 4000), 10);
    for together in [1, 50] {
        (rows.cut, rows.together) = (0, together);
        check(&mut rows, None, 10, None, 1 << 26);
        assert!(rows.cut <= 30, "{}", rows.cut);
        rows.cut = 0;
        check(&mut rows, None, 10, None, 60_000);
        assert!(rows.cut > 60, "{}", rows.cut);
    }
}

#[test]
fn hashes_that_are_equal_decide_nothing() {
    let mut random = SplitMix64::new(52);
    let mut check = || ();
    let interrupt = &Interrupt::new(&mut check);
    let mut found = 0;
    for case in 0..3000 {
        let kinds = 2 + random.below(4);
        let words = 1 + random.below(9) as usize;
        let mut text = |longest: u64| -> Vec<u32> {
            let period = 1 + random.below(9);
            let period: Vec<u32> = (0..period).map(|_| random.below(kinds) as u32).collect();
            let mut text: Vec<u32> =
                period.iter().cycle().take(random.below(longest) as usize).copied().collect();
            text.extend((0..random.below(longest)).map(|_| random.below(kinds) as u32));
            text
        };
        let a = text(40);
        if a.len() < words {
            continue;
        }
        // With the base 1, all permutations of the same tokens have the same hash.
        let base = [1, 0x1234_5678_9abc_def0][case % 2];
        let mut table = Table::new(&a, words, base, interrupt);
        for _ in 0..4 {
            let b = text(40);
            let expected = common(&b, &a, words);
            assert_eq!(table.compare(&b, &a, interrupt), expected, "{words} {a:?} {b:?}");
            found += usize::from(expected.is_some());
        }
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn too_little_memory_is_said() {
    let mut random = SplitMix64::new(54);
    let mut rows = Sample::new(texts(&mut random, 40, 30, 120), 5);
    let mut pairs = Pairs::new(40, None, 5, None, 100);
    let mut batch = Vec::new();
    while pairs.next_batch(&mut rows, &mut batch) == Ok(true) {}
    assert_eq!(pairs.next_batch(&mut rows, &mut batch), Err(Full));
}

#[test]
fn copies_are_cut_once() {
    let copies = vec!["one and the same text of some eight words".to_owned(); 5000];
    let mut rows = Sample::new(copies, 5);
    let (found, _) = rows.all(Pairs::new(5000, None, 5, Some(1), 1 << 24));
    let pair = Found { a: 0, b: 0, passages: 1, words: 9, share_a: 1.0, share_b: 1.0 };
    let expected: Vec<Found> = (1..5000).map(|b| Found { b, ..pair }).collect();
    assert_same(found, expected, "");
    assert_eq!((rows.cut, rows.hashed, rows.walks), (1, 5000, 2));
    // Between two tables, the first pairs are returned before all are made.
    let mut pairs = Pairs::new(5000, Some(2500), 5, None, 1 << 24);
    let mut batch = Vec::new();
    assert!(pairs.next_batch(&mut rows, &mut batch).unwrap());
    let expected = (2500..).take(BATCH).map(|b| Found { b, ..pair });
    assert_eq!(batch, expected.collect::<Vec<_>>());
}

#[test]
fn one_word_again_and_again_takes_linear_time() {
    let texts = [1_000_000, 999_999, 500_000].map(|count| "one ".repeat(count));
    for words in [25, 10_000] {
        let mut rows = Sample::new(texts.to_vec(), words);
        let (found, _) = rows.all(Pairs::new(3, None, words, None, 1 << 30));
        let pairs = [(0, 1, 1_000_000), (0, 2, 1_000_000), (1, 2, 999_999)];
        let pairs = pairs.map(|(a, b, words)| {
            let (passages, share_a, share_b) = (1, 1.0, 1.0);
            Found { a, b, passages, words, share_a, share_b }
        });
        assert_same(found, pairs.to_vec(), "");
    }
}
