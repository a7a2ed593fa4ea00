//! Pseudo-random numbers that are the same on every machine and in every run.

/// A SplitMix64 generator (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014).
///
/// ```
/// // The first outputs for the seed 1234567 as published with the reference implementation.
/// let mut random = simhash_core::base::random::SplitMix64::new(1234567);
/// assert_eq!([random.next_u64(), random.next_u64()], [6457827717110365317, 3203168211198807973]);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of a seed: equal seeds give equal numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, which must not be 0. All are about equally likely.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }
}

/// The output function of [`SplitMix64`], a bijection in which every bit depends on all bits of
/// `z`.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
