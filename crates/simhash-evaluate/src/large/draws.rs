//! Whether the pairs that a law misses depend on the hash functions of the sketches: sketches the
//! same pairs with others.

use rayon::prelude::*;
use simhash_core::base::random::mix;
use simhash_core::base::simd::scattered;
use simhash_core::base::simd::scattered::LANES;
use simhash_core::sets::sketch::Law;

use super::sets::Sets;
use super::tally::Found;

/// How often other hash functions are drawn.
const DRAWS: u64 = 20;

/// For each law, the share of its pairs that are candidates, in each draw.
pub fn shares(sets: &Sets, of_laws: &[(Law, Found)]) -> Vec<Vec<f64>> {
    let mut shares = vec![Vec::new(); of_laws.len()];
    for draw in 1..=DRAWS {
        let sketches = sketches(sets, |hash| mix(mix(draw) ^ hash));
        for (shares, (law, pairs)) in shares.iter_mut().zip(of_laws) {
            let found = pairs.par_iter().filter(|&&(a, b)| {
                agreed(&sketches[a as usize], &sketches[b as usize], *law) >= law.shared
            });
            shares.push(found.count() as f64 / pairs.len().max(1) as f64);
        }
    }
    shares
}

/// The components of each set, with other hashes of its elements.
fn sketches(sets: &Sets, other: impl Fn(u64) -> u64 + Sync) -> Vec<[u32; LANES]> {
    let sets = (0..sets.len()).into_par_iter().map(|number| sets.get(number));
    let sketches = sets.map_init(Vec::new, |hashes, set| {
        hashes.clear();
        hashes.extend(set.iter().map(|&hash| other(hash)));
        let mut least = [u32::MAX; LANES];
        scattered::add(hashes, &mut least);
        least
    });
    sketches.collect()
}

/// In how many of the bands that the law uses two sketches agree.
fn agreed(a: &[u32; LANES], b: &[u32; LANES], law: Law) -> usize {
    let bands = a.chunks_exact(law.rows).zip(b.chunks_exact(law.rows));
    bands.take(law.bands).filter(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use simhash_core::Simhasher;
    use simhash_core::base::hash::feature_hash;

    use super::super::meet::{cut, tests::texts};
    use super::*;
    use crate::method::Features;

    #[test]
    fn agree_as_the_keys_of_the_core_do() {
        let (texts, features) = (texts(), Features::words(2));
        let (_, keys) = cut(&texts, features, false, 0.5);
        // Sets of the hashes from which the core makes its sketches.
        let mut simhasher = Simhasher::new(features.config()).unwrap();
        let (mut sets, mut of_text) = (Sets::new(), Vec::new());
        for text in &texts.lines {
            of_text.clear();
            simhasher.for_each_feature(text, &mut || (), |shingle| {
                of_text.push(feature_hash::<u128>(shingle.as_bytes()) as u64);
            });
            sets.push(&mut of_text);
        }
        let sketches = sketches(&sets, |hash| hash);
        let mut some = 0;
        for similarity in [0.5, 0.6, 0.7, 0.8] {
            let law = Law::of(similarity).unwrap();
            assert_eq!(law.rows, 3);
            for a in 0..sets.len() as u32 {
                for b in a + 1..sets.len() as u32 {
                    if !sets.get(a as usize).is_empty() && !sets.get(b as usize).is_empty() {
                        let bands = agreed(&sketches[a as usize], &sketches[b as usize], law);
                        assert_eq!(bands, keys.shared(a, b, law.bands));
                        some += bands;
                    }
                }
            }
        }
        assert!(some > 1000, "{some}");
    }

    #[test]
    fn other_hash_functions_find_the_share_of_the_law() {
        // Three hundred pairs of sets of three elements each, of which two are common.
        let mut sets = Sets::new();
        for pair in 0..300 {
            let first = 10 * pair;
            sets.push(&mut vec![first, first + 1, first + 2]);
            sets.push(&mut vec![first + 1, first + 2, first + 3]);
        }
        let pairs: Found = (0..300).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        let shares = shares(&sets, &[(Law::of(0.5).unwrap(), pairs)]);
        let mean = shares[0].iter().sum::<f64>() / shares[0].len() as f64;
        assert!(shares[0].len() == 20 && (mean - 0.9907).abs() < 0.004, "{mean}");
    }
}
