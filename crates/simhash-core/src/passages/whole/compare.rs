//! Measures what a text has in common with other texts, in time linear in the other text.
//!
//! A table has the text's runs by their hashes, in which the runs of the other texts are looked up.
//! If hashes are equal, the runs are compared. If those ever differ, the suffix order decides; the
//! hash has a random base, so no input can be made to collide.

use std::collections::HashSet;

use crate::base::counter::Counter;
use crate::base::interrupt::Interrupt;
use crate::base::sort::sort_checked;
use crate::passages::common::Sequences;
use crate::passages::rolling::Rolling;

/// No place.
const NONE: u32 = u32::MAX;

/// The common runs of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    /// The number of stretches of the other text that common runs cover, and the number of their
    /// tokens.
    pub(super) passages: u32,
    pub(super) tokens: u32,
    /// The number of tokens of the table's text that are in common runs.
    pub(super) of_text: u32,
}

/// The runs of a text, each identified by the first place where it begins.
pub(super) struct Table {
    rolling: Rolling,
    firsts: Counter<u64>,
    /// For each place, the next place of the same run, in no particular order. The list begins with
    /// the first place.
    next: Vec<u32>,
    /// For each first place, the number of the last comparison in which the run was common.
    met: Vec<u32>,
    comparisons: u32,
    equal: Equal,
    /// Whether different runs have equal hashes.
    is_mixed: bool,
    /// The starts of the common runs in the current comparison.
    begin: Vec<u32>,
}

impl Table {
    /// Takes a text of at least `words` tokens. `words` is at least 1.
    pub(super) fn new(text: &[u32], words: usize, base: u64, interrupt: &Interrupt) -> Self {
        let mut table = Table {
            rolling: Rolling::new(base, words),
            firsts: Counter::new(),
            next: vec![NONE; text.len() + 1 - words],
            met: vec![0; text.len() + 1 - words],
            comparisons: 0,
            equal: Equal { words, overlaps: HashSet::new() },
            is_mixed: false,
            begin: Vec::new(),
        };
        let mut before = None;
        for (end, &number) in text.iter().enumerate() {
            interrupt.spend(16);
            let Some(hash) = table.rolling.push(u64::from(number)) else { continue };
            let start = end + 1 - words;
            let first = match table.firsts.get(hash) {
                Some(first) => first,
                None => {
                    table.firsts.reserve(1, interrupt);
                    table.firsts.count(hash, Some(start as u32));
                    before = Some(start as u32);
                    continue;
                }
            };
            if !table.equal.are(&text[start..=end], text, first, before, interrupt) {
                table.is_mixed = true;
                break;
            }
            table.next[start] = table.next[first as usize];
            table.next[first as usize] = start as u32;
            before = Some(first);
        }
        table
    }

    /// Compares another text with the text of the table. `None` if they have no run in common.
    pub(super) fn compare(
        &mut self,
        other: &[u32],
        text: &[u32],
        interrupt: &Interrupt,
    ) -> Option<Common> {
        let words = self.equal.words;
        if self.is_mixed {
            return by_order(other, text, words, interrupt);
        }
        self.begin_comparison(interrupt);
        let mut cover = Cover::new(words);
        let mut before = None;
        for (end, &number) in other.iter().enumerate() {
            interrupt.spend(16);
            let found = self.rolling.push(u64::from(number)).and_then(|hash| self.firsts.get(hash));
            let Some(first) = found else {
                before = None;
                continue;
            };
            let start = end + 1 - words;
            if !self.equal.are(&other[start..=end], text, first, before, interrupt) {
                return by_order(other, text, words, interrupt);
            }
            before = Some(first);
            cover.add(start);
            self.meet(first, interrupt);
        }
        if cover.stretches == 0 {
            return None;
        }
        sort_checked(&mut self.begin, &mut || interrupt.check());
        let mut of_text = Cover::new(words);
        for &start in &self.begin {
            interrupt.spend(1);
            of_text.add(start as usize);
        }
        Some(cover.with(&of_text))
    }

    fn begin_comparison(&mut self, interrupt: &Interrupt) {
        if self.comparisons == u32::MAX {
            self.met.fill(0);
            self.comparisons = 0;
            interrupt.spend(self.met.len());
        }
        self.comparisons += 1;
        self.begin.clear();
        self.rolling.restart();
    }

    /// Notes that a run is common: a common run begins at each of its places.
    fn meet(&mut self, first: u32, interrupt: &Interrupt) {
        let met = &mut self.met[first as usize];
        if std::mem::replace(met, self.comparisons) == self.comparisons {
            return;
        }
        let mut place = first;
        while place != NONE {
            interrupt.spend(8);
            self.begin.push(place);
            place = self.next[place as usize];
        }
    }
}

/// Compares runs, using the result for the previous run.
struct Equal {
    words: usize,
    /// Pairs of places of a text where long runs begin, such that the first run without its first
    /// token is the second run without its last token.
    overlaps: HashSet<(u32, u32)>,
}

impl Equal {
    /// Shorter runs are compared faster than they are looked up.
    const LONG: usize = if cfg!(test) { 4 } else { 256 };

    /// Whether `run` equals the run at `place` of `text`. The run that begins one token before
    /// `run` equals the run at `before`, if that is known.
    #[inline]
    fn are(
        &mut self,
        run: &[u32],
        text: &[u32],
        place: u32,
        before: Option<u32>,
        interrupt: &Interrupt,
    ) -> bool {
        let start = place as usize;
        let other = &text[start..start + self.words];
        let is_long = self.words >= Self::LONG;
        if let Some(before) = before
            && (before + 1 == place || is_long && self.overlaps.contains(&(before, place)))
        {
            return run.last() == other.last();
        }
        interrupt.spend(self.words);
        let are = run == other;
        if let Some(before) = before
            && is_long
            && are
        {
            self.overlaps.insert((before, place));
        }
        are
    }
}

/// The stretches that runs cover. Adjacent and overlapping runs form one stretch.
struct Cover {
    words: usize,
    stretches: usize,
    tokens: usize,
    end: usize,
}

impl Cover {
    fn new(words: usize) -> Self {
        Cover { words, stretches: 0, tokens: 0, end: 0 }
    }

    /// Adds a run that begins after all runs added before.
    fn add(&mut self, start: usize) {
        let end = start + self.words;
        self.stretches += usize::from(self.stretches == 0 || start > self.end);
        self.tokens += end - start.max(self.end);
        self.end = end;
    }

    fn with(&self, of_text: &Cover) -> Common {
        Common {
            passages: self.stretches as u32,
            tokens: self.tokens as u32,
            of_text: of_text.tokens as u32,
        }
    }
}

/// As [`Table::compare`], by suffix order.
fn by_order(other: &[u32], text: &[u32], words: usize, interrupt: &Interrupt) -> Option<Common> {
    let [of_other, of_text] = [(other, text), (text, other)].map(|(a, b)| {
        let kinds = a.iter().max().map_or(0, |greatest| greatest + 1);
        let b = b.iter().map(|&number| Some(number).filter(|&number| number < kinds));
        let mut cover = Cover::new(words);
        let begin = Sequences::new(a.to_vec(), kinds, b).begin_common(words, interrupt);
        for start in (0..a.len()).filter(|&start| begin[start]) {
            interrupt.spend(1);
            cover.add(start);
        }
        cover
    });
    (of_other.stretches > 0).then(|| of_other.with(&of_text))
}
