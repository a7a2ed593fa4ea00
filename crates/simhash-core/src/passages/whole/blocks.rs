//! Blocks of places, for when memory does not hold the keys of all rows.

use std::ops::Range;

/// The memory of a key of a row in bytes, at most: the row in the key's list, a share of the list's
/// start, and the key in the row's list.
pub(super) const OF_POSTING: usize = 3 * size_of::<u32>();

/// The blocks of places, and the order of their meetings. A meeting is a pair of blocks to compare.
/// Each block meets the blocks before it and then itself. With two sides, each block of the second
/// side meets each of the first.
///
/// A block is as large as possible while memory still holds the keys of any two blocks.
pub(super) struct Blocks {
    blocks: Vec<Range<u32>>,
    /// The number of blocks of the first side, if there are two sides.
    of_first: Option<usize>,
    /// The next blocks to meet, and the number of meetings so far.
    first: usize,
    second: usize,
    met: usize,
}

/// Two blocks: each row of one is to be compared with each row of the other. If both are the same
/// block, each row is to be compared with the rows before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meeting {
    pub(super) first: Range<u32>,
    pub(super) second: Range<u32>,
}

impl Meeting {
    pub(super) fn is_of_one(&self) -> bool {
        self.first == self.second
    }

    pub(super) fn has(&self, place: u32) -> bool {
        self.first.contains(&place) || self.second.contains(&place)
    }

    /// The end of the first block's places, if there are two blocks.
    pub(super) fn split(&self) -> Option<u32> {
        (!self.is_of_one()).then_some(self.second.start)
    }
}

impl Blocks {
    /// One block for each side.
    pub(super) fn of_all(places: u32, split: Option<u32>) -> Self {
        let blocks = match split {
            Some(split) => vec![0..split, split..places],
            None => vec![Range { start: 0, end: places }],
        };
        Self::new(blocks, split.map(|_| 1))
    }

    fn new(blocks: Vec<Range<u32>>, of_first: Option<usize>) -> Self {
        Blocks { blocks, of_first, first: 0, second: of_first.unwrap_or(0), met: 0 }
    }

    /// Divides places into blocks such that `memory` bytes hold the keys of any two. `degrees` is
    /// the number of keys of each place. A row with more keys than that is a block of its own.
    pub(super) fn divided(degrees: &[u32], split: Option<u32>, memory: usize) -> Self {
        let most = memory / (2 * OF_POSTING);
        let (mut blocks, mut of_first) = (Vec::new(), None);
        let (mut start, mut keys) = (0, 0);
        for (place, &degree) in (0u32..).zip(degrees) {
            let degree = degree as usize;
            let is_split = split == Some(place);
            if place > start && (keys + degree > most || is_split) {
                blocks.push(start..place);
                (start, keys) = (place, 0);
            }
            if is_split {
                of_first = Some(blocks.len());
            }
            keys += degree;
        }
        blocks.push(start..degrees.len() as u32);
        Self::new(blocks, of_first)
    }

    /// The next meeting.
    pub(super) fn next(&mut self) -> Option<Meeting> {
        let second = self.blocks.get(self.second)?.clone();
        let first = self.blocks[self.first].clone();
        let last = self.of_first.map_or(self.second, |count| count - 1);
        self.met += 1;
        if self.first == last {
            (self.first, self.second) = (0, self.second + 1);
        } else {
            self.first += 1;
        }
        Some(Meeting { first, second })
    }

    /// The fraction of the work that is done; `within` is that of the current meeting.
    pub(super) fn share(&self, within: f64) -> f64 {
        let count = self.blocks.len();
        let all = self.of_first.map_or(count * (count + 1) / 2, |first| first * (count - first));
        (self.met as f64 - 1.0 + within) / all as f64
    }
}
