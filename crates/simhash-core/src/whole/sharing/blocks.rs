//! Blocks of places, for when memory does not hold the keys of all rows, and the order in which
//! they meet.

use std::ops::Range;

use super::rows::Rows;
use super::shared::{Builder, Full, Shared, is_shared};

/// About the share of a meeting's work that is reading its keys.
pub const READING: f64 = 0.25;

/// The keys that rows of a meeting's two blocks share with each other, or rows of its one block.
/// Only `wanted` places count.
pub fn shared(
    rows: &mut impl Rows,
    places: u32,
    meeting: &Meeting,
    wanted: impl Fn(u32) -> bool,
    least: usize,
    memory: usize,
) -> Result<Shared, Full> {
    let mut builder = Builder::new(places as usize, memory);
    let split = meeting.split();
    let mut full = false;
    rows.each_key(&mut |key| {
        key.retain(|&place| meeting.has(place) && wanted(place));
        key.sort_unstable();
        if is_shared(key, split) {
            full = builder.push(key).is_err();
        }
        !full
    });
    if full { Err(Full) } else { Ok(builder.finish(least, split, &mut || rows.check())) }
}

/// The memory of a key of a row in bytes, at most: the row in the key's list, a share of the list's
/// start, and the key in the row's list.
const OF_POSTING: usize = 3 * size_of::<u32>();

/// The blocks of places, and the order of their meetings. A meeting is a pair of blocks to compare.
/// Each block meets the blocks before it and then itself. With two sides, each block of the second
/// side meets each of the first.
///
/// A block is as large as possible while memory still holds the keys of any two blocks.
pub struct Blocks {
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
pub struct Meeting {
    pub first: Range<u32>,
    pub second: Range<u32>,
}

impl Meeting {
    pub fn is_of_one(&self) -> bool {
        self.first == self.second
    }

    pub fn has(&self, place: u32) -> bool {
        self.first.contains(&place) || self.second.contains(&place)
    }

    /// The end of the first block's places, if there are two blocks.
    pub fn split(&self) -> Option<u32> {
        (!self.is_of_one()).then_some(self.second.start)
    }
}

impl Blocks {
    /// One block for each side. None, if a side has no places.
    pub fn of_all(places: u32, split: Option<u32>) -> Self {
        let blocks = match split {
            Some(split) => vec![0..split, split..places],
            None => vec![Range { start: 0, end: places }],
        };
        match blocks.iter().any(Range::is_empty) {
            true => Self::new(Vec::new(), None),
            false => Self::new(blocks, split.map(|_| 1)),
        }
    }

    fn new(blocks: Vec<Range<u32>>, of_first: Option<usize>) -> Self {
        Blocks { blocks, of_first, first: 0, second: of_first.unwrap_or(0), met: 0 }
    }

    /// Divides places into blocks such that `memory` bytes hold the keys of any two. `degrees` are
    /// the numbers of keys of each place. A row with more keys than that is a block of its own.
    pub fn divided(
        degrees: impl ExactSizeIterator<Item = u32>,
        split: Option<u32>,
        memory: usize,
    ) -> Self {
        let most = memory / (2 * OF_POSTING);
        let places = degrees.len() as u32;
        let (mut blocks, mut of_first) = (Vec::new(), None);
        let (mut start, mut keys) = (0, 0);
        for (place, degree) in (0u32..).zip(degrees) {
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
        blocks.push(start..places);
        Self::new(blocks, of_first)
    }

    /// Begins anew with smaller blocks, because memory did not hold the keys of a meeting. Each
    /// place has `degree` keys.
    ///
    /// # Errors
    /// If the blocks are as small as they can be.
    pub fn divide(&mut self, degree: usize, memory: usize) -> Result<(), Full> {
        let places = self.blocks.last().map_or(0, |last| last.end);
        let split = self.of_first.map(|first| self.blocks[first].start);
        let degrees = (0..places as usize).map(|_| degree as u32);
        let divided = Self::divided(degrees, split, memory);
        if divided.blocks.len() <= self.blocks.len() {
            return Err(Full);
        }
        *self = divided;
        Ok(())
    }

    /// Goes on to the next meeting.
    pub fn next_meeting(&mut self) -> Option<Meeting> {
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
    pub fn share(&self, within: f64) -> f64 {
        let count = self.blocks.len();
        let all = self.of_first.map_or(count * (count + 1) / 2, |first| first * (count - first));
        (self.met as f64 - 1.0 + within) / all as f64
    }
}
