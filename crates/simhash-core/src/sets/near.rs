//! Near fingerprints in memory: block tables (multi-index hashing, Norouzi, Punjani and Fleet, CVPR 2012), grown
//! fingerprint by fingerprint.
//!
//! 64 bits are cut into four blocks of 16, each the key of a table of buckets. Which blocks a look-up changes in
//! how many bits is the index's own [`Plan`]. Few fingerprints, or a distance that would probe more buckets than a
//! scan costs, are scanned.

use crate::Fingerprint;
use crate::lazy::Lazy;
use crate::search::{BlockLayout, Plan};

/// Fingerprints that are scanned before tables are worth their memory.
const SCANNED: usize = 4096;

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = u64::BITS / BLOCKS;
const BUCKETS: usize = 1 << BLOCK_BITS;

/// Fingerprints numbered from 0 in the order in which they were added, with exact search.
pub struct NearIndex {
    distance: u32,
    plan: Plan,
    fingerprints: Vec<u64>,
    /// Empty while scanning is faster; then the buckets of all tables, one table after the other.
    buckets: Vec<Bucket>,
    bucket_bytes: usize,
}

#[derive(Default)]
struct Bucket {
    fingerprints: Vec<u64>,
    numbers: Vec<u32>,
}

/// A fingerprint that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// How far it is.
    pub distance: u32,
    /// Which one it is.
    pub number: u32,
}

/// All block differences, by their number of set bits, and how many have at most so many.
static DIFFERENCES: Lazy<(Vec<u16>, [usize; BLOCK_BITS as usize + 1])> = Lazy::new(|| {
    let mut differences: Vec<u16> = (0..=u16::MAX).collect();
    differences.sort_by_key(|difference| difference.count_ones());
    let within =
        std::array::from_fn(|radius| differences.partition_point(|d| d.count_ones() as usize <= radius));
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
        self.fingerprints.capacity() * 8 + self.buckets.capacity() * size_of::<Bucket>() + self.bucket_bytes
    }

    /// The buckets that a look-up probes.
    fn probes(&self) -> usize {
        let within = &DIFFERENCES.1;
        self.plan.radii().iter().filter_map(|&radius| within.get(usize::try_from(radius).ok()?)).sum()
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
            self.bucket_bytes += (bucket.numbers.capacity() - before) * (size_of::<u64>() + size_of::<u32>());
        }
    }

    /// The nearest fingerprint within the distance, of equally near ones the first added.
    ///
    /// ```
    /// use simhash_core::sets::near::{Found, NearIndex};
    /// let mut index = NearIndex::new(3);
    /// index.add(0b1111_0000);
    /// index.add(0b1111_0011);
    /// assert_eq!(index.nearest(0b1111_0010), Some(Found { distance: 1, number: 0 }));
    /// assert_eq!(index.nearest(0b0000_1111), None);
    /// ```
    pub fn nearest(&self, query: u64) -> Option<Found> {
        /// What a probe costs, counted in fingerprints of a scan.
        const PROBE: usize = 100;
        if self.buckets.is_empty() || self.probes() * (PROBE + self.len() / BUCKETS) > self.len() {
            let numbers = 0..self.len() as u32;
            return self.nearest_of(query, &self.fingerprints, numbers);
        }
        let (differences, within) = &*DIFFERENCES;
        let mut nearest: Option<Found> = None;
        for (table, &radius) in self.plan.radii().iter().enumerate() {
            let Ok(radius) = usize::try_from(radius) else { continue };
            let block = self.plan.layout().block(query, table as u32) as u16;
            for difference in &differences[..within[radius.min(BLOCK_BITS as usize)]] {
                let bucket = &self.buckets[table * BUCKETS + usize::from(block ^ difference)];
                let found = self.nearest_of(query, &bucket.fingerprints, bucket.numbers.iter().copied());
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
    ) -> Option<Found> {
        fingerprints
            .iter()
            .zip(numbers)
            .map(|(&fingerprint, number)| Found { distance: query.hamming(fingerprint), number })
            .filter(|found| found.distance <= self.distance)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// `value` with up to `flips` bits flipped.
    fn flipped(value: u64, flips: u64, state: &mut u64) -> u64 {
        (0..flips).fold(value, |value, _| value ^ 1 << (random(state) % 64))
    }

    #[test]
    fn finds_what_a_scan_finds() {
        for distance in [0, 1, 3, 4, 7, 10, 13, 40, 64] {
            let mut state = u64::from(distance);
            let mut index = NearIndex::new(distance);
            let mut all: Vec<u64> = Vec::new();
            for i in 0..3 * SCANNED {
                let query = match random(&mut state) % 2 {
                    _ if all.is_empty() => random(&mut state),
                    0 => flipped(
                        all[random(&mut state) as usize % all.len()],
                        u64::from(distance) + 2,
                        &mut state,
                    ),
                    _ => random(&mut state),
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
        // k = 10 = 4 * 2 + 2: three blocks in 2 bits (1 + 16 + 120), one in 1 bit (1 + 16).
        assert_eq!(NearIndex::new(10).probes(), 3 * 137 + 17);
        assert_eq!(NearIndex::new(3).probes(), 4);
    }
}
