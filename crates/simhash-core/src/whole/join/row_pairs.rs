//! All near pairs of rows whose keys are in memory, found on demand.

use super::cover::{Asked, Sorted};
use super::plan::{Part, plan_join};
use super::steps::{Join, Step};
use super::walk::GroupPair;
use crate::search::{BlockLayout, TreeKey};

/// Pairs of groups of rows, in progress. Rows of equal keys are one group.
pub struct RowPairs<K: TreeKey> {
    keys: Vec<K>,
    layout: BlockLayout,
    numbers: Vec<u32>,
    join: Join<K>,
    found: Vec<GroupPair>,
    next: usize,
    is_done: bool,
}

/// The bytes of memory that a row takes.
pub fn bytes_per_row_of_pairs<K: TreeKey>() -> usize {
    size_of::<K>() + size_of::<u32>() + super::bytes_per_row::<K>() + size_of::<(K, u64)>()
}

impl<K: TreeKey> RowPairs<K> {
    /// The pairs of rows with these keys, which are not rotated and have no scopes.
    pub fn new(keys: Vec<K>, layout: BlockLayout, distance: u32) -> Self {
        let parts = [Part::one(keys.len() as f64)];
        let plan = plan_join::<K::Fingerprint>(layout, distance, &parts, 1);
        let (numbers, join) = ((0..keys.len() as u32).collect(), Join::new(plan, keys.len() + 1));
        Self { keys, layout, numbers, join, found: Vec::new(), next: 0, is_done: false }
    }

    /// Puts the rows of the next two groups into `left` and `right`, and returns their distance.
    /// Each row of `left` is in a pair with each of `right`. If `right` is empty, any two rows of
    /// `left` are a pair.
    pub fn next_groups(
        &mut self,
        asked: &mut impl Asked,
        left: &mut Vec<u32>,
        right: &mut Vec<u32>,
    ) -> Option<u32> {
        while self.next == self.found.len() {
            if self.is_done {
                return None;
            }
            self.found.clear();
            self.next = 0;
            let Self { keys, layout, numbers, join, .. } = self;
            let share = join.progress().1;
            let mut rows = Sorted { keys, layout: *layout, numbers, split: None, asked, share };
            self.is_done = join.step(&mut rows, &mut self.found) == Step::Done;
        }
        let pair = self.found[self.next];
        self.next += 1;
        let is_one = pair.left == pair.right && pair.distance == 0 && !self.join.is_across();
        let take = |from: &[u64], to: &mut Vec<u32>| {
            to.clear();
            to.extend(from.iter().map(|&row| row as u32));
        };
        take(self.join.left().group(pair.left), left);
        right.clear();
        if !is_one {
            take(self.join.right().group(pair.right), right);
        }
        Some(pair.distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;
    use crate::base::memory::NoMemory;
    use crate::base::random::SplitMix64;

    struct Nobody;

    impl Asked for Nobody {
        fn similarity(&mut self, _: u32, _: u32) -> Option<f64> {
            Some(0.0)
        }
        fn is_verified(&self) -> bool {
            false
        }
        fn check(&mut self, _: f64) {}
        fn refused(&mut self, refused: NoMemory) -> ! {
            panic!("{refused:?}")
        }
    }

    /// Compares with brute force, over random keys, families and copies.
    #[test]
    fn pairs_are_those_by_force() {
        let mut random = SplitMix64::new(7);
        for distance in [0, 1, 3, 9, 20] {
            let mut keys: Vec<u64> = Vec::new();
            while keys.len() < 1500 {
                let key = match keys.len() % 3 {
                    0 => random.next_u64(),
                    1 => keys[random.below(keys.len() as u64) as usize],
                    _ => {
                        let flips = (0..4).fold(0, |bits, _| bits | 1 << random.below(64));
                        keys[random.below(keys.len() as u64) as usize] ^ flips
                    }
                };
                keys.push(key);
            }
            let mut expected = Vec::new();
            for (a, x) in (0..).zip(&keys) {
                for (b, y) in (a + 1..).zip(&keys[a as usize + 1..]) {
                    let apart = x.hamming(*y);
                    if apart <= distance {
                        expected.push((a, b, apart));
                    }
                }
            }
            let layout = BlockLayout::new::<u64>(4).unwrap();
            let mut pairs = RowPairs::new(keys, layout, distance);
            let (mut left, mut right, mut found) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(apart) = pairs.next_groups(&mut Nobody, &mut left, &mut right) {
                for (i, &a) in left.iter().enumerate() {
                    let others = if right.is_empty() { &left[i + 1..] } else { &right[..] };
                    found.extend(others.iter().map(|&b: &u32| (a.min(b), a.max(b), apart)));
                }
            }
            found.sort_unstable();
            assert_eq!(found, expected, "within {distance}");
        }
    }
}
