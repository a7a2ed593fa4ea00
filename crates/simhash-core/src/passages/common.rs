//! Common runs of two sequences of tokens. All results are exact, also where tokens repeat.

use std::hash::{BuildHasher, RandomState};

use super::order::Order;
use super::rolling::Rolling;
use crate::base::counter::Counter;
use crate::base::interrupt::Interrupt;

/// Two sequences, with a number for each word.
pub(super) struct Sequences {
    /// The first sequence, a separator (the number `words`), and the second sequence.
    all: Vec<u32>,
    /// The number of tokens of the first sequence.
    first: usize,
    /// The number of distinct words of the first sequence. All words that only the second one has
    /// share the greatest number, which is in no common run.
    words: u32,
}

impl Sequences {
    /// Takes two sequences of numbers less than `words`. In the second one, `None` is a word that
    /// the first one lacks.
    pub(super) fn new(a: Vec<u32>, words: u32, b: impl Iterator<Item = Option<u32>>) -> Self {
        let (first, mut all) = (a.len(), a);
        all.push(words);
        all.extend(b.map(|number| number.unwrap_or(words + 1)));
        Sequences { all, first, words }
    }

    fn a(&self) -> &[u32] {
        &self.all[..self.first]
    }

    fn b(&self) -> &[u32] {
        &self.all[self.first + 1..]
    }

    fn order(&self, interrupt: &Interrupt) -> Order {
        Order::new(&self.all, self.words as usize + 2, interrupt)
    }

    /// Whether the sequences have a run of `words` tokens in common. `words` is at least 1.
    ///
    /// Runs are found by their hashes and then compared. If runs differ although their hashes are
    /// equal, the suffix order decides. The hash has a random base, so no input can be made to
    /// collide.
    pub(super) fn have_common(&self, words: usize, interrupt: &Interrupt) -> bool {
        if self.a().len() < words || self.b().len() < words {
            return false;
        }
        let mut runs: Counter<u64> = Counter::new();
        let mut rolling = Rolling::new(RandomState::new().hash_one(words), words);
        for (end, &number) in self.a().iter().enumerate() {
            interrupt.spend(16);
            let Some(hash) = rolling.push(u64::from(number)) else { continue };
            if runs.get(hash).is_none() {
                runs.reserve(1, interrupt);
                runs.count(hash, Some((end + 1 - words) as u32));
            }
        }
        rolling.restart();
        for (end, &number) in self.b().iter().enumerate() {
            interrupt.spend(16);
            if number >= self.words {
                rolling.restart();
                continue;
            }
            let found = rolling.push(u64::from(number)).and_then(|hash| runs.get(hash));
            if let Some(start) = found {
                let start = start as usize;
                interrupt.spend(words);
                return self.a()[start..start + words] == self.b()[end + 1 - words..=end]
                    || self.begin_common(words, interrupt).contains(&true);
            }
        }
        false
    }

    /// For each token of the first sequence, whether a run of `words` tokens that begins there is
    /// in the second one as well.
    pub(super) fn begin_common(&self, words: usize, interrupt: &Interrupt) -> Vec<bool> {
        let order = self.order(interrupt);
        let mut begin = vec![false; self.first];
        // Places of the first sequence among neighbouring suffixes that begin with the same run.
        let mut group: Vec<u32> = Vec::new();
        let mut is_in_b = false;
        let last = (0, 0);
        for (at, common) in order.iter().chain([last]) {
            interrupt.spend(8);
            if common < words {
                if is_in_b {
                    group.iter().for_each(|&at| begin[at as usize] = true);
                    interrupt.spend(group.len());
                }
                group.clear();
                is_in_b = false;
            }
            if at < self.first {
                group.push(at as u32);
            } else {
                is_in_b |= at > self.first;
            }
        }
        begin
    }

    /// The number of tokens of the first sequence that are in common runs of at least `words`
    /// tokens.
    pub(super) fn count_common(&self, words: usize, interrupt: &Interrupt) -> usize {
        if !self.have_common(words, interrupt) {
            return 0;
        }
        let (mut counted, mut end) = (0, 0);
        for (at, begins) in self.begin_common(words, interrupt).into_iter().enumerate() {
            if begins {
                counted += at + words - end.max(at);
                end = at + words;
            }
            interrupt.spend(1);
        }
        counted
    }
}

/// A common run: its start in each sequence, and its number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) length: usize,
}

/// No class.
const NONE: u32 = u32::MAX;

/// The maximal common runs, which cannot be extended to the left or to the right, ordered by their
/// start in the first sequence and then in the second one.
///
/// The places where the same `words` tokens begin are a class. For each place of the first
/// sequence, the places of the second one in its class are visited. Stretches that follow the same
/// token as that place are skipped, because these runs extend to the left. Consecutive stretches
/// differ in that token, so at least one of two visits gives a result.
pub(super) struct Runs {
    sequences: Sequences,
    order: Order,
    /// The class of each place; [`NONE`] if it has none.
    classes: Vec<u32>,
    /// The start of each class in `places`, and the end of the last one.
    starts: Vec<u32>,
    /// The places of the second sequence, ascending within a class.
    places: Vec<u32>,
    /// For each of them, the end of the stretch of places that follow the same token.
    ends: Vec<u32>,
    /// The current place in the first sequence, and the next index in `places`.
    at: usize,
    next: usize,
}

impl Runs {
    pub(super) fn new(sequences: Sequences, words: usize, interrupt: &Interrupt) -> Self {
        let has_none = !sequences.have_common(words, interrupt);
        let sequences =
            if has_none { Sequences::new(Vec::new(), 0, [].into_iter()) } else { sequences };
        let order = sequences.order(interrupt);
        let mut classes = vec![NONE; sequences.all.len()];
        let (mut count, mut previous) = (0, 0);
        for (at, common) in order.iter() {
            interrupt.spend(8);
            if common >= words {
                if classes[previous] == NONE {
                    classes[previous] = count;
                    count += 1;
                }
                classes[at] = classes[previous];
            }
            previous = at;
        }
        let (starts, places) = sorted_by_class(&classes, sequences.first, count, interrupt);
        let ends = stretches(&sequences.all, &starts, &places, interrupt);
        let mut runs = Runs { sequences, order, classes, starts, places, ends, at: 0, next: 0 };
        runs.go_to(0);
        runs
    }

    fn go_to(&mut self, at: usize) {
        self.at = at;
        if at < self.sequences.first && self.classes[at] != NONE {
            self.next = self.starts[self.classes[at] as usize] as usize;
        }
    }

    pub(super) fn next(&mut self, interrupt: &Interrupt) -> Option<Run> {
        while self.at < self.sequences.first {
            interrupt.spend(16);
            let all = &self.sequences.all;
            let class = self.classes[self.at];
            let end = if class == NONE { self.next } else { self.end(class) };
            if self.next >= end {
                self.go_to(self.at + 1);
                continue;
            }
            let place = self.places[self.next] as usize;
            if self.at > 0 && all[self.at - 1] == all[place - 1] {
                self.next = self.ends[self.next] as usize;
                continue;
            }
            self.next += 1;
            let length = self.order.common(self.at, place);
            interrupt.spend(256);
            return Some(Run { a: self.at, b: place - self.sequences.first - 1, length });
        }
        None
    }

    fn end(&self, class: u32) -> usize {
        self.starts[class as usize + 1] as usize
    }
}

/// The places of the second sequence sorted by class, and the start of each class.
fn sorted_by_class(
    classes: &[u32],
    first: usize,
    count: u32,
    interrupt: &Interrupt,
) -> (Vec<u32>, Vec<u32>) {
    let of_second = || {
        let places = classes.iter().enumerate().skip(first + 1);
        places.filter(|&(_, &class)| class != NONE).inspect(|_| interrupt.spend(4))
    };
    let mut starts = vec![0u32; count as usize + 1];
    of_second().for_each(|(_, &class)| starts[class as usize + 1] += 1);
    for class in 0..count as usize {
        starts[class + 1] += starts[class];
        interrupt.spend(1);
    }
    let mut next = starts.clone();
    let mut places = vec![0; starts[count as usize] as usize];
    for (at, &class) in of_second() {
        let slot = &mut next[class as usize];
        places[*slot as usize] = at as u32;
        *slot += 1;
    }
    (starts, places)
}

/// For each place, the end of the stretch of places in its class that follow the same token.
fn stretches(all: &[u32], starts: &[u32], places: &[u32], interrupt: &Interrupt) -> Vec<u32> {
    let mut ends = vec![0; places.len()];
    let before = |index: usize| all[places[index] as usize - 1];
    for class in starts.windows(2) {
        let class = class[0] as usize..class[1] as usize;
        for index in class.clone().rev() {
            let goes_on = index + 1 < class.end && before(index) == before(index + 1);
            ends[index] = if goes_on { ends[index + 1] } else { index as u32 + 1 };
        }
        interrupt.spend(4 * class.len() + 1);
    }
    ends
}
