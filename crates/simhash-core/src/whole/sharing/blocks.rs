//! Divides places into blocks whose keys fit in memory, and orders the joins of blocks.

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
    Meeting { first, second }: &Meeting,
    wanted: impl Fn(u32) -> bool,
    least: usize,
    memory: usize,
) -> Result<Shared, Full> {
    let mut builder = Builder::new(places as usize, memory);
    let split = (first != second).then_some(second.start);
    let mut full = false;
    rows.each_key(&mut |key| {
        key.retain(|place| (first.contains(place) || second.contains(place)) && wanted(*place));
        key.sort_unstable();
        if is_shared(key, split) {
            full = builder.push(key).is_err();
        }
        !full
    });
    if full { Err(Full) } else { Ok(builder.finish(least, split, &mut || rows.check())) }
}

/// Blocks of places. Each is joined with those before it, and then with itself.
///
/// At first there is one block. If memory does not hold its keys, [`Blocks::divide`] makes blocks
/// so small that it should hold those of any two.
#[derive(Clone, Debug)]
pub struct Blocks {
    places: u32,
    size: u32,
    /// All places below have been joined with each other.
    done: u32,
    /// The places below have been joined with the block that begins at `done`.
    joined: u32,
    /// In a join of two tables, the places below are those of the first. Places of one table are
    /// not joined with each other.
    split: Option<u32>,
}

/// A join of a block with an earlier one, or with itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    pub first: Range<u32>,
    pub second: Range<u32>,
}

impl Meeting {
    pub fn is_of_one(&self) -> bool {
        self.first == self.second
    }
}

impl Blocks {
    pub fn new(places: u32, split: Option<u32>) -> Self {
        Self { places, size: places.max(1), done: split.unwrap_or(0), joined: 0, split }
    }

    /// The next blocks to join.
    pub fn next(&self) -> Option<Meeting> {
        if self.done >= self.places {
            return None;
        }
        let second = self.done..self.places.min(self.done.saturating_add(self.size));
        let others = self.split.unwrap_or(self.done);
        let first = if self.joined < others {
            self.joined..others.min(self.joined.saturating_add(self.size))
        } else {
            second.clone()
        };
        Some(Meeting { first, second }).filter(|meeting| {
            // The first table has no rows.
            self.split.is_none() || !meeting.is_of_one()
        })
    }

    /// Records that a meeting is done.
    pub fn met(&mut self, meeting: &Meeting) {
        if !meeting.is_of_one() {
            self.joined = meeting.first.end;
        }
        if meeting.is_of_one() || self.split == Some(self.joined) {
            (self.done, self.joined) = (meeting.second.end, 0);
        }
    }

    /// Makes blocks smaller, after a meeting took more than `memory` bytes. `Err` if they are as
    /// small as they can be.
    pub fn divide(&mut self, bands: usize, memory: usize) -> Result<(), Full> {
        // For each band a posting, its share of a list's start, and the row's key.
        let of_row = bands * 3 * size_of::<u32>();
        let size = u32::try_from(memory / (2 * of_row)).unwrap_or(u32::MAX).max(1);
        if size >= self.size {
            return Err(Full);
        }
        self.size = size;
        Ok(())
    }

    /// The share of all work that is done, 0 to 1, if the share `within` of the next meeting is.
    pub fn share(&self, within: f64) -> f64 {
        let (places, done) = (f64::from(self.places), f64::from(self.done));
        let first = self.split.map_or(0.0, f64::from);
        let all = match self.split {
            Some(_) => 2.0 * first * (places - first),
            None => places * places,
        };
        let before = match self.split {
            Some(_) => 2.0 * first * (done - first),
            None => done * done,
        };
        let block = f64::from(self.size).min(places - done);
        let next = match self.next() {
            None => 0.0,
            Some(meeting) if meeting.is_of_one() => block * block,
            Some(Meeting { first, .. }) => 2.0 * f64::from(first.end - first.start) * block,
        };
        let joined = 2.0 * f64::from(self.joined) * block;
        ((before + joined + within * next) / all.max(1.0)).min(1.0)
    }
}
