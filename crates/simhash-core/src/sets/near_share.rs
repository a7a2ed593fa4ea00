//! How many of the texts that share a key with a text are near it, for estimates.

/// For each least similarity, and for keys of three components and of two: the number of near rows
/// for each other row that shares a key with a row. Geometric means over seven sets of real texts,
/// rounded. Measured in November 2026: descriptions of packages, licences, program code, verses,
/// questions, titles, in English and Chinese, 2,700 to 100,000 of each. The extremes are off by a
/// factor of five.
const SHARES: [(f64, [f64; 2]); 7] = [
    (0.3, [2.0, 0.6]),
    (0.4, [1.6, 0.27]),
    (0.5, [1.2, 0.14]),
    (0.6, [0.8, 0.08]),
    (0.7, [0.55, 0.05]),
    (0.8, [0.35, 0.035]),
    (0.9, [0.2, 0.02]),
];

/// The entry for this similarity, interpolated linearly, and for keys of `rows` components.
pub fn near_share(similarity: f64, rows: u32) -> f64 {
    let column = usize::from(rows < 3);
    let (first, last) = (SHARES[0], SHARES[SHARES.len() - 1]);
    let pair = SHARES.windows(2).find(|pair| (pair[0].0..pair[1].0).contains(&similarity));
    match pair {
        Some(&[(from, a), (to, b)]) => {
            let way = (similarity - from) / (to - from);
            a[column] + (b[column] - a[column]) * way
        }
        _ if similarity < first.0 => first.1[column],
        _ => last.1[column],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_with_the_similarity() {
        for rows in 2..4 {
            let all: Vec<f64> =
                (25..=100).map(|percent| near_share(f64::from(percent) / 100.0, rows)).collect();
            assert!(all.windows(2).all(|pair| pair[0] >= pair[1]), "{all:?}");
        }
        assert!((near_share(0.75, 3) - 0.45).abs() < 1e-9);
    }
}
