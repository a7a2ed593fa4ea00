//! Which similarity `simhash_suggest` proposes for a large set, and how good that is by label.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use simhash_core::whole::suggest::Sample;
use simhash_core::whole::suggest::similarity::{Finding, Histogram, Neighbour, TheirNumbers};

use super::LEAST;
use super::join::{Near, join};
use super::meet::cut;
use super::sets::{Sets, Texts};
use super::tally::{Curve, Tallies};
use crate::method::Features;

/// The number of rows that are searched for, as in the extension.
const SAMPLE: usize = 2048;

/// Prints a table's row: the similarity that is proposed for the set, and F1 by label there and at
/// the best similarity: first of all pairs of one label, then of those that are half alike.
pub fn run(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut texts = Texts::read(path)?;
    let labels = std::mem::take(&mut texts.labels);
    let (sets, keys) = cut(&texts, Features::words(2), false, LEAST);
    drop((keys, texts));
    let near = join(&sets, LEAST);
    let tallies = Tallies { labels: &labels, pairs: &sets };
    let (curve, same) = (tallies.curve(&near, LEAST), tallies.truth(&near).all_same());
    let answer = histogram(&sets, &near).answer();
    let proposed = answer.rows.iter().find(|row| row.suggested).map_or(1.0, |row| row.similarity);
    let related = answer.findings.iter().find_map(|finding| match finding {
        Finding::Families(share) => Some(*share),
        _ => None,
    });
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    print!("| {name} | {} | {proposed} |", sets.len());
    for all in [same, curve.same().iter().sum()] {
        let f1 = f1_by_hundredth(&curve, all);
        let best = (0..f1.len()).max_by(|&a, &b| f1[a].total_cmp(&f1[b])).unwrap_or(0);
        let at = ((proposed - LEAST) * 100.0).round() as usize;
        let best_at = LEAST + best as f64 / 100.0;
        print!(" {:.3} | {:.3} at {best_at:.2} |", f1[at], f1[best]);
    }
    let families = related.map_or("no".into(), |share| format!("{:.0} %", share * 100.0));
    println!(" {families} |");
    Ok(())
}

/// F1 at each hundredth from the least on, if `all` pairs should be found.
fn f1_by_hundredth(curve: &Curve, all: u64) -> Vec<f64> {
    let (mut right, mut found) = (0, 0);
    let both = curve.same().iter().zip(curve.other()).rev();
    let mut f1: Vec<f64> = both
        .map(|(&same, &other)| {
            (right, found) = (right + same, found + same + other);
            2.0 * right as f64 / (found + all).max(1) as f64
        })
        .collect();
    f1.reverse();
    f1
}

/// The histogram of some texts' neighbours.
fn histogram(sets: &Sets, near: &[Near]) -> Histogram {
    let mut sample = Sample::new(SAMPLE);
    let rows = (0..sets.len() as u32).filter(|&row| !sets.get(row as usize).is_empty());
    rows.for_each(|row| sample.offer(row));
    let all = sample.seen();
    let rows = sample.into_items();
    let mut found: HashMap<u32, Vec<Neighbour>> = rows.iter().map(|&row| (row, vec![])).collect();
    for pair in near {
        for row in [pair.a, pair.b] {
            if let Some(neighbours) = found.get_mut(&row) {
                let (similarity, numbers) = (pair.similarity(), TheirNumbers::Agree);
                neighbours.push(Neighbour { similarity, numbers });
            }
        }
    }
    let mut histogram = Histogram::new(LEAST, false);
    for row in rows {
        histogram.add(sets.get(row as usize).len(), &found[&row], 1.0);
    }
    histogram.finish(all);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_counts_what_is_found_from_a_similarity_on() {
        let mut sets = Sets::new();
        // 0-1: 1, 0-2 and 1-2: 3/4.
        for elements in [&[1, 2, 3, 4][..], &[1, 2, 3, 4], &[1, 2, 3]] {
            sets.push(&mut elements.to_vec());
        }
        let near = join(&sets, LEAST);
        let curve = Tallies { labels: &[0, 1, 0], pairs: &sets }.curve(&near, LEAST);
        let f1 = f1_by_hundredth(&curve, 1);
        // At 0.75 one pair of three is right. Above, only a wrong one is found.
        assert_eq!((f1[0], f1[25], f1[26], f1[50]), (0.5, 0.5, 0.0, 0.0));
        let answer = histogram(&sets, &near).answer();
        let of = |similarity| answer.rows.iter().find(|row| row.similarity == similarity).unwrap();
        assert_eq!((of(0.75).pairs, of(0.75).found, of(0.75).near), (2.0, 2.0, 3.0));
        assert_eq!((of(1.0).pairs, of(1.0).near, of(0.95).pairs), (1.0, 2.0, 0.0));
    }
}
