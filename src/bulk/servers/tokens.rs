//! Tokens that parts send ahead of being read.

use std::collections::{HashMap, VecDeque};

/// The tokens of texts that are read next.
pub(super) struct Tokens {
    /// Those that came, as a message has them. `None` for rows that are gone.
    came: HashMap<u32, Option<Box<str>>>,
    /// How many bytes they are.
    pub(super) bytes: usize,
    /// By part: those that are expected and did not come yet, in the order in which they are asked
    /// for.
    pub(super) waiting: Vec<VecDeque<u32>>,
}

impl Tokens {
    pub(super) fn new(parts: usize) -> Self {
        let waiting = (0..parts).map(|_| VecDeque::new()).collect();
        Self { came: HashMap::new(), bytes: 0, waiting }
    }

    pub(super) fn put(&mut self, place: u32, came: Option<&str>) {
        self.bytes += came.map_or(0, str::len);
        self.came.insert(place, came.map(Box::from));
    }

    pub(super) fn take(&mut self, place: u32) -> Option<Option<Box<str>>> {
        let tokens = self.came.remove(&place)?;
        self.bytes -= tokens.as_ref().map_or(0, |tokens| tokens.len());
        Some(tokens)
    }
}
