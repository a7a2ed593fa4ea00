//! Tables of the other experiments: lexicons, short texts, angles, punctuation and line breaks.

use super::combined::mean;
use super::{All, Facts, Table, maybe, share, source, thousands, title};
use crate::experiments::{angle, lexicons, short, wrapping};
use crate::metrics::deviation;
use crate::results::Results;

pub fn facts(all: &All, facts: &mut Facts) {
    facts.insert("lexicons".into(), joined(&all.lexicons, lexicon_table));
    for results in &all.lexicons {
        lexicon_facts(results, facts);
    }
    let speeds = |results: &Results<short::Row>| {
        let speed = all.speed.iter().find(|speed| speed.sample.corpus == results.sample.corpus);
        short_table(results, speed)
    };
    facts.insert("short".into(), joined(&all.short, speeds));
    facts.insert("angle".into(), angle_table(&all.angle));
    facts.insert("wrapping".into(), wrapping_table(&all.wrapping));
}

fn joined<Row>(all: &[Results<Row>], table: impl Fn(&Results<Row>) -> String) -> String {
    let tables = all.iter().map(|results| format!("{}:\n\n{}", title(&results.sample), table(results)));
    tables.collect::<Vec<_>>().join("\n\n")
}

fn lexicon_label(row: &lexicons::Row) -> String {
    let features =
        if row.shingle == 1 { "words".to_owned() } else { format!("word {}-shingles", row.shingle) };
    let lexicons = match row.parts {
        None => String::new(),
        Some(0) => ", lexicon".into(),
        Some(parts) => format!(", lexicon and {parts} parts"),
    };
    format!("{features}, {}{lexicons}", row.weight)
}

fn lexicon_table(results: &Results<lexicons::Row>) -> String {
    let mut table = Table::new(&[
        "64 bits",
        "fingerprints",
        "F1 at distance 3",
        "best distance",
        "precision",
        "recall",
        "F1",
        "recall at 1e-5 false",
    ]);
    for row in &results.rows {
        let summary = &row.summary;
        table.line(&[
            lexicon_label(row),
            (row.parts.unwrap_or(0) + 1).to_string(),
            share(summary.f1_published),
            summary.best.to_string(),
            share(summary.precision),
            share(summary.recall),
            format!("{} ± {}", share(summary.f1), share(1.96 * deviation(&summary.f1_resampled))),
            maybe(summary.recall_1e5),
        ]);
    }
    table.finish()
}

fn lexicon_facts(results: &Results<lexicons::Row>, facts: &mut Facts) {
    for row in &results.rows {
        let parts = row.parts.map_or("plain".into(), |parts| parts.to_string());
        let name = format!("{}-{}-{parts}-{}", row.shingle, row.weight, results.sample.corpus);
        facts.insert(format!("lexicons-f1-3-{name}"), share(row.summary.f1_published));
        facts.insert(format!("lexicons-f1-{name}"), share(row.summary.f1));
    }
}

fn short_table(results: &Results<short::Row>, speed: Option<&Results<short::Speed>>) -> String {
    let mut table = Table::new(&[
        "method",
        "threshold",
        "precision",
        "recall",
        "F1",
        "recall at 1e-5 false",
        "documents a second",
    ]);
    for row in &results.rows {
        let summary = &row.summary;
        let threshold = match row.unit.as_str() {
            "hundredths" => format!("J >= {:.2}", 1.0 - summary.best as f64 / 100.0),
            "components" => format!("J >= {:.2}", 1.0 - summary.best as f64 / 128.0),
            "equality" => "equal".into(),
            unit => format!("{} {unit}", summary.best),
        };
        let per_second = speed.and_then(|speed| speed.rows.iter().find(|speed| speed.method == row.method));
        table.line(&[
            row.method.clone(),
            threshold,
            share(summary.precision),
            share(summary.recall),
            format!("{} ± {}", share(summary.f1), share(1.96 * deviation(&summary.f1_resampled))),
            maybe(summary.recall_1e5),
            per_second.map_or("–".into(), |speed| thousands(speed.per_second as u64)),
        ]);
    }
    table.finish()
}

/// The distance that a row's cosine predicts: f times angle over pi.
pub fn predicted(row: &angle::Row, width: u32) -> f64 {
    f64::from(width) * row.cosine.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
}

fn angle_table(all: &[Results<angle::Row>]) -> String {
    let mut table = Table::new(&[
        "corpus",
        "similarity J",
        "pairs",
        "cosine",
        "64 bits: predicted",
        "measured",
        "nine in ten within",
        "128 bits: predicted",
        "measured",
        "nine in ten within",
    ]);
    for results in all {
        let mut first = true;
        for (most, least) in
            [(1.01, 0.95), (0.95, 0.9), (0.9, 0.8), (0.8, 0.7), (0.7, 0.6), (0.6, 0.5), (0.5, 0.3)]
        {
            let rows: Vec<&angle::Row> =
                results.rows.iter().filter(|row| row.similarity >= least && row.similarity < most).collect();
            if rows.len() < 5 {
                continue;
            }
            let one = |value: &dyn Fn(&angle::Row) -> f64| {
                format!("{:.1}", mean(rows.iter().map(|row| value(row))))
            };
            let nine_tenths = |value: &dyn Fn(&angle::Row) -> u32| {
                let mut values: Vec<u32> = rows.iter().map(|row| value(row)).collect();
                values.sort_unstable();
                values[(values.len() * 9).div_ceil(10) - 1].to_string()
            };
            table.line(&[
                if std::mem::take(&mut first) { title(&results.sample) } else { String::new() },
                format!("{least} to {}", f64::min(most, 1.0)),
                thousands(rows.len() as u64),
                share(mean(rows.iter().map(|row| row.cosine))),
                one(&|row| predicted(row, 64)),
                one(&|row| f64::from(row.distance64)),
                nine_tenths(&|row| row.distance64),
                one(&|row| predicted(row, 128)),
                one(&|row| f64::from(row.distance128)),
                nine_tenths(&|row| row.distance128),
            ]);
        }
    }
    table.finish()
}

fn wrapping_table(all: &[Results<wrapping::Row>]) -> String {
    let mut table = Table::new(&[
        "corpus",
        "bits",
        "punctuation",
        "white space between Han",
        "F1 at the best distance",
        "more than in the first row by",
        "recall at 1e-5 false",
        "distance to the text with line breaks",
        "distance to the text without punctuation",
    ]);
    for results in all {
        let mut first = true;
        for width in [64, 128] {
            let rows: Vec<&wrapping::Row> = results.rows.iter().filter(|row| row.width == width).collect();
            let plain = rows.iter().find(|row| row.variant == wrapping::VARIANTS[0]);
            for row in &rows {
                let ahead: Vec<f64> = plain.map_or(Vec::new(), |plain| {
                    row.summary
                        .f1_resampled
                        .iter()
                        .zip(&plain.summary.f1_resampled)
                        .map(|(a, b)| a - b)
                        .collect()
                });
                let interval = |(mean, half): (f64, f64)| format!("{mean:.2} ± {half:.2}");
                table.line(&[
                    if std::mem::take(&mut first) {
                        source(&results.sample).title.into()
                    } else {
                        String::new()
                    },
                    width.to_string(),
                    if row.variant.punctuation_parts { "parts words" } else { "dropped" }.into(),
                    if row.variant.space_joins { "dropped" } else { "parts words" }.into(),
                    share(row.summary.f1),
                    plain.map_or(String::new(), |plain| {
                        format!(
                            "{:+.3} ± {}",
                            row.summary.f1 - plain.summary.f1,
                            share(1.96 * deviation(&ahead))
                        )
                    }),
                    maybe(row.summary.recall_1e5),
                    interval(row.wrapped),
                    interval(row.unpunctuated),
                ]);
            }
        }
    }
    table.finish()
}
