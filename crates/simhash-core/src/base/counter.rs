//! A counter of distinct hashes: a dense list in order of first occurrence, and an open-addressing
//! index over it.

use std::hash::{BuildHasher, RandomState};

use crate::Fingerprint;
use crate::base::interrupt::Interrupt;

/// Distinct hashes with a number each, in the order in which they were first added.
pub(crate) struct Counter<F> {
    hashes: Vec<F>,
    numbers: Vec<u32>,
    /// For each slot, 0 if it is free, or 1 + the place of its hash in the list.
    index: Vec<u32>,
    /// 64 - log2 of the number of slots.
    shift: u32,
    /// Odd and random, so that no crafted text can make every probe collide.
    multiplier: u64,
}

const FEWEST_SLOTS: usize = 256;

/// The most hashes. For more, the number of slots would not fit a `u32`.
pub(crate) const MOST: usize = 3 << 29;

impl<F: Fingerprint> Counter<F> {
    pub(crate) fn new() -> Self {
        let multiplier = RandomState::new().hash_one(0u64) | 1;
        let mut counter = Counter {
            hashes: Vec::new(),
            numbers: Vec::new(),
            index: Vec::new(),
            shift: 0,
            multiplier,
        };
        counter.set_slots(FEWEST_SLOTS, &Interrupt::new(&mut || ()));
        counter
    }

    /// Forgets every hash. Keeps the memory unless it is large.
    pub(crate) fn clear(&mut self) {
        const KEPT: usize = 1 << 16;
        if self.index.len() > KEPT {
            *self = Self::new();
        } else {
            self.hashes.clear();
            self.numbers.clear();
            self.index.fill(0);
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.hashes.capacity() * size_of::<F>()
            + (self.numbers.capacity() + self.index.capacity()) * size_of::<u32>()
    }

    /// The distinct hashes.
    pub(crate) fn hashes(&self) -> &[F] {
        &self.hashes
    }

    /// The number of each hash, in the order of [`Counter::hashes`].
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The place of `hash` in the list. If it was not there, it is appended with the number 0.
    #[inline]
    fn place(&mut self, hash: F) -> usize {
        let mask = self.index.len() - 1;
        let mut slot = self.slot(hash);
        loop {
            match self.index[slot] {
                0 => break,
                entry if self.hashes[entry as usize - 1] == hash => return entry as usize - 1,
                _ => slot = (slot + 1) & mask,
            }
        }
        self.hashes.push(hash);
        self.numbers.push(0);
        self.index[slot] = self.hashes.len() as u32;
        self.reserve(0, &Interrupt::new(&mut || ()));
        self.hashes.len() - 1
    }

    /// Counts one occurrence of `hash`, or sets its number if one is given. Returns its place in
    /// the list. Counts stop at `u32::MAX`.
    #[inline]
    pub(crate) fn count(&mut self, hash: F, number: Option<u32>) -> usize {
        let place = self.place(hash);
        let counted = &mut self.numbers[place];
        *counted = number.unwrap_or(counted.saturating_add(1));
        place
    }

    /// The number of `hash`, if it was added.
    #[inline]
    pub(crate) fn get(&self, hash: F) -> Option<u32> {
        let mask = self.index.len() - 1;
        let mut slot = self.slot(hash);
        loop {
            match self.index[slot] {
                0 => return None,
                entry if self.hashes[entry as usize - 1] == hash => {
                    return Some(self.numbers[entry as usize - 1]);
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[inline]
    fn slot(&self, hash: F) -> usize {
        (hash.word(0).wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// Makes room for `more` hashes, so that counting them does not grow the index.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize, interrupt: &Interrupt) {
        while (self.hashes.len() + more) * 4 > self.index.len() * 3 {
            self.set_slots(self.index.len() * 2, interrupt);
        }
    }

    /// Rebuilds the index with `slots` slots: a power of two greater than the length of the list.
    #[cold]
    fn set_slots(&mut self, slots: usize, interrupt: &Interrupt) {
        assert!(u32::try_from(slots).is_ok(), "more than 2^31 distinct features");
        self.index = Vec::with_capacity(slots);
        while self.index.len() < slots {
            const STRETCH: usize = 4 << 10;
            self.index.resize(slots.min(self.index.len() + STRETCH), 0);
            interrupt.spend(STRETCH);
        }
        self.shift = 64 - slots.ilog2();
        for place in 0..self.hashes.len() {
            let mut slot = self.slot(self.hashes[place]);
            while self.index[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            self.index[slot] = place as u32 + 1;
            interrupt.spend(size_of::<F>());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_like_a_map(hashes in prop::collection::vec(0u128..400, 0..2000)) {
            let mut counter = Counter::new();
            let mut map: HashMap<u128, u32> = HashMap::new();
            let mut order = Vec::new();
            for hash in hashes.iter().map(|&hash| hash << 90 | hash) {
                let count = map.entry(hash).or_default();
                *count += 1;
                if *count == 1 {
                    order.push(hash);
                }
                prop_assert_eq!(order[counter.count(hash, None)], hash);
            }
            prop_assert_eq!(counter.hashes(), &order[..]);
            for (&hash, &number) in order.iter().zip(counter.numbers()) {
                prop_assert_eq!(number, map[&hash]);
                prop_assert_eq!(counter.get(hash), Some(number));
            }
            prop_assert_eq!(counter.get(u128::MAX), None);
            counter.clear();
            prop_assert!(counter.hashes().is_empty());
            prop_assert!(order.iter().all(|&hash| counter.get(hash).is_none()));
        }
    }
}
