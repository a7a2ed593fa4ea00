//! Winnowing selects the hashes of a text that an index keeps, such that texts with a passage in
//! common keep a common hash (Schleimer, Wilkerson and Aiken, SIGMOD 2003).
//!
//! Every run of `k` tokens is hashed. Of each `w` consecutive hashes the least is kept, and among
//! equal ones the last. `w + k - 1` is the number of words of the index's passages. Two texts that
//! share such a passage have the same `w` hashes in it, so both keep the least of them. About 2 /
//! (w + 1) of all hashes are kept.
//!
//! Indexes store the hashes, so the hashes never change.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::rolling::Rolling;

/// The allowed minimal lengths of an index's passages, in words.
pub const WORDS: RangeInclusive<usize> = 5..=10_000;

/// The base of the polynomial over the tokens' hashes: the first 61 bits of the fraction of pi.
const BASE: u64 = 0x243f_6a88_85a3_08d3 >> 3;

/// A kept run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kept {
    /// Its hash.
    pub hash: u64,
    /// The number of its first token in the text, counted from 0.
    pub token: u32,
}

/// The lengths of runs and windows for passages of a given number of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    run: usize,
    width: usize,
}

impl Window {
    /// The window for passages of at least `words` words. `None` unless [`WORDS`] contains that
    /// number.
    ///
    /// A run has half of the words, but at least three: README.md in this directory says why.
    pub fn of(words: usize) -> Option<Self> {
        let run = (words / 2).max(3);
        WORDS.contains(&words).then(|| Window { run, width: words + 1 - run })
    }

    /// The number of tokens in a run: k.
    pub fn run(self) -> usize {
        self.run
    }

    /// The number of hashes in a window, of which the least is kept: w.
    pub fn width(self) -> usize {
        self.width
    }

    /// The minimal number of tokens of a passage.
    pub fn words(self) -> usize {
        self.run + self.width - 1
    }
}

/// Takes a text's tokens one by one and selects the hashes that an index keeps.
///
/// ```
/// use simhash_core::passages::{Window, Winnower};
/// let mut winnower = Winnower::new(Window::of(5).unwrap());
/// let mut kept = Vec::new();
/// // Seven tokens, by their hashes. Of their five runs of three, each three keep one.
/// for token in [3, 1, 4, 1, 5, 9, 2] {
///     winnower.push(token, &mut |run| kept.push(run.token));
/// }
/// assert!((1..=3).contains(&kept.len()) && kept.is_sorted());
/// ```
#[derive(Debug)]
pub struct Winnower {
    window: Window,
    runs: Rolling,
    /// The number of the next run.
    next: u32,
    /// Runs of the current window whose hashes are less than those of all later ones, in ascending
    /// order.
    least: VecDeque<Kept>,
    /// The first token of the run kept last.
    kept: Option<u32>,
}

impl Winnower {
    /// A winnower for a new text.
    pub fn new(window: Window) -> Self {
        let runs = Rolling::new(BASE, window.run);
        Winnower { window, runs, next: 0, least: VecDeque::new(), kept: None }
    }

    /// The number of tokens in a run.
    pub fn run(&self) -> usize {
        self.window.run
    }

    /// Prepares for a new text.
    pub fn restart(&mut self) {
        self.runs.restart();
        self.next = 0;
        self.least.clear();
        self.kept = None;
    }

    /// Takes the hash of the next token ([`feature_hash`](crate::base::hash::feature_hash)). If a
    /// run is to be kept from now on, it is passed to `sink`: each once, in the order of the text.
    #[inline]
    pub fn push(&mut self, token: u64, sink: &mut impl FnMut(Kept)) {
        let Some(sum) = self.runs.push(token) else { return };
        let new = Kept { hash: mix(sum), token: self.next };
        self.next += 1;
        // Among equal hashes the last one is kept.
        while self.least.back().is_some_and(|last| last.hash >= new.hash) {
            self.least.pop_back();
        }
        self.least.push_back(new);
        let Some(start) = self.next.checked_sub(self.window.width as u32) else { return };
        while self.least.front().is_some_and(|least| least.token < start) {
            self.least.pop_front();
        }
        if let Some(&least) = self.least.front()
            && self.kept != Some(least.token)
        {
            self.kept = Some(least.token);
            sink(least);
        }
    }
}

/// A bijection of 64-bit numbers: the finaliser of `MurmurHash3`. Remainders of runs that differ
/// only in their last token are close together. Without this, the least of them would depend on
/// that token.
#[inline]
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}
