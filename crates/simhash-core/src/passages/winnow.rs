//! Which hashes of a text an index keeps, so that texts with a passage in common have one in common
//! (winnowing: Schleimer, Wilkerson and Aiken, SIGMOD 2003).
//!
//! Every run of `k` tokens is hashed. Of each `w` consecutive hashes the least is kept, the last
//! one of equals, where `w + k - 1` is the number of words that the index asks for. So both texts
//! of a passage of that many words keep the least hash within it: they see the same `w` hashes.
//! About 2 / (w + 1) of all hashes are kept.
//!
//! Indexes store the hashes, so they never change.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::rolling::Rolling;

/// How many words a passage of an index may have at least.
pub const WORDS: RangeInclusive<usize> = 5..=10_000;

/// The base of the polynomial whose coefficients are the tokens' hashes: the first 61 bits of the
/// fraction of pi.
const BASE: u64 = 0x243f_6a88_85a3_08d3 >> 3;

/// A run that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kept {
    /// Its hash.
    pub hash: u64,
    /// The number of its first token in the text, counted from 0.
    pub token: u32,
}

/// The lengths of runs and windows for passages of some number of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    run: usize,
    width: usize,
}

impl Window {
    /// The window for passages of `words` tokens and more. `None` unless [`WORDS`] has that number.
    ///
    /// A run has half of the words, but no less than three: see README.md beside
    /// this file.
    pub fn of(words: usize) -> Option<Self> {
        let run = (words / 2).max(3);
        WORDS.contains(&words).then(|| Window { run, width: words + 1 - run })
    }

    /// How many tokens are hashed together: k.
    pub fn run(self) -> usize {
        self.run
    }

    /// Of how many hashes the least is kept: w.
    pub fn width(self) -> usize {
        self.width
    }

    /// How many tokens a passage has at least.
    pub fn words(self) -> usize {
        self.run + self.width - 1
    }
}

/// Takes a text's tokens one by one and keeps the hashes of an index.
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
    /// Runs of the present window that are less than all after them, ascending.
    least: VecDeque<Kept>,
    /// The run that was last kept.
    kept: Option<u32>,
}

impl Winnower {
    /// One that has taken no token.
    pub fn new(window: Window) -> Self {
        let runs = Rolling::new(BASE, window.run);
        Winnower { window, runs, next: 0, least: VecDeque::new(), kept: None }
    }

    /// How many tokens a run has.
    pub fn run(&self) -> usize {
        self.window.run
    }

    /// Forgets the tokens that it has taken.
    pub fn restart(&mut self) {
        self.runs.restart();
        self.next = 0;
        self.least.clear();
        self.kept = None;
    }

    /// Takes the hash of the next token ([`feature_hash`](crate::base::hash::feature_hash)). Hands
    /// the run to `sink` that has to be kept as of now, if there is one: each once, in their order.
    #[inline]
    pub fn push(&mut self, token: u64, sink: &mut impl FnMut(Kept)) {
        let Some(sum) = self.runs.push(token) else { return };
        let new = Kept { hash: mix(sum), token: self.next };
        self.next += 1;
        // The last of equals is the least.
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

/// Spreads a remainder over 64 bits, no two to the same number: the finaliser of `MurmurHash3`.
/// Remainders of runs that differ in their last token alone are near each other, and the least of
/// them must not be more often of one such token than of another.
#[inline]
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}
