//! Texts with any configuration: the answers of different functions agree.

use simhash_core::compare::explain::explain;
use simhash_core::compare::similarity::{Measure, Similarity};
use simhash_core::config::Method;
use simhash_core::sets::numbers::differences;
use simhash_core::{Config, Fingerprint, Simhasher};

/// The first line is a configuration. The rest is two texts with a NUL between them.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (config, texts) = text.split_once('\n').unwrap_or(("{}", &text));
    let (a, b) = texts.split_once('\0').unwrap_or((texts, texts));
    let Ok(config) = Config::parse(config) else { return };
    let Ok(mut simhasher) = Simhasher::new(config.clone()) else { return };
    let none = &mut || ();
    let [x, y] = [a, b].map(|text| simhasher.fingerprint::<u128>(text, none));
    assert_eq!(x, simhasher.fingerprint::<u128>(a, none), "the same text, the same fingerprint");
    // The features' shares of the distance add up to the distance.
    if let Some(found) = explain::<u128>(Method::Simhash, &mut simhasher, [a, b], 1 << 20, none) {
        let distance = x.zip(y).map(|(x, y)| x.hamming(y));
        assert_eq!(found.distance, distance, "{config}: {a:?} and {b:?}");
        if let Some(distance) = distance {
            let shares: f64 = found.rows.iter().map(|row| row.share).sum();
            assert!((shares - f64::from(distance)).abs() < 1e-6, "{config}: {a:?} and {b:?}");
        }
    }
    for measure in [Measure::Jaccard, Measure::Containment, Measure::Weighted] {
        let Some(similarity) = Similarity::new(measure, f64::MIN_POSITIVE) else { continue };
        let config = similarity.config(&config, similarity.shingles(&config));
        let differing = differences([a, b], &config, usize::MAX, none).map_or(0, |all| all.len());
        let Ok(mut simhasher) = Simhasher::new(config.clone()) else { continue };
        let [a, b] = [a, b].map(|text| similarity.set(&mut simhasher, text, none));
        let there = similarity.verified(&a, &b);
        assert_eq!(there, similarity.verified(&b, &a), "similarity has no direction");
        assert!(there.is_none_or(|s| 0.0 < s && s <= 1.0 + 1e-9), "{there:?}");
        let own = similarity.verified(&a, &a);
        assert!(own.is_none_or(|s| (s - 1.0).abs() < 1e-9), "{own:?}");
        assert_eq!(own.is_none(), a.is_empty());
        assert!(there.is_none() || differing == 0, "{config}: {a:?} and {b:?}");
    }
}
