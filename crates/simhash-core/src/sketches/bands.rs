//! Banding: a signature cut into B bands of C rows. Texts that share a band are candidates.
//!
//! Sets of Jaccard similarity s share at least one band with probability p = 1 - (1 - s^C)^B.

use xxhash_rust::xxh3::Xxh3;

/// How a signature is cut: `bands` bands of `rows` components each, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Banding {
    /// B, at least 1.
    pub bands: usize,
    /// C, at least 1.
    pub rows: usize,
}

/// The rows of a band by default. 128 components then have 32 bands: two sets share one with
/// probability one half at a similarity of 0.38, and with probability 0.99 at 0.6.
pub const DEFAULT_ROWS: usize = 4;

impl Banding {
    /// As many bands of [`DEFAULT_ROWS`] rows as `components` components allow, or one band of all
    /// components if there are fewer.
    pub fn default_for(components: usize) -> Self {
        Self::of_rows(components, DEFAULT_ROWS.min(components))
    }

    /// As many bands of `rows` rows as `components` components allow.
    pub fn of_rows(components: usize, rows: usize) -> Self {
        Banding { bands: components / rows.max(1), rows: rows.max(1) }
    }

    /// The number of components that the bands take.
    pub fn components(self) -> usize {
        self.bands.saturating_mul(self.rows)
    }

    /// The probability that two sets of Jaccard similarity `s` share a band.
    ///
    /// ```
    /// use simhash_core::sketches::bands::Banding;
    /// let p = Banding { bands: 100, rows: 3 }.probability(0.4);
    /// assert!((p - 0.9986585).abs() < 1e-7);
    /// ```
    pub fn probability(self, s: f64) -> f64 {
        1.0 - libm::pow(1.0 - libm::pow(s, self.rows as f64), self.bands as f64)
    }
}

/// A key for every band. Keys are equal if the band, its components, the length of the signature
/// and its origin are equal, and otherwise only with probability 2^-64. `origin` identifies how a
/// signature was made.
pub fn keys(origin: u64, components: &[u32], banding: Banding) -> impl Iterator<Item = u64> + '_ {
    components.chunks_exact(banding.rows.max(1)).take(banding.bands).enumerate().map(
        move |(band, rows)| {
            let mut hasher = Xxh3::with_seed(origin);
            hasher.update(&(components.len() as u32).to_le_bytes());
            hasher.update(&(band as u32).to_le_bytes());
            rows.iter().for_each(|component| hasher.update(&component.to_le_bytes()));
            hasher.digest()
        },
    )
}

/// Whether two signatures share a band.
pub fn share_a_band(a: &[u32], b: &[u32], banding: Banding) -> bool {
    let bands =
        |components| <[u32]>::chunks_exact(components, banding.rows.max(1)).take(banding.bands);
    bands(a).zip(bands(b)).any(|(x, y)| x == y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketches::minhash::MinHasher;

    /// The experiment behind the formula: pairs of sets of one similarity, and how many share a
    /// band.
    #[test]
    fn pairs_meet_as_often_as_the_formula_says() {
        // |A n B| = 400, |A u B| = 1000.
        let element =
            |round: u64, i: u64| (round * 1_000_003 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (banding, rounds) in [
            (Banding { bands: 100, rows: 3 }, 3000),
            (Banding { bands: 20, rows: 3 }, 1500),
            (Banding { bands: 16, rows: 4 }, 1500),
        ] {
            let mut minhasher = MinHasher::new(banding.components());
            let met = (0..rounds)
                .filter(|&round| {
                    let a = minhasher.signature((0..700).map(|i| element(round, i))).unwrap();
                    let b = minhasher.signature((300..1000).map(|i| element(round, i))).unwrap();
                    let mut b_keys = keys(7, &b, banding);
                    let shared = keys(7, &a, banding).any(|key| b_keys.next() == Some(key));
                    assert_eq!(shared, share_a_band(&a, &b, banding));
                    shared
                })
                .count();
            let (expected, share) = (banding.probability(0.4), met as f64 / rounds as f64);
            let deviation = (expected * (1.0 - expected) / rounds as f64).sqrt();
            println!("{banding:?}: {share:.4} of {rounds}, expected {expected:.7}");
            assert!(
                (share - expected).abs() < 4.0 * deviation + 1e-9,
                "{banding:?}: {share} for {expected}"
            );
        }
    }

    #[test]
    fn bands_and_origins_have_keys_of_their_own() {
        let components = [5u32; 12];
        let banding = Banding::default_for(12);
        assert_eq!(banding, Banding { bands: 3, rows: 4 });
        let mut all: Vec<u64> =
            keys(1, &components, banding).chain(keys(2, &components, banding)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert_eq!(Banding::default_for(3), Banding { bands: 1, rows: 3 });
    }
}
