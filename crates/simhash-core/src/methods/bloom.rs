//! Bloom filters: sets of texts that answer "maybe" or "certainly not" (Bloom 1970).
//!
//! Filters are stored, so their layout must never change, and no hashing crate may define it. The k
//! positions of a text are g_i = h1 + i h2 + (i^3 - i) / 6 (enhanced double hashing, Dillinger and
//! Manolios 2004) over the halves of its XXH3-128, scaled to m. Bit p is bit p % 8 of byte p / 8. A
//! filter says "maybe" only if *all* k bits are set. Its false-positive rate with n texts is (1 -
//! e^(-k n / m))^k.

use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

/// The size of a filter. Only filters of equal shape can be united.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// m, the number of bits.
    pub bits: u64,
    /// k, the number of bits that a text sets.
    pub hashes: u32,
}

/// The most bits of a filter: half a gigabyte of them.
pub const MAX_BITS: u64 = 1 << 32;

/// The most bits a text can set.
pub const MAX_HASHES: u32 = 64;

/// Why a filter of the requested size is impossible.
#[derive(Debug, Clone, PartialEq)]
pub enum ShapeError {
    /// The number of texts is not 1 or more.
    Expected(i64),
    /// The rate is not between 0 and 1, both excluded.
    Rate(f64),
    /// More than [`MAX_BITS`] would be needed.
    TooLarge(f64),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Expected(expected) => {
                write!(f, "a Bloom filter cannot be sized for {expected} texts")
            }
            ShapeError::Rate(rate) => write!(f, "false-positive rate {rate} is out of range"),
            ShapeError::TooLarge(bits) => {
                write!(f, "a Bloom filter of {bits:.0} bits is too large")
            }
        }
    }
}

impl std::error::Error for ShapeError {}

impl Shape {
    /// The smallest filter whose false-positive rate is `rate` when it holds `expected` texts.
    ///
    /// # Errors
    /// An expected number less than 1, a rate outside ]0, 1[, and a filter of more than
    /// [`MAX_BITS`].
    ///
    /// ```
    /// use simhash_core::methods::bloom::Shape;
    /// // m = 9.585 n and k = 7 for one per cent.
    /// assert_eq!(Shape::for_rate(1000, 0.01), Ok(Shape { bits: 9593, hashes: 7 }));
    /// assert!(Shape::for_rate(0, 0.01).is_err() && Shape::for_rate(1, 1.0).is_err());
    /// ```
    pub fn for_rate(expected: i64, rate: f64) -> Result<Self, ShapeError> {
        if expected < 1 {
            return Err(ShapeError::Expected(expected));
        }
        if !(rate > 0.0 && rate < 1.0) {
            return Err(ShapeError::Rate(rate));
        }
        // The equation of the rate, solved for m at a whole k. Over the real numbers, m is least at
        // k = -log2(rate).
        let bits = |hashes: u32| {
            let k = f64::from(hashes);
            -k * expected as f64 / libm::log(1.0 - libm::pow(rate, 1.0 / k))
        };
        let best = -libm::log2(rate);
        let floor = (best as u32).clamp(1, MAX_HASHES);
        let ceiling = (floor + 1).min(MAX_HASHES);
        let hashes = if bits(floor) <= bits(ceiling) { floor } else { ceiling };
        let bits = libm::ceil(bits(hashes)).max(8.0);
        if bits > MAX_BITS as f64 {
            return Err(ShapeError::TooLarge(bits));
        }
        Ok(Shape { bits: bits as u64, hashes })
    }

    /// The number of bytes that hold the bits.
    pub fn bytes(self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Whether the shape is within the limits.
    pub fn is_valid(self) -> bool {
        (8..=MAX_BITS).contains(&self.bits) && (1..=MAX_HASHES).contains(&self.hashes)
    }

    /// The false-positive rate of a filter that holds `count` texts.
    pub fn rate(self, count: u64) -> f64 {
        let k = f64::from(self.hashes);
        libm::pow(1.0 - libm::exp(-k * count as f64 / self.bits as f64), k)
    }

    /// The bits of `text`.
    #[inline]
    fn positions(self, text: &[u8]) -> impl Iterator<Item = (usize, u8)> {
        let hash = xxh3_128(text);
        let (mut position, mut stride) = (hash as u64, (hash >> 64) as u64);
        (0..u64::from(self.hashes)).map(move |i| {
            let bit = ((u128::from(position) * u128::from(self.bits)) >> 64) as u64;
            position = position.wrapping_add(stride);
            stride = stride.wrapping_add(i + 1);
            ((bit / 8) as usize, 1 << (bit % 8))
        })
    }

    /// Whether all bits of `text` are set in a filter's bytes. There must be [`Shape::bytes`] of
    /// them.
    #[inline]
    pub fn contains(self, bytes: &[u8], text: &[u8]) -> bool {
        self.positions(text).all(|(byte, bit)| bytes[byte] & bit != 0)
    }

    /// Sets all bits of `text`. True if one was not set before, so that the text is certainly new.
    #[inline]
    pub fn insert(self, bytes: &mut [u8], text: &[u8]) -> bool {
        let mut new = false;
        for (byte, bit) in self.positions(text) {
            new |= bytes[byte] & bit == 0;
            bytes[byte] |= bit;
        }
        new
    }
}

/// A set that grows with its texts: each filter is made for four times as many texts as the one
/// before, at half its rate, so that all of them together keep the rate (scalable Bloom filters,
/// Almeida et al. 2007).
pub struct ScalableBloom {
    filters: Vec<(Shape, Vec<u8>)>,
    rate: f64,
    /// How many more texts fit the last filter.
    left: i64,
    /// How many texts the last filter was made for.
    capacity: i64,
}

impl ScalableBloom {
    /// An empty set with a false-positive rate of at most `rate`, whatever the number of texts.
    ///
    /// # Errors
    /// A rate outside ]0, 1[, and otherwise as [`Shape::for_rate`] for half the rate.
    pub fn new(first_capacity: i64, rate: f64) -> Result<Self, ShapeError> {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(ShapeError::Rate(rate));
        }
        let shape = Shape::for_rate(first_capacity, rate / 2.0)?;
        let filters = vec![(shape, vec![0; shape.bytes()])];
        Ok(ScalableBloom {
            filters,
            rate: rate / 2.0,
            left: first_capacity,
            capacity: first_capacity,
        })
    }

    /// Adds `text`. True if it is certainly new.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] when the next filter would be too large.
    pub fn insert(&mut self, text: &[u8]) -> Result<bool, ShapeError> {
        let (last, older) = self.filters.split_last_mut().expect("there is always a filter");
        if older.iter().any(|(shape, bytes)| shape.contains(bytes, text))
            || !last.0.insert(&mut last.1, text)
        {
            return Ok(false);
        }
        self.left -= 1;
        if self.left == 0 {
            self.capacity *= 4;
            self.rate /= 2.0;
            let shape = Shape::for_rate(self.capacity, self.rate)?;
            self.filters.push((shape, vec![0; shape.bytes()]));
            self.left = self.capacity;
        }
        Ok(true)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.filters.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_give_the_asked_rate() {
        for rate in [0.5, 0.3, 0.1, 0.01, 1e-3, 1e-6, 1e-12] {
            let shape = Shape::for_rate(1_000_000, rate).unwrap();
            let expected = shape.rate(1_000_000);
            assert!((expected / rate - 1.0).abs() < 1e-4, "{rate}: {shape:?} has {expected}");
            // The textbook's lower bound is n log2(1/p) / ln 2.
            let bound = 1e6 * -rate.log2() / std::f64::consts::LN_2;
            assert!(
                shape.bits as f64 >= bound * 0.9999 && (shape.bits as f64) < bound * 1.1,
                "{rate}: {shape:?}"
            );
        }
        assert!(matches!(Shape::for_rate(i64::MAX, 0.01), Err(ShapeError::TooLarge(_))));
        assert!(matches!(Shape::for_rate(1, f64::NAN), Err(ShapeError::Rate(_))));
    }

    #[test]
    fn measured_rate_is_within_a_tenth_of_the_asked_one() {
        for rate in [0.1, 0.01, 0.001] {
            let shape = Shape::for_rate(200_000, rate).unwrap();
            let mut bytes = vec![0; shape.bytes()];
            let mut maybe = 0;
            for i in 0..200_000u32 {
                maybe += usize::from(!shape.insert(&mut bytes, format!("text {i}").as_bytes()));
                assert!(shape.contains(&bytes, format!("text {i}").as_bytes()));
            }
            let queries = 2_000_000;
            let wrong = (0..queries)
                .filter(|i| shape.contains(&bytes, format!("other {i}").as_bytes()))
                .count();
            let measured = wrong as f64 / f64::from(queries);
            println!("asked {rate}, measured {measured:.6}, maybe while filling {maybe}");
            assert!((measured / rate - 1.0).abs() < 0.1, "asked {rate}, measured {measured}");
        }
    }

    #[test]
    fn a_growing_filter_is_refused_without_a_rate() {
        for rate in [1.0, 1.5, 2.0, 0.0, -0.5, f64::INFINITY] {
            assert_eq!(ScalableBloom::new(1000, rate).err(), Some(ShapeError::Rate(rate)));
        }
        assert!(matches!(ScalableBloom::new(1000, f64::NAN), Err(ShapeError::Rate(_))));
        assert!(ScalableBloom::new(1000, 0.99).is_ok());
    }

    #[test]
    fn a_growing_filter_keeps_its_rate() {
        let mut bloom = ScalableBloom::new(1000, 0.01).unwrap();
        let wrong =
            (0..100_000).filter(|i| !bloom.insert(format!("text {i}").as_bytes()).unwrap()).count();
        assert!(wrong < 1000, "{wrong} of 100,000 texts called duplicates");
        assert!((0..100_000).all(|i| !bloom.insert(format!("text {i}").as_bytes()).unwrap()));
    }
}
