//! What a setting does on several corpora together: every corpus counts the same.

use crate::experiments::settings::Row;
use crate::method::Method;
use crate::metrics::{Confusion, deviation};
use crate::results::{Results, Sample};

/// A decision by a kept row at one distance: pairs of one group with a similarity of at least 0.5 are to be found.
pub fn decision(sample: &Sample, row: &Row, distance: usize) -> Confusion {
    let within = |counts: &[u64]| counts.iter().take(distance + 1).sum::<u64>() as f64;
    let tp: f64 = row.duplicates[..3].iter().map(|counts| within(counts)).sum();
    let all: usize = sample.pairs[..3].iter().sum();
    Confusion { tp, fp: within(&row.others), fn_: all as f64 - tp }
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

    pub fn f1_at(&self, distance: usize) -> f64 {
        mean(self.rows.iter().map(|(sample, row)| decision(sample, row, distance).f1()))
    }

    /// The one distance for all corpora with the greatest mean F1, and that.
    pub fn common(&self) -> (usize, f64) {
        let most = self.width as usize * 3 / 8;
        let all = (0..=most).map(|distance| (distance, self.f1_at(distance)));
        all.rev().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::settings::Summary;

    #[test]
    fn decisions_count_the_three_upper_bands() {
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
        let duplicates = [vec![5, 1, 0], vec![2, 2, 0], vec![0, 1, 0], vec![9, 9, 9]];
        let row = Row {
            method: Method::default_of_simhash(),
            width: 64,
            duplicates,
            others: vec![0, 3, 5],
            summary,
        };
        let sample = Sample {
            corpus: String::new(),
            language: crate::corpus::Language::Chinese,
            length: crate::corpus::Length::Long,
            shipped: true,
            seed: 0,
            version: String::new(),
            documents: 0,
            groups: 0,
            trained: 0,
            median: 0,
            pairs: [10, 10, 5, 40],
            others: 1000,
            unlabelled: 0,
        };
        assert_eq!(decision(&sample, &row, 1), Confusion { tp: 11.0, fp: 3.0, fn_: 14.0 });
        assert_eq!(band_recall(&sample, &row, 1, 0), Some(0.2));
        assert_eq!(band_recall(&sample, &row, 2, 1), None, "five pairs tell nothing");
        assert_eq!(false_rate(&sample, &row, 2), 0.008);
    }
}
