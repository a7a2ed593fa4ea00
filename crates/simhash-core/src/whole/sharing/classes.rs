//! Folds copies: rows of equal sets form a class, which its first row represents.
//!
//! Rows of equal sets share every key, so only the texts of rows that share every key are read.
//! Rows of equal texts, by a hash of 128 bits, have equal sets. One row of each text is cut into
//! shingles, and rows of equal sets, by a hash of 128 bits, form one class.

use std::collections::HashMap;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::compare::Comparer;
use super::rows::Rows;
use super::shared::Shared;
use crate::sets::shingles::ShingleSet;

/// Rows classed by their sets. The first row of a class represents it.
pub struct Classes {
    /// The first row of each row's class.
    first: Vec<u32>,
    /// The rows of the classes of two or more, each class in ascending order.
    members: Vec<u32>,
    ranges: HashMap<u32, Range<usize>>,
}

/// A row, the number of its class of equal keys, and the hash of its text or set.
struct Copy {
    keys: usize,
    digest: u128,
    row: u32,
}

/// The most rows that are announced together.
const TOGETHER: usize = 1 << 14;

impl Classes {
    /// Folds the rows from `from` on, each side by itself. Records missing rows in `comparer`.
    pub fn new(
        shared: &Shared,
        bands: usize,
        from: u32,
        rows: &mut impl Rows,
        comparer: &mut Comparer,
    ) -> Self {
        let mut classes = Self {
            first: (0..shared.len()).collect(),
            members: Vec::new(),
            ranges: HashMap::new(),
        };
        let mut alike = rows_of_equal_keys(shared, bands, from, rows);
        alike.sort_unstable_by_key(|&(_, row)| rows.address(shared.place(row)));
        let mut copies = Vec::with_capacity(alike.len());
        let mut places = Vec::new();
        for some in alike.chunks(TOGETHER) {
            places.clear();
            places.extend(some.iter().map(|&(_, row)| shared.place(row)));
            rows.expect(&places);
            for (&(keys, row), &place) in some.iter().zip(&places) {
                rows.check();
                match rows.digest(place) {
                    Some(digest) => copies.push(Copy { keys, digest, row }),
                    None => comparer.is_gone_now(row),
                }
            }
        }
        copies.sort_unstable_by_key(|copy| (copy.keys, copy.digest, copy.row));
        let mut class = Vec::new();
        for keys in copies.chunk_by_mut(|a, b| a.keys == b.keys) {
            rows.check();
            join_equal_sets(keys, shared, rows, comparer);
            for equal in keys.chunk_by(|a, b| a.digest == b.digest) {
                class.clear();
                class.extend(equal.iter().map(|copy| copy.row));
                class.sort_unstable();
                classes.push(&class);
            }
        }
        classes
    }

    fn push(&mut self, class: &[u32]) {
        let [first, _, ..] = class else { return };
        class.iter().for_each(|&row| self.first[row as usize] = *first);
        let start = self.members.len();
        self.members.extend_from_slice(class);
        self.ranges.insert(*first, start..self.members.len());
    }

    /// The row that represents a row.
    pub fn first(&self, row: u32) -> u32 {
        self.first[row as usize]
    }

    pub fn is_first(&self, row: u32) -> bool {
        self.first(row) == row
    }

    /// The rows that the first row of a class represents, itself included, in ascending order.
    pub fn members(&self, first: u32) -> &[u32] {
        match self.ranges.get(&first) {
            Some(range) => &self.members[range.clone()],
            None => std::slice::from_ref(&self.first[first as usize]),
        }
    }
}

/// The rows that share all keys of the law with others of their side, each with the number of its
/// class of equal keys.
fn rows_of_equal_keys(
    shared: &Shared,
    bands: usize,
    from: u32,
    rows: &mut impl Rows,
) -> Vec<(usize, u32)> {
    let side = |row: u32| u64::from(shared.split().is_some_and(|split| row < split));
    let has_all = |row: u32| shared.keys(row).len() == bands;
    // With its capacity known, the list takes a third of the memory of a growing one.
    let mut hashed = Vec::with_capacity((from..shared.len()).filter(|&row| has_all(row)).count());
    for row in from..shared.len() {
        let keys = shared.keys(row);
        if has_all(row) {
            let bytes = keys.iter().flat_map(|key| key.to_le_bytes());
            let mut buffer = [0; 4 * 64];
            let length = bytes.zip(&mut buffer).map(|(byte, place)| *place = byte).count();
            hashed.push((xxh3_64_with_seed(&buffer[..length], side(row)), row));
        }
        if row.is_multiple_of(1 << 14) {
            rows.check();
        }
    }
    hashed.sort_unstable();
    let mut alike = Vec::new();
    let equal = hashed.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1);
    for (number, equal) in equal.enumerate() {
        let (keys, side_of_all) = (shared.keys(equal[0].1), side(equal[0].1));
        // Rows with other keys but the same hash, practically impossible, are just not folded.
        let same =
            equal.iter().filter(|&&(_, row)| shared.keys(row) == keys && side(row) == side_of_all);
        alike.extend(same.map(|&(.., row)| (number, row)));
        rows.check();
    }
    alike
}

/// Replaces the hashes of texts by those of sets in rows of equal keys, unless all their texts are
/// equal. The rows must be sorted by hash, and are sorted again.
fn join_equal_sets(
    copies: &mut [Copy],
    shared: &Shared,
    rows: &mut impl Rows,
    comparer: &mut Comparer,
) {
    if copies.first().map(|copy| copy.digest) == copies.last().map(|copy| copy.digest) {
        return;
    }
    for equal in copies.chunk_by_mut(|a, b| a.digest == b.digest) {
        rows.check();
        let row = equal[0].row;
        // A row without a set is near no row, and keeps the hash of its text.
        if comparer.load(rows, row, shared.place(row))
            && let Some(digest) = comparer.set(row).map(ShingleSet::digest)
        {
            equal.iter_mut().for_each(|copy| copy.digest = digest);
        }
    }
    copies.sort_unstable_by_key(|copy| (copy.digest, copy.row));
}
