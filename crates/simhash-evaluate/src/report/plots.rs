//! Which plots there are, and what is in them.

use std::error::Error;
use std::path::Path;

use plotters::chart::SeriesLabelPosition;
use simhash_core::config::{Position, Weight};

use super::chart::{Line, Panel, bars, panels};
use super::combined::{Asked, Combined, decision};
use super::edits::{PUBLISHED_DISTANCE, PUBLISHED_FOUND, decisions, esimhash, mean_f1, row};
use super::others::predicted;
use super::{All, source};
use crate::corpus::Length;
use crate::experiments::edits::{MOST, PERCENTS};
use crate::experiments::settings;
use crate::method::{Features, Method};
use crate::metrics::mean_and_interval;
use crate::results::Results;

pub fn draw(all: &All, directory: &Path) -> Result<(), Box<dyn Error>> {
    for width in [64, 128] {
        panels(&directory.join(format!("distance-{width}.svg")), &by_distance(all, width), 2)?;
        panels(&directory.join(format!("histogram-{width}.svg")), &histograms(all, width), 2)?;
    }
    methods(all, &directory.join("methods.svg"))?;
    panels(&directory.join("esimhash.svg"), &esimhash_panels(all), 2)?;
    panels(&directory.join("angle.svg"), &angles(all), 2)
}

fn default_row(results: &Results<settings::Row>, width: u32) -> Option<&settings::Row> {
    results.rows.iter().find(|row| row.width == width && row.method == Method::default_of_simhash())
}

/// Precision and recall of the default against the distance, a line a corpus.
fn by_distance(all: &All, width: u32) -> Vec<Panel> {
    let most = width as usize * 3 / 8;
    let lines = |measure: fn(crate::metrics::Confusion) -> f64| -> Vec<Line> {
        let corpora = all
            .settings
            .iter()
            .filter_map(|results| default_row(results, width).map(|row| (&results.sample, row)));
        let line = |(sample, row)| {
            let points =
                (0..=most).map(|d| (d as f64, measure(decision(sample, row, d, Asked::SIMILAR)))).collect();
            Line::new(source(sample).title, points)
        };
        corpora.map(line).collect()
    };
    let panel = |name: &str, lines, labels| Panel {
        labels,
        title: format!("{name}, simhash{} by default", if width == 64 { "" } else { "128" }),
        x: (format!("distance, of {width} bits"), 0.0, most as f64),
        y: (name.to_lowercase(), 0.0, 1.02),
        lines,
    };
    vec![
        panel("Recall", lines(crate::metrics::Confusion::recall), SeriesLabelPosition::LowerRight),
        panel("Precision", lines(crate::metrics::Confusion::precision), SeriesLabelPosition::LowerLeft),
    ]
}

/// Distances of duplicates by similarity, and of others, as shares.
fn histograms(all: &All, width: u32) -> Vec<Panel> {
    let corpora = all
        .settings
        .iter()
        .filter_map(|results| default_row(results, width).map(|row| (&results.sample, row)));
    corpora
        .map(|(sample, row)| {
            let line = |label: &str, counts: &[u64]| {
                let all: u64 = counts.iter().sum();
                let points =
                    counts.iter().enumerate().map(|(d, &count)| (d as f64, count as f64 / all.max(1) as f64));
                Line::new(label, points.take(width as usize * 3 / 4).collect())
            };
            let bands = ["J >= 0.9", "0.7 to 0.9", "0.5 to 0.7"];
            let mut lines: Vec<Line> = bands
                .iter()
                .enumerate()
                .filter(|&(band, _)| sample.pairs[band] >= 50)
                .map(|(band, label)| line(label, &row.duplicates[band]))
                .collect();
            lines.push(line("others", &row.others));
            let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
            Panel {
                labels: SeriesLabelPosition::UpperRight,
                title: source(sample).title.into(),
                x: (format!("distance, of {width} bits"), 0.0, f64::from(width) * 0.72),
                y: ("share of pairs".into(), 0.0, highest.min(0.3) * 1.05),
                lines,
            }
        })
        .collect()
}

/// F1 of what one would choose from, 128 bits, long and short texts.
fn methods(all: &All, path: &Path) -> Result<(), Box<dyn Error>> {
    let words = Features::words;
    let chosen = [
        Method::new(words(1), Weight::Uniform),
        Method::new(words(1), Weight::Tf),
        Method::new(words(1), Weight::Log),
        Method::new(words(1), Weight::Level),
        Method::new(words(1), Weight::Idf),
        Method::new(words(1), Weight::Tfidf),
        esimhash(Position::None),
        esimhash(Position::Spread),
        Method::new(words(1).without_stop_words(), Weight::Log),
        Method::new(words(2), Weight::Log),
        Method::new(words(3), Weight::Log),
        Method::new(Features::characters(2), Weight::Log),
        Method::new(Features::characters(3), Weight::Log),
        Method::new(Features::characters(4), Weight::Log),
        Method::minhash(words(1)),
        Method::minhash(words(2)),
        Method::minhash(settings::words_and_pairs()),
    ];
    let groups = [(Length::Long, 128), (Length::Short, 128), (Length::Long, 64), (Length::Short, 64)];
    let lines: Vec<(String, Vec<f64>)> = chosen
        .iter()
        .map(|&method| {
            let f1 = |(length, width)| {
                Combined::of(&all.of(length), method, width).map_or(0.0, |combined| combined.f1())
            };
            (method.label(), groups.map(f1).into())
        })
        .collect();
    let names = groups.map(|(length, width)| format!("{length:?}, {width} bits"));
    bars(path, "F1 at the best distance, mean over corpora (bars begin at 0.4)", &names, &lines, 0.4)
}

fn esimhash_panels(all: &All) -> Vec<Panel> {
    let shown = [
        ("E-Simhash, no position", esimhash(Position::None)),
        ("E-Simhash, spread", esimhash(Position::Spread)),
        ("uniform", Method::new(Features::words(1), Weight::Uniform)),
        ("log", Method::new(Features::words(1), Weight::Log)),
        ("tf", Method::new(Features::words(1), Weight::Tf)),
    ];
    let mut all_panels = Vec::new();
    for results in &all.edits {
        let mut lines: Vec<Line> = PUBLISHED_FOUND
            .iter()
            .map(|(name, found)| {
                let points = PERCENTS.iter().zip(found).map(|(&percent, &found)| (f64::from(percent), found));
                Line { published: true, ..Line::new(*name, points.collect()) }
            })
            .collect();
        let found = |method| {
            let points = PERCENTS.iter().filter_map(|&percent| {
                let row = row(results, method, "passage", percent)?;
                let recalls: Vec<f64> =
                    decisions(row, PUBLISHED_DISTANCE).iter().map(|d| d.recall()).collect();
                Some((f64::from(percent), mean_and_interval(&recalls).0))
            });
            points.collect()
        };
        lines.extend(shown.iter().map(|&(name, method)| Line::new(name, found(method))));
        let corpus = source(&results.sample).title;
        all_panels.push(Panel {
            labels: SeriesLabelPosition::LowerLeft,
            title: format!("Found within 10: {corpus}"),
            x: ("one passage edited, at most %".into(), 5.0, 20.0),
            y: ("share found".into(), 0.0, 1.02),
            lines,
        });
        let sweep = |method| {
            let points = row(results, method, "all", 15)
                .map(|row| (1..=MOST).map(|d| (d as f64, mean_f1(row, d))).collect());
            points.unwrap_or_default()
        };
        all_panels.push(Panel {
            labels: SeriesLabelPosition::LowerRight,
            title: format!("F1, 15 % in spans: {corpus}"),
            x: ("distance, of 128 bits".into(), 1.0, MOST as f64),
            y: ("F1".into(), 0.0, 1.02),
            lines: shown.iter().map(|&(name, method)| Line::new(name, sweep(method))).collect(),
        });
    }
    all_panels
}

/// Measured against predicted distances: means of pairs with like predictions.
fn angles(all: &All) -> Vec<Panel> {
    let panel = |width: u32| {
        let most = f64::from(width) * 0.4;
        let line = |results: &Results<crate::experiments::angle::Row>| {
            let step = f64::from(width) / 64.0;
            let points = (0..26).filter_map(|bin| {
                let inside = results.rows.iter().filter(|row| (predicted(row, width) / step) as u32 == bin);
                let measured: Vec<f64> = inside
                    .map(|row| f64::from(if width == 64 { row.distance64 } else { row.distance128 }))
                    .collect();
                (measured.len() >= 5).then(|| ((f64::from(bin) + 0.5) * step, mean_and_interval(&measured).0))
            });
            Line::new(source(&results.sample).title, points.collect())
        };
        let mut lines: Vec<Line> = all.angle.iter().map(line).collect();
        lines.push(Line { published: true, ..Line::new("f · angle / π", vec![(0.0, 0.0), (most, most)]) });
        Panel {
            labels: SeriesLabelPosition::LowerRight,
            title: format!("Measured against predicted distance, {width} bits"),
            x: ("predicted from the cosine".into(), 0.0, most),
            y: ("measured, mean".into(), 0.0, most),
            lines,
        }
    };
    vec![panel(64), panel(128)]
}
