//! Places block by block: how many rows memory holds, and which blocks meet.

use std::ops::Range;

use super::rows::Rows;
use super::shared::{Builder, Full, Shared, is_shared};

/// What reading the keys of a meeting is of its work, about.
pub const READING: f64 = 0.25;

/// The keys that rows of two blocks share with each other, or those of one. Only `wanted` places
/// count.
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

/// The blocks of places: each is joined with those before it, and then with itself.
///
/// They begin as one. If memory does not hold its keys, all are so small that it holds those of
/// any two.
#[derive(Clone, Debug)]
pub struct Blocks {
    places: u32,
    size: u32,
    /// All places below have been joined with each other.
    done: u32,
    /// Of the block from `done` on: the places below have been joined with it.
    joined: u32,
    /// Where two tables are joined, places below are those of the first, which meet no other of
    /// them, and those of the second do not meet each other.
    split: Option<u32>,
}

/// What is to be joined: a block with an earlier one, or with itself.
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

    /// The next blocks that meet.
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
            // A first table without rows.
            self.split.is_none() || !meeting.is_of_one()
        })
    }

    /// These have met.
    pub fn met(&mut self, meeting: &Meeting) {
        if !meeting.is_of_one() {
            self.joined = meeting.first.end;
        }
        if meeting.is_of_one() || self.split == Some(self.joined) {
            (self.done, self.joined) = (meeting.second.end, 0);
        }
    }

    /// One block was too large for so many bytes. `Err` if blocks are as small as they can be.
    pub fn divide(&mut self, bands: usize, memory: usize) -> Result<(), Full> {
        // A posting, its share of a list's start, and the row's key.
        let of_row = bands * 3 * size_of::<u32>();
        let size = u32::try_from(memory / (2 * of_row)).unwrap_or(u32::MAX).max(1);
        if size >= self.size {
            return Err(Full);
        }
        self.size = size;
        Ok(())
    }

    /// How much is done, of 1, if `within` is what is done of the next meeting.
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
