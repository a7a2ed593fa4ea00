//! Tokens that parts send before they are read.

use std::collections::{HashMap, VecDeque};

/// The tokens of texts that are read next.
pub(super) struct Tokens {
    /// Received tokens, as in a message. `None` for rows that are gone.
    came: HashMap<u32, Option<Box<str>>>,
    /// The bytes of the received tokens.
    pub(super) bytes: usize,
    /// By part: rows whose tokens are expected and not yet received, in the order of the request.
    pub(super) waiting: Vec<VecDeque<u32>>,
}

impl Tokens {
    pub(super) fn new(parts: usize) -> Self {
        let waiting = (0..parts).map(|_| VecDeque::new()).collect();
        Self { came: HashMap::new(), bytes: 0, waiting }
    }

    /// Notes which rows are read next, in this order, instead of those expected before. Tokens
    /// received for the first of them stay, up to about `most` bytes.
    pub(super) fn expect(&mut self, places: &[u32], most: usize, part_of: impl Fn(u32) -> usize) {
        let mut before = std::mem::take(&mut self.came);
        self.bytes = 0;
        self.waiting.iter_mut().for_each(VecDeque::clear);
        for &place in places {
            match before.remove(&place).filter(|_| self.bytes <= most) {
                Some(came) => {
                    self.bytes += length(came.as_deref());
                    self.came.insert(place, came);
                }
                None => self.waiting[part_of(place)].push_back(place),
            }
        }
    }

    /// Whether rows of a part are waiting.
    pub(super) fn waits(&self, part: usize) -> bool {
        !self.waiting[part].is_empty()
    }

    /// Puts a row that is read right now before those that wait. If it comes alone, returns the
    /// others.
    pub(super) fn put_first(&mut self, part: usize, place: u32, is_alone: bool) -> VecDeque<u32> {
        let waiting = &mut self.waiting[part];
        waiting.retain(|&other| other != place);
        let others = if is_alone { std::mem::take(waiting) } else { VecDeque::new() };
        waiting.push_front(place);
        others
    }

    pub(super) fn put(&mut self, place: u32, came: Option<&str>) {
        let came = came.map(Box::from);
        self.bytes += length(came.as_deref());
        if let Some(before) = self.came.insert(place, came) {
            self.bytes -= length(before.as_deref());
        }
    }

    pub(super) fn take(&mut self, place: u32) -> Option<Option<Box<str>>> {
        let tokens = self.came.remove(&place)?;
        self.bytes -= length(tokens.as_deref());
        Some(tokens)
    }
}

fn length(tokens: Option<&str>) -> usize {
    tokens.map_or(0, str::len)
}
