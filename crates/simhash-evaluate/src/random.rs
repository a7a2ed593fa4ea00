//! Random numbers that are the same on every machine: SplitMix64 (Steele, Lea and Flood 2014).

/// A generator; equal seeds give equal numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed` for the purpose named: two purposes have unrelated numbers.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let named = purpose.bytes().fold(seed, |state, byte| mix(state ^ u64::from(byte)));
        Random(mix(named))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_seed_and_purpose_only() {
        let numbers = |seed, purpose| -> Vec<u64> {
            let mut random = Random::new(seed, purpose);
            (0..4).map(|_| random.next()).collect()
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
