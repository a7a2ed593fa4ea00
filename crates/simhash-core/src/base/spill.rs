//! Counts pairs of neighbouring terms in bounded memory. When the memory is full, the pairs move to
//! a sorted run outside. The runs are merged at the end, so the counts are exact whatever the
//! memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::base::interrupt::Interrupt;
use crate::base::sort::sort_checked;

/// Storage for sorted runs: a file, or anything else that can be appended to and read.
pub trait Spill {
    /// Appends `bytes`.
    fn append(&mut self, bytes: &[u8]);
    /// Fills `bytes` with the bytes that were written at `offset`.
    fn read(&mut self, offset: u64, bytes: &mut [u8]);
}

/// Pairs of term numbers, counted.
#[derive(Default)]
pub(crate) struct PairCounts {
    /// For each slot, a pair with the left term in the high half, or [`EMPTY`].
    pairs: Vec<u64>,
    counts: Vec<u32>,
    used: usize,
    /// Earlier counts of pairs whose slot would have exceeded 2^32 - 1. They are rare, so a pair
    /// takes no wider slot for them.
    full: Vec<(u64, u32)>,
    /// The start and end of each run in the spill.
    runs: Vec<(u64, u64)>,
}

/// Marks a free slot. It is no pair, because term numbers stay below 2^32 - 1.
const EMPTY: u64 = u64::MAX;
const FEWEST_SLOTS: usize = 1024;
/// Bytes of a pair and its count.
pub(crate) const RECORD: usize = 12;

pub(crate) fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl PairCounts {
    #[inline]
    pub(crate) fn add(&mut self, pair: u64, count: u32, interrupt: &Interrupt) {
        // Reading a slot costs a cache line or two.
        interrupt.spend(32);
        if self.used * 4 >= self.pairs.len() * 3 {
            self.grow(interrupt);
        }
        let slot = self.slot(pair);
        if self.pairs[slot] == EMPTY {
            self.pairs[slot] = pair;
            self.used += 1;
        }
        match self.counts[slot].checked_add(count) {
            Some(sum) => self.counts[slot] = sum,
            None => self.full.push((pair, std::mem::replace(&mut self.counts[slot], count))),
        }
    }

    /// The slot of `pair`, or the free slot for it.
    #[inline]
    fn slot(&self, pair: u64) -> usize {
        let mask = self.pairs.len() - 1;
        let scattered = (pair ^ pair >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (scattered >> 20) as usize & mask;
        while self.pairs[slot] != pair && self.pairs[slot] != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[cold]
    fn grow(&mut self, interrupt: &Interrupt) {
        const STRETCH: usize = 4 << 10;
        let slots = (self.pairs.len() * 2).max(FEWEST_SLOTS);
        let mut grown = PairCounts {
            pairs: Vec::with_capacity(slots),
            counts: Vec::with_capacity(slots),
            ..PairCounts::default()
        };
        while grown.pairs.len() < slots {
            let length = slots.min(grown.pairs.len() + STRETCH);
            grown.pairs.resize(length, EMPTY);
            grown.counts.resize(length, 0);
            interrupt.spend(STRETCH * RECORD);
        }
        for (pair, count) in self.slots() {
            let slot = grown.slot(pair);
            grown.pairs[slot] = pair;
            grown.counts[slot] = count;
            interrupt.spend(32);
        }
        (self.pairs, self.counts) = (grown.pairs, grown.counts);
    }

    /// The pairs in memory. A pair may occur several times; its count is the sum.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.slots().chain(self.full.iter().copied())
    }

    fn slots(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.pairs
            .iter()
            .copied()
            .zip(self.counts.iter().copied())
            .filter(|&(pair, _)| pair != EMPTY)
    }

    /// The number of items of [`PairCounts::iter`].
    pub(crate) fn len(&self) -> usize {
        self.used + self.full.len()
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.pairs.capacity() * RECORD
    }

    /// The most bytes of memory that the next operation may need. Spilling sorts a copy. Growing,
    /// once the slots are nearly full, needs more than that.
    pub(crate) fn memory_at_most(&self) -> usize {
        let nearly_full = self.used * 16 >= self.pairs.len() * 11;
        self.memory() * if nearly_full { 3 } else { 2 }
    }

    /// Moves the pairs in memory to the spill, sorted.
    pub(crate) fn spill(&mut self, spill: &mut dyn Spill, interrupt: &Interrupt) {
        let mut sorted: Vec<(u64, u32)> =
            self.iter().inspect(|_| interrupt.spend(RECORD)).collect();
        sort_checked(&mut sorted, &mut || interrupt.check());
        let start = self.runs.last().map_or(0, |&(_, end)| end);
        for chunk in sorted.chunks(4096) {
            let bytes: Vec<u8> = chunk
                .iter()
                .flat_map(|(pair, count)| pair.to_le_bytes().into_iter().chain(count.to_le_bytes()))
                .collect();
            spill.append(&bytes);
        }
        self.runs.push((start, start + (sorted.len() * RECORD) as u64));
        (self.pairs, self.counts, self.used) = (Vec::new(), Vec::new(), 0);
        self.full = Vec::new();
    }

    /// Hands every pair with its count to `sink`, each once, in no particular order.
    pub(crate) fn for_each(
        &mut self,
        spill: Option<&mut (dyn Spill + '_)>,
        interrupt: &Interrupt,
        mut sink: impl FnMut(u64, u64),
    ) {
        let mut sink = |pair, count| {
            interrupt.spend(32);
            sink(pair, count);
        };
        let Some(spill) = spill.filter(|_| !self.runs.is_empty()) else {
            for (pair, count) in self.slots() {
                let full = self.full.iter().filter(|&&(of, _)| of == pair);
                sink(
                    pair,
                    full.map(|&(_, count)| u64::from(count)).sum::<u64>() + u64::from(count),
                );
            }
            return;
        };
        if self.used > 0 {
            self.spill(spill, interrupt);
        }
        let mut runs: Vec<RunReader> =
            self.runs.iter().map(|&(start, end)| RunReader::new(start, end)).collect();
        let mut heads: BinaryHeap<Reverse<(u64, u32, usize)>> = BinaryHeap::new();
        let mut advance = |heads: &mut BinaryHeap<_>, run: usize| {
            if let Some((pair, count)) = runs[run].next(spill) {
                heads.push(Reverse((pair, count, run)));
            }
        };
        (0..self.runs.len()).for_each(|run| advance(&mut heads, run));
        let mut last: Option<(u64, u64)> = None;
        while let Some(Reverse((pair, count, run))) = heads.pop() {
            advance(&mut heads, run);
            match &mut last {
                Some((open, total)) if *open == pair => *total += u64::from(count),
                _ => {
                    if let Some((done, total)) = last.replace((pair, u64::from(count))) {
                        sink(done, total);
                    }
                }
            }
        }
        if let Some((done, total)) = last {
            sink(done, total);
        }
    }
}

/// Reads a run, some records at a time.
struct RunReader {
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    read: usize,
}

impl RunReader {
    const BUFFER: u64 = (RECORD * 4096) as u64;

    fn new(start: u64, end: u64) -> Self {
        RunReader { next: start, end, buffer: Vec::new(), read: 0 }
    }

    fn next(&mut self, spill: &mut dyn Spill) -> Option<(u64, u32)> {
        if self.read == self.buffer.len() {
            let length = (self.end - self.next).min(Self::BUFFER);
            self.buffer.resize(length as usize, 0);
            spill.read(self.next, &mut self.buffer);
            self.next += length;
            self.read = 0;
        }
        let record = &self.buffer[self.read..];
        let (pair, count) = (record.first_chunk::<8>()?, record.get(8..)?.first_chunk::<4>()?);
        self.read += RECORD;
        Some((u64::from_le_bytes(*pair), u32::from_le_bytes(*count)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A spill in memory.
    #[derive(Default)]
    pub(crate) struct Buffer(pub(crate) Vec<u8>);

    impl Spill for Buffer {
        fn append(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
        fn read(&mut self, offset: u64, bytes: &mut [u8]) {
            let start = offset as usize;
            bytes.copy_from_slice(&self.0[start..start + bytes.len()]);
        }
    }

    #[test]
    fn counts_are_exact_with_and_without_spilling() {
        for spill_every in [usize::MAX, 10_000, 777] {
            let (mut counts, mut spill) = (PairCounts::default(), Buffer::default());
            let mut nothing = || ();
            let interrupt = &Interrupt::new(&mut nothing);
            let mut expected: HashMap<u64, u64> = HashMap::new();
            for i in 0..60_000u64 {
                let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let key = pair((number % 300) as u32, (number / 300 % 40) as u32);
                counts.add(key, 1 + (i % 3) as u32, interrupt);
                *expected.entry(key).or_default() += 1 + i % 3;
                if i as usize % spill_every == spill_every - 1 {
                    counts.spill(&mut spill, interrupt);
                }
            }
            let mut got = HashMap::new();
            counts.for_each(Some(&mut spill), interrupt, |key, count| {
                assert_eq!(got.insert(key, count), None);
            });
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn counts_beyond_32_bits_are_exact() {
        let (often, once) = (pair(1, 2), pair(3, 4));
        for spilt in [false, true] {
            let (mut counts, mut spill) = (PairCounts::default(), Buffer::default());
            let mut nothing = || ();
            let interrupt = &Interrupt::new(&mut nothing);
            counts.add(once, 1, interrupt);
            for _ in 0..3 {
                counts.add(often, u32::MAX, interrupt);
            }
            // Grows, which keeps what does not fit in a slot.
            (0..2000).for_each(|i| counts.add(pair(5, i), 1, interrupt));
            counts.add(often, 7, interrupt);
            assert_eq!(counts.iter().count(), counts.len());
            let of_often = counts.iter().filter(|item| item.0 == often);
            let sum: u64 = of_often.map(|item| u64::from(item.1)).sum();
            assert_eq!(sum, 3 * u64::from(u32::MAX) + 7);
            if spilt {
                counts.spill(&mut spill, interrupt);
                counts.add(often, 1, interrupt);
            }
            let mut got = HashMap::new();
            counts.for_each(Some(&mut spill), interrupt, |key, count| {
                assert_eq!(got.insert(key, count), None);
            });
            let expected = 3 * u64::from(u32::MAX) + 7 + u64::from(spilt);
            assert_eq!((got[&often], got[&once], got.len()), (expected, 1, 2002));
        }
    }
}
