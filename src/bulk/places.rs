//! Maps rows to their places, numbers from 0 in the order in which rows are taken, and back.

use super::row;
use crate::types::tid;

/// No place.
const NONE: u32 = u32::MAX;

/// Rows in order, each by the number of the root of its HOT chain.
pub struct Places {
    /// By place.
    numbers: Vec<u64>,
    /// By table.
    slots: Vec<Slots>,
    /// When two tables are joined: how many rows the table has that comes first.
    pub split: Option<u32>,
}

/// The places of one table's rows, by page and offset.
#[derive(Default)]
struct Slots {
    /// Where the slots of each page begin, and where those of the last one end.
    starts: Vec<u64>,
    places: Vec<u32>,
}

/// About how many bytes a row takes.
pub const BYTES: usize = size_of::<u64>() + 2 * size_of::<u32>();

/// The most rows.
pub const MOST: usize = (NONE - 2) as usize;

impl Places {
    /// `numbers` are rows of so many tables, at most [`MOST`].
    pub fn new(numbers: Vec<u64>, tables: usize, split: Option<u32>) -> Self {
        let mut slots: Vec<Slots> = (0..tables).map(|_| Slots::default()).collect();
        for &number in &numbers {
            let (page, offset) = tid::parts(row::tid(number));
            let Some(Slots { starts, .. }) = slots.get_mut(row::table(number)) else { continue };
            let page = page as usize;
            if starts.len() <= page + 1 {
                starts.resize(page + 2, 0);
            }
            // At first the number of slots of the page.
            starts[page + 1] = starts[page + 1].max(u64::from(offset) + 1);
        }
        for Slots { starts, places } in &mut slots {
            let mut total = 0;
            for start in starts.iter_mut() {
                total += *start;
                *start = total;
            }
            places.resize(total as usize, NONE);
        }
        for (place, &number) in (0..).zip(&numbers) {
            if let Some(slots) = slots.get_mut(row::table(number))
                && let Some(slot) = slots.slot(row::tid(number))
            {
                slots.places[slot] = place;
            }
        }
        Self { numbers, slots, split }
    }

    pub fn len(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// The place of a row, if it has one.
    #[inline]
    pub fn get(&self, number: u64) -> Option<u32> {
        let slots = self.slots.get(row::table(number))?;
        slots.slot(row::tid(number)).map(|slot| slots.places[slot]).filter(|&place| place != NONE)
    }

    /// The number of the row in a place.
    #[inline]
    pub fn number(&self, place: u32) -> u64 {
        self.numbers[place as usize]
    }
}

impl Slots {
    #[inline]
    fn slot(&self, tid: u64) -> Option<usize> {
        let (page, offset) = tid::parts(tid);
        let [start, end] = *self.starts.get(page as usize..page as usize + 2)? else { return None };
        let slot = start + u64::from(offset);
        (slot < end).then_some(slot as usize)
    }
}
