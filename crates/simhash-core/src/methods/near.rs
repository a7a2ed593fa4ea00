//! Near fingerprints in memory: block tables that grow one fingerprint at a time (multi-index
//! hashing, Norouzi, Punjani and Fleet, CVPR 2012).
//!
//! 64 bits are cut into four blocks of 16, and each block is the key of a table of buckets. The
//! index's [`Plan`] gives the number of bits that a look-up may change in each block. A set is
//! scanned while it is small, and for a distance at which probing buckets would cost more than a
//! scan.

use crate::Fingerprint;
use crate::base::lazy::Lazy;
use crate::search::{BlockLayout, Plan};

/// Up to so many fingerprints are scanned, because tables are not worth their memory yet.
const SCANNED: usize = 4096;

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = u64::BITS / BLOCKS;
const BUCKETS: usize = 1 << BLOCK_BITS;

/// Fingerprints numbered from 0 in the order in which they were added, with exact search.
pub struct NearIndex {
    distance: u32,
    plan: Plan,
    fingerprints: Vec<u64>,
    /// The buckets of all tables, one table after the other. Empty as long as every look-up is a
    /// scan.
    buckets: Vec<Bucket>,
    bucket_bytes: usize,
}

#[derive(Default)]
struct Bucket {
    fingerprints: Vec<u64>,
    numbers: Vec<u32>,
}

/// A fingerprint that is near a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Its distance from the query.
    pub distance: u32,
    /// Its number in the set.
    pub number: u32,
}

/// All differences of two blocks, those with fewer set bits first, and for each number of set bits,
/// how many differences have at most that many.
static DIFFERENCES: Lazy<(Vec<u16>, [usize; BLOCK_BITS as usize + 1])> = Lazy::new(|| {
    let mut differences: Vec<u16> = (0..=u16::MAX).collect();
    differences.sort_by_key(|difference| difference.count_ones());
    let within = std::array::from_fn(|radius| {
        differences.partition_point(|d| d.count_ones() as usize <= radius)
    });
    (differences, within)
});

impl NearIndex {
    /// An empty set for searches within `distance`, 0 to 64.
    ///
    /// # Panics
    /// When it is greater.
    pub fn new(distance: u32) -> Self {
        assert!(distance <= u64::BITS, "distance {distance}");
        let layout = BlockLayout::new::<u64>(BLOCKS).expect("four blocks are allowed");
        let plan = Plan::balanced(layout, distance, BLOCKS);
        NearIndex { distance, plan, fingerprints: Vec::new(), buckets: Vec::new(), bucket_bytes: 0 }
    }

    /// The number of fingerprints.
    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// Whether there is no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Bytes of memory: about 100 a fingerprint once there are tables, and 12 MB for these.
    pub fn memory(&self) -> usize {
        self.fingerprints.capacity() * 8
            + self.buckets.capacity() * size_of::<Bucket>()
            + self.bucket_bytes
    }

    /// The number of buckets that a look-up probes.
    fn probes(&self) -> usize {
        let within = &DIFFERENCES.1;
        self.plan.radii().flatten().filter_map(|radius| within.get(radius as usize)).sum()
    }

    /// Adds a fingerprint and returns its number.
    ///
    /// # Panics
    /// At 2^32 fingerprints.
    pub fn add(&mut self, fingerprint: u64) -> u32 {
        let number = u32::try_from(self.len()).expect("fewer than 2^32 fingerprints");
        self.fingerprints.push(fingerprint);
        if !self.buckets.is_empty() {
            self.add_to_buckets(fingerprint, number);
        } else if self.len() > SCANNED && self.distance < u64::BITS / 2 {
            self.buckets.resize_with(BUCKETS * BLOCKS as usize, Bucket::default);
            for number in 0..self.len() {
                self.add_to_buckets(self.fingerprints[number], number as u32);
            }
        }
        number
    }

    fn add_to_buckets(&mut self, fingerprint: u64, number: u32) {
        for table in 0..BLOCKS {
            let block = self.plan.layout().block(fingerprint, table) as usize;
            let bucket = &mut self.buckets[table as usize * BUCKETS + block];
            let before = bucket.numbers.capacity();
            bucket.fingerprints.push(fingerprint);
            bucket.numbers.push(number);
            self.bucket_bytes +=
                (bucket.numbers.capacity() - before) * (size_of::<u64>() + size_of::<u32>());
        }
    }

    /// The nearest fingerprint within the distance. Among equally near ones, the one added first.
    ///
    /// ```
    /// use simhash_core::methods::near::{Neighbour, NearIndex};
    /// let mut index = NearIndex::new(3);
    /// index.add(0b1111_0000);
    /// index.add(0b1111_0011);
    /// assert_eq!(index.nearest(0b1111_0010), Some(Neighbour { distance: 1, number: 0 }));
    /// assert_eq!(index.nearest(0b0000_1111), None);
    /// ```
    pub fn nearest(&self, query: u64) -> Option<Neighbour> {
        /// What a probe costs, counted in fingerprints of a scan.
        const PROBE: usize = 100;
        if self.buckets.is_empty() || self.probes() * (PROBE + self.len() / BUCKETS) > self.len() {
            let numbers = 0..self.len() as u32;
            return self.nearest_of(query, &self.fingerprints, numbers);
        }
        let (differences, within) = &*DIFFERENCES;
        let mut nearest: Option<Neighbour> = None;
        for (table, radius) in self.plan.radii().enumerate() {
            let Some(radius) = radius else { continue };
            let block = self.plan.layout().block(query, table as u32) as u16;
            for difference in &differences[..within[radius.min(BLOCK_BITS) as usize]] {
                let bucket = &self.buckets[table * BUCKETS + usize::from(block ^ difference)];
                let found =
                    self.nearest_of(query, &bucket.fingerprints, bucket.numbers.iter().copied());
                nearest = [nearest, found].into_iter().flatten().min();
            }
        }
        nearest
    }

    fn nearest_of(
        &self,
        query: u64,
        fingerprints: &[u64],
        numbers: impl Iterator<Item = u32>,
    ) -> Option<Neighbour> {
        fingerprints
            .iter()
            .zip(numbers)
            .map(|(&fingerprint, number)| Neighbour {
                distance: query.hamming(fingerprint),
                number,
            })
            .filter(|found| found.distance <= self.distance)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    /// `value` with up to `flips` bits flipped.
    fn flipped(value: u64, flips: u64, random: &mut SplitMix64) -> u64 {
        (0..flips).fold(value, |value, _| value ^ 1 << random.below(64))
    }

    #[test]
    fn finds_what_a_scan_finds() {
        for distance in [0, 1, 3, 4, 7, 10, 13, 40, 64] {
            let mut random = SplitMix64::new(u64::from(distance));
            let mut index = NearIndex::new(distance);
            let mut all: Vec<u64> = Vec::new();
            for i in 0..3 * SCANNED {
                let query = if all.is_empty() || random.below(2) == 1 {
                    random.next_u64()
                } else {
                    let one = all[random.below(all.len() as u64) as usize];
                    flipped(one, u64::from(distance) + 2, &mut random)
                };
                if i % 7 == 0 {
                    let expected = all
                        .iter()
                        .enumerate()
                        .map(|(number, f)| ((f ^ query).count_ones(), number as u32))
                        .filter(|&(d, _)| d <= distance)
                        .min();
                    let found = index.nearest(query).map(|found| (found.distance, found.number));
                    assert_eq!(found, expected, "distance {distance}, {} fingerprints", all.len());
                }
                all.push(query);
                index.add(query);
            }
        }
    }

    #[test]
    fn probes_are_those_of_the_plan() {
        // k + 1 = 11 = 3 + 3 + 3 + 2: three blocks in 2 bits (1 + 16 + 120), one in 1 bit (1 + 16).
        assert_eq!(NearIndex::new(10).probes(), 3 * 137 + 17);
        assert_eq!(NearIndex::new(3).probes(), 4);
    }
}
