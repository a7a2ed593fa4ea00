//! Copies: one row represents all rows with an equal text.
//!
//! Equal texts have equal keys. Each row therefore gets a signature, a sum over its keys, and the
//! hash of its text is read only if several rows have its signature.

use std::collections::HashMap;
use std::ops::Range;

use super::rows::Rows;
use crate::base::interrupt::Interrupt;
use crate::base::random::mix;
use crate::base::sort::sort_checked;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// Rows by their texts. On each side the first row of a text represents the others.
pub(super) struct Classes {
    /// For each place, the first row with its text on its side. [`NONE`] if the row no longer
    /// exists.
    units: Vec<u32>,
    /// For each place, the first row with its text on any side. [`NONE`] as above.
    texts: Vec<u32>,
    /// The rows of each text that two or more rows of a side have, ascending, by the first of them.
    members: Vec<u32>,
    ranges: HashMap<u32, Range<usize>>,
}

/// A row. It is ordered by its signature, the hash of its text, and its place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    /// A number for each signature that several rows have.
    alike: u32,
    digest: u128,
    place: u32,
}

impl Classes {
    /// Finds the copies in a walk over the keys. With `split`, the places below it are one side,
    /// and the others are the other.
    pub(super) fn new(places: u32, split: Option<u32>, rows: &mut impl Rows) -> Self {
        let all: Vec<u32> = (0..places).collect();
        let (members, ranges) = (Vec::new(), HashMap::new());
        let mut classes = Self { units: all.clone(), texts: all, members, ranges };
        let alike = rows_of_equal_keys(places, rows);
        let mut copies = Vec::with_capacity(alike.len());
        for together in alike.chunks(rows.together().max(1)) {
            let places: Vec<u32> = together.iter().map(|&(_, place)| place).collect();
            rows.expect_digests(&places);
            for &(alike, place) in together {
                rows.check();
                match rows.digest(place) {
                    Some(digest) => copies.push(Copy { alike, digest, place }),
                    None => {
                        classes.units[place as usize] = NONE;
                        classes.texts[place as usize] = NONE;
                    }
                }
            }
        }
        let mut check = || rows.check();
        sort_checked(&mut copies, &mut check);
        let interrupt = Interrupt::new(&mut check);
        for class in copies.chunk_by(|a, b| (a.alike, a.digest) == (b.alike, b.digest)) {
            interrupt.spend(16 * class.len());
            let first = class[0].place;
            class.iter().for_each(|copy| classes.texts[copy.place as usize] = first);
            let below = class.partition_point(|copy| split.is_some_and(|split| copy.place < split));
            classes.push(&class[..below]);
            classes.push(&class[below..]);
        }
        classes
    }

    /// Adds the rows of a text on one side, in ascending order.
    fn push(&mut self, copies: &[Copy]) {
        let [first, _, ..] = copies else { return };
        let start = self.members.len();
        self.members.extend(copies.iter().map(|copy| copy.place));
        copies.iter().for_each(|copy| self.units[copy.place as usize] = first.place);
        self.ranges.insert(first.place, start..self.members.len());
    }

    /// Whether a row represents its text on its side.
    pub(super) fn is_unit(&self, place: u32) -> bool {
        self.units[place as usize] == place
    }

    /// The number of a row's text: its first row. `None` if the row no longer exists.
    pub(super) fn text(&self, place: u32) -> Option<u32> {
        Some(self.texts[place as usize]).filter(|&text| text != NONE)
    }

    /// The rows that a row represents, in ascending order. The first of them is the row itself.
    pub(super) fn members(&self, unit: u32) -> &[u32] {
        match self.ranges.get(&unit) {
            Some(range) => &self.members[range.clone()],
            None => std::slice::from_ref(&self.units[unit as usize]),
        }
    }

    /// The rows that represent other rows, too, in no particular order.
    pub(super) fn copied(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.keys().copied()
    }
}

/// The rows that have the same keys as another row, ordered by address, each with a number for its
/// set of keys.
fn rows_of_equal_keys(places: u32, rows: &mut impl Rows) -> Vec<(u32, u32)> {
    let mut signatures = vec![0u64; places as usize];
    let mut walked = 0u64;
    rows.each_key(&mut |_, key| {
        walked += 1;
        let number = mix(walked);
        for &place in &*key {
            let signature = &mut signatures[place as usize];
            *signature = signature.wrapping_add(number);
        }
        true
    });
    let signed = signatures.iter().zip(0..).filter(|&(&signature, _)| signature != 0);
    let mut signed: Vec<(u64, u32)> =
        signed.map(|(&signature, place)| (signature, place)).collect();
    drop(signatures);
    sort_checked(&mut signed, &mut || rows.check());
    let mut alike = Vec::new();
    let equal = signed.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1);
    for (number, equal) in (0..).zip(equal) {
        alike.extend(equal.iter().map(|&(_, place)| (number, place)));
    }
    drop(signed);
    alike.sort_unstable_by_key(|&(_, place)| rows.address(place));
    alike
}
