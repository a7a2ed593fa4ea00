//! Random numbers for samples, edits and resamples, the same on every machine.

use simhash_core::base::random::SplitMix64;

/// A generator. Equal seeds give equal numbers.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// The generator of `seed` for the purpose named: two purposes have unrelated numbers.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let step = |state: u64| SplitMix64::new(state).next_u64();
        let named = purpose.bytes().fold(seed, |state, byte| step(state ^ u64::from(byte)));
        let mut generator = SplitMix64::new(step(named));
        // The committed results were drawn without its first number.
        generator.next_u64();
        Random(generator)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_seed_and_purpose_only() {
        let numbers = |seed, purpose| -> Vec<usize> {
            let mut random = Random::new(seed, purpose);
            (0..4).map(|_| random.below(1 << 32)).collect()
        };
        assert_eq!(numbers(1, "a"), numbers(1, "a"));
        assert_ne!(numbers(1, "a"), numbers(2, "a"));
        assert_ne!(numbers(1, "a"), numbers(1, "b"));
    }

    #[test]
    fn below_is_even_and_a_shuffle_keeps_the_items() {
        let mut random = Random::new(7, "test");
        let mut counts = [0u32; 5];
        (0..50_000).for_each(|_| counts[random.below(5)] += 1);
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
        let mut items: Vec<u32> = (0..100).collect();
        random.shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
