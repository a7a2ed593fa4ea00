//! What a setting does on several corpora together: every corpus counts the same.

use crate::experiments::settings::Row;
use crate::method::Method;
use crate::metrics::{Confusion, deviation};
use crate::results::{Results, Sample};

/// Which pairs are to be found, which must not be, and in a table of how many rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// How many bands of similarity of the pairs of one group are to be found, from the greatest on.
    bands: usize,
    /// Whether pairs of different groups that are as similar as near-duplicates must not be found; else they count
    /// neither way.
    strict: bool,
    /// As if the table had so many rows: each has as many duplicates as in the sample, and other rows in proportion.
    rows: Option<u64>,
}

impl Asked {
    /// Pairs of one group with a similarity of at least 0.5.
    pub const SIMILAR: Asked = Asked { bands: 3, strict: false, rows: None };
    /// Pairs of one group.
    pub const GROUPS: Asked = Asked { bands: 4, ..Asked::SIMILAR };
    /// Pairs of one group, and no others at all.
    pub const LABELS: Asked = Asked { strict: true, ..Asked::GROUPS };

    pub const fn of_rows(rows: u64) -> Asked {
        Asked { rows: Some(rows), ..Asked::SIMILAR }
    }
}

/// A decision by a kept row at one distance.
pub fn decision(sample: &Sample, row: &Row, distance: usize, asked: Asked) -> Confusion {
    let within = |counts: &[u64]| counts.iter().take(distance + 1).sum::<u64>() as f64;
    let tp: f64 = row.duplicates[..asked.bands].iter().map(|counts| within(counts)).sum();
    let all: usize = sample.pairs[..asked.bands].iter().sum();
    let fp = within(&row.others) + if asked.strict { within(&row.unlabelled) } else { 0.0 };
    let times = asked.rows.map_or(1.0, |rows| rows as f64 / sample.documents as f64);
    Confusion { tp, fp: times * fp, fn_: all as f64 - tp }
}

/// The share of a band's pairs within a distance; `None` when the band has fewer than ten pairs.
pub fn band_recall(sample: &Sample, row: &Row, band: usize, distance: usize) -> Option<f64> {
    let found: u64 = row.duplicates[band].iter().take(distance + 1).sum();
    (sample.pairs[band] >= 10).then(|| found as f64 / sample.pairs[band] as f64)
}

/// The share of other pairs within a distance.
pub fn false_rate(sample: &Sample, row: &Row, distance: usize) -> f64 {
    row.others.iter().take(distance + 1).sum::<u64>() as f64 / sample.others as f64
}

/// One method and width on several corpora.
pub struct Combined<'a> {
    pub method: Method,
    pub width: u32,
    rows: Vec<(&'a Sample, &'a Row)>,
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

impl<'a> Combined<'a> {
    /// `None` when a corpus lacks it.
    pub fn of(corpora: &[&'a Results<Row>], method: Method, width: u32) -> Option<Self> {
        let rows = corpora.iter().map(|results| {
            let found = results.rows.iter().find(|row| row.method == method && row.width == width);
            found.map(|row| (&results.sample, row))
        });
        let rows: Vec<_> = rows.collect::<Option<_>>()?;
        (!rows.is_empty()).then_some(Combined { method, width, rows })
    }

    /// Every method of one width, the greatest mean F1 first.
    pub fn ranked(corpora: &[&'a Results<Row>], width: u32) -> Vec<Self> {
        let Some(first) = corpora.first() else { return Vec::new() };
        let methods = first.rows.iter().filter(|row| row.width == width).map(|row| row.method);
        let mut all: Vec<Self> = methods.filter_map(|method| Self::of(corpora, method, width)).collect();
        all.sort_by(|a, b| b.f1().total_cmp(&a.f1()));
        all
    }

    pub fn f1(&self) -> f64 {
        mean(self.rows.iter().map(|(_, row)| row.summary.f1))
    }

    pub fn f1_published(&self) -> f64 {
        mean(self.rows.iter().map(|(_, row)| row.summary.f1_published))
    }

    /// Corpora that cannot tell the rate, or where distance 0 is too much already, count as 0.
    pub fn recall_1e5(&self) -> f64 {
        mean(self.rows.iter().map(|(_, row)| row.summary.recall_1e5.unwrap_or(0.0)))
    }

    /// Over the corpora with a million other pairs.
    pub fn recall_1e6(&self) -> Option<f64> {
        let large: Vec<f64> = self
            .rows
            .iter()
            .filter(|(sample, _)| sample.others >= 1_000_000)
            .map(|(_, row)| row.summary.recall_1e6.unwrap_or(0.0))
            .collect();
        (!large.is_empty()).then(|| mean(large.iter().copied()))
    }

    /// Half of the 95 % confidence interval of the mean F1.
    pub fn f1_interval(&self) -> f64 {
        1.96 * deviation(&self.resampled())
    }

    /// By how much `other` has the greater mean F1, and half of the 95 % confidence interval of that: both on the
    /// same resamples.
    pub fn behind(&self, other: &Self) -> (f64, f64) {
        let differences: Vec<f64> =
            other.resampled().iter().zip(self.resampled()).map(|(a, b)| a - b).collect();
        (other.f1() - self.f1(), 1.96 * deviation(&differences))
    }

    fn resampled(&self) -> Vec<f64> {
        let times = self.rows.iter().map(|(_, row)| row.summary.f1_resampled.len()).min().unwrap_or(0);
        (0..times).map(|time| mean(self.rows.iter().map(|(_, row)| row.summary.f1_resampled[time]))).collect()
    }

    /// The one distance for all corpora with the greatest mean F1, and that.
    pub fn common(&self) -> (usize, f64) {
        self.common_of(Asked::SIMILAR)
    }

    /// As [`Combined::common`].
    pub fn common_of(&self, asked: Asked) -> (usize, f64) {
        self.greatest(asked, |_| true)
    }

    /// The distance with the greatest mean F1 over the corpora whose places are `chosen`, the smallest of equals, and that.
    fn greatest(&self, asked: Asked, chosen: impl Fn(usize) -> bool) -> (usize, f64) {
        let f1_at = |distance: usize| {
            let rows = self.rows.iter().enumerate().filter(|(place, _)| chosen(*place));
            mean(rows.map(|(_, (sample, row))| decision(sample, row, distance, asked).f1()))
        };
        let all = (0..=self.width as usize * 3 / 8).map(|distance| (distance, f1_at(distance)));
        all.rev().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }

    /// For each corpus F1 at the distance that the other ones choose; none for a single one.
    pub fn left_out(&self, asked: Asked) -> Vec<LeftOut> {
        if self.rows.len() < 2 {
            return Vec::new();
        }
        self.rows
            .iter()
            .enumerate()
            .map(|(place, (sample, row))| {
                let (distance, others_f1) = self.greatest(asked, |other| other != place);
                let (best_distance, best) = self.greatest(asked, |other| other == place);
                LeftOut {
                    distance,
                    f1: decision(sample, row, distance, asked).f1(),
                    others_f1,
                    best_distance,
                    best,
                    resampled: row.resampled.get(distance).map_or(Vec::new(), |resampled| {
                        resampled.iter().map(|&thousandths| f64::from(thousandths) / 1000.0).collect()
                    }),
                }
            })
            .collect()
    }

    /// The mean F1 on corpora left out, and how much it falls short of each one's best.
    pub fn held_out(&self) -> (f64, f64) {
        let left_out = self.left_out(Asked::SIMILAR);
        let f1 = mean(left_out.iter().map(|left_out| left_out.f1));
        (f1, mean(left_out.iter().map(|left_out| left_out.best)) - f1)
    }
}

/// How a corpus fares at the distance that others choose.
pub struct LeftOut {
    pub distance: usize,
    pub f1: f64,
    /// The mean F1 of the others there.
    pub others_f1: f64,
    pub best_distance: usize,
    pub best: f64,
    /// F1 in resamples, if they were kept; by similarity.
    pub resampled: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::settings::Summary;

    fn sample(corpus: &str, pairs: [usize; 4]) -> Sample {
        Sample {
            corpus: corpus.into(),
            language: crate::corpus::Language::Chinese,
            length: crate::corpus::Length::Long,
            shipped: true,
            seed: 0,
            version: String::new(),
            documents: 100,
            groups: 0,
            trained: 0,
            median: 0,
            pairs,
            others: 1000,
            unlabelled: 0,
        }
    }

    fn row(width: u32, duplicates: [Vec<u64>; 4], others: Vec<u64>, resampled: Vec<Vec<u16>>) -> Row {
        let summary = Summary {
            f1_published: 0.0,
            best: 0,
            f1: 0.0,
            precision: 0.0,
            recall: 0.0,
            f1_resampled: vec![],
            distance_1e5: None,
            recall_1e5: None,
            recall_1e6: None,
            recall_1e5_resampled: vec![],
        };
        let unlabelled = vec![2, 0, 1];
        Row {
            method: Method::default_of_simhash(),
            width,
            duplicates,
            others,
            unlabelled,
            resampled,
            summary,
        }
    }

    #[test]
    fn decisions_count_the_three_upper_bands() {
        let duplicates = [vec![5, 1, 0], vec![2, 2, 0], vec![0, 1, 0], vec![9, 9, 9]];
        let row = row(64, duplicates, vec![0, 3, 5], vec![]);
        let sample = sample("", [10, 10, 5, 40]);
        let by_similarity = decision(&sample, &row, 1, Asked::SIMILAR);
        assert_eq!(by_similarity, Confusion { tp: 11.0, fp: 3.0, fn_: 14.0 });
        assert_eq!(decision(&sample, &row, 1, Asked::GROUPS), Confusion { tp: 29.0, fp: 3.0, fn_: 36.0 });
        assert_eq!(decision(&sample, &row, 1, Asked::LABELS), Confusion { tp: 29.0, fp: 5.0, fn_: 36.0 });
        let of_rows = decision(&sample, &row, 1, Asked::of_rows(1000));
        assert_eq!(of_rows, Confusion { fp: 30.0, ..by_similarity });
        assert_eq!(band_recall(&sample, &row, 1, 0), Some(0.2));
        assert_eq!(band_recall(&sample, &row, 2, 1), None, "five pairs tell nothing");
        assert_eq!(false_rate(&sample, &row, 2), 0.008);
    }

    /// Two corpora with a best distance of 1 and of 2: each is measured at the other's.
    #[test]
    fn the_corpus_left_out_chooses_nothing() {
        let resampled = vec![vec![0, 1000], vec![250, 500], vec![100, 300]];
        let results = |corpus: &str, duplicates: [u64; 3], others: [u64; 3]| {
            let duplicates = [duplicates.into(), vec![0; 3], vec![0; 3], vec![0; 3]];
            let row = row(8, duplicates, others.into(), resampled.clone());
            Results { sample: sample(corpus, [10, 0, 0, 0]), rows: vec![row] }
        };
        let results = [results("a", [0, 10, 0], [0, 0, 10]), results("b", [0, 0, 10], [0, 0, 0])];
        let corpora: Vec<&Results<Row>> = results.iter().collect();
        let combined = Combined::of(&corpora, Method::default_of_simhash(), 8).unwrap();
        let left_out = combined.left_out(Asked::SIMILAR);
        let [a, b] = &left_out[..] else { panic!("two corpora") };
        assert_eq!((a.distance, a.best_distance, a.best), (2, 1, 1.0));
        assert!((a.f1 - 20.0 / 30.0).abs() < 1e-12);
        assert_eq!((b.distance, b.f1, b.best_distance, b.best), (1, 0.0, 2, 1.0));
        assert_eq!((&a.resampled[..], &b.resampled[..]), (&[0.1, 0.3][..], &[0.25, 0.5][..]));
        let (f1, regret) = combined.held_out();
        assert!((f1 - 1.0 / 3.0).abs() < 1e-12 && (regret - 2.0 / 3.0).abs() < 1e-12);
    }
}
