//! The experiments of E-Simhash beside what its authors published.

use simhash_core::config::{Position, Weight};

use super::{All, Facts, Table, share, title};
use crate::experiments::edits::{PERCENTS, Row, methods};
use crate::method::{Features, Method};
use crate::metrics::{Confusion, mean_and_interval};
use crate::results::Results;

/// The distance of near-duplicates that the paper takes of 128 bits.
pub const PUBLISHED_DISTANCE: usize = 10;
/// Share of edited articles found there, by share of edits (experiment 2).
pub const PUBLISHED_FOUND: [(&str, [f64; 4]); 2] = [
    ("E-Simhash, published", [0.833, 0.751, 0.687, 0.661]),
    ("simhash, published", [0.679, 0.529, 0.476, 0.451]),
];
/// Precision, recall and F1 at 90 % similarity (experiment 3).
const PUBLISHED_AT_90: [(&str, [f64; 3]); 2] =
    [("E-Simhash, published", [0.963, 0.867, 0.912]), ("simhash, published", [0.818, 0.621, 0.706])];

/// E-Simhash, with the given position.
pub fn esimhash(position: Position) -> Method {
    Method { capped: true, position, ..Method::new(Features::words(1), Weight::Entropy) }
}

pub fn facts(all: &All, facts: &mut Facts) {
    let by_corpus = |table: &dyn Fn(&Results<Row>) -> String| {
        let tables = all.edits.iter().map(|results| {
            let texts = results.rows.first().map_or(0, |row| row.texts);
            format!("{} ({texts} texts):\n\n{}", title(&results.sample), table(results))
        });
        tables.collect::<Vec<_>>().join("\n\n")
    };
    for edits in ["all", "passage"] {
        facts.insert(format!("edits-found-{edits}"), by_corpus(&|results| found_table(results, edits)));
        facts.insert(format!("edits-at-90-{edits}"), by_corpus(&|results| at_90_table(results, edits)));
    }
    facts.insert("edits-sweep".into(), by_corpus(&sweep_table));
    facts.insert("edits-kinds".into(), by_corpus(&kinds_table));
    for results in &all.edits {
        margins(results, facts);
    }
}

pub fn row<'a>(results: &'a Results<Row>, method: Method, edits: &str, percent: u32) -> Option<&'a Row> {
    results.rows.iter().find(|row| row.method == method && row.edits == edits && row.percent == percent)
}

/// The share of copies found within a distance, in every round.
fn found(row: &Row, distance: usize) -> Vec<f64> {
    row.found.iter().map(|found| f64::from(found[distance]) / row.texts as f64).collect()
}

pub fn decisions(row: &Row, distance: usize) -> Vec<Confusion> {
    let rounds = row.found.iter().zip(&row.others);
    rounds
        .map(|(found, others)| {
            let tp = f64::from(found[distance]);
            Confusion { tp, fp: others[distance] as f64, fn_: row.texts as f64 - tp }
        })
        .collect()
}

pub fn mean_f1(row: &Row, distance: usize) -> f64 {
    mean_and_interval(&decisions(row, distance).into_iter().map(Confusion::f1).collect::<Vec<_>>()).0
}

fn with_interval(values: &[f64]) -> String {
    let (mean, half) = mean_and_interval(values);
    format!("{} ± {}", share(mean), share(half))
}

/// The methods in their order, those with positions after those without.
fn ordered() -> Vec<Method> {
    let mut all = methods();
    all.sort_by_key(|method| method.position != Position::None);
    all
}

fn found_table(results: &Results<Row>, edits: &str) -> String {
    let mut table =
        Table::new(&["share found at distance <= 10 of 128", "5 %", "10 %", "15 %", "20 % edited"]);
    for (name, found) in PUBLISHED_FOUND {
        let [a, b, c, d] = found.map(share);
        table.line(&[format!("*{name}*"), a, b, c, d]);
    }
    for method in ordered() {
        if row(results, method, edits, PERCENTS[0]).is_none() {
            continue;
        }
        let cells = PERCENTS.map(|percent| {
            row(results, method, edits, percent)
                .map_or("–".into(), |row| with_interval(&found(row, PUBLISHED_DISTANCE)))
        });
        let [a, b, c, d] = cells;
        table.line(&[method.label(), a, b, c, d]);
    }
    table.finish()
}

fn at_90_table(results: &Results<Row>, edits: &str) -> String {
    let mut table = Table::new(&["10 % edited, distance <= 10 of 128", "precision", "recall", "F1"]);
    for (name, figures) in PUBLISHED_AT_90 {
        let [a, b, c] = figures.map(share);
        table.line(&[format!("*{name}*"), a, b, c]);
    }
    for method in ordered() {
        let Some(row) = row(results, method, edits, 10) else { continue };
        let decisions = decisions(row, PUBLISHED_DISTANCE);
        let measures = [Confusion::precision, Confusion::recall, Confusion::f1];
        let [a, b, c] =
            measures.map(|measure| with_interval(&decisions.iter().map(|&d| measure(d)).collect::<Vec<_>>()));
        table.line(&[method.label(), a, b, c]);
    }
    table.finish()
}

/// Experiment 1: the distance with the greatest F1 out of the paper's 1 to 19.
fn best_distance(row: &Row) -> (usize, f64) {
    let all = (1..=19).map(|distance| (distance, mean_f1(row, distance)));
    all.rev().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

fn sweep_table(results: &Results<Row>) -> String {
    let mut table = Table::new(&[
        "15 % edited",
        "best distance of 1 to 19",
        "precision",
        "recall",
        "F1",
        "F1 at 5",
        "at 10",
        "at 15",
        "at 19",
    ]);
    for method in ordered() {
        let Some(row) = row(results, method, "all", 15) else { continue };
        let (distance, f1) = best_distance(row);
        let decisions = decisions(row, distance);
        let mean = |measure: fn(Confusion) -> f64| {
            mean_and_interval(&decisions.iter().map(|&d| measure(d)).collect::<Vec<_>>()).0
        };
        let [a, b, c, d] = [5, 10, 15, 19].map(|distance| share(mean_f1(row, distance)));
        table.line(&[
            method.label(),
            distance.to_string(),
            share(mean(Confusion::precision)),
            share(mean(Confusion::recall)),
            share(f1),
            a,
            b,
            c,
            d,
        ]);
    }
    table.finish()
}

fn kinds_table(results: &Results<Row>) -> String {
    let mut table =
        Table::new(&["share found at <= 10, 15 % edited by", "modify", "delete", "move", "replace"]);
    for method in ordered() {
        let rows = ["modify", "delete", "move", "replace"].map(|kind| row(results, method, kind, 15));
        if rows.iter().any(Option::is_none) {
            continue;
        }
        let [a, b, c, d] =
            rows.map(|row| row.map_or("–".into(), |row| with_interval(&found(row, PUBLISHED_DISTANCE))));
        table.line(&[method.label(), a, b, c, d]);
    }
    table.finish()
}

/// How far E-Simhash is ahead of plain simhash.
fn margins(results: &Results<Row>, facts: &mut Facts) {
    let corpus = &results.sample.corpus;
    let plain = |weight| Method::new(Features::words(1), weight);
    let methods = [
        ("esimhash", esimhash(Position::None)),
        ("esimhash-uncapped", Method::new(Features::words(1), Weight::Entropy)),
        ("esimhash-paper", esimhash(Position::Paper)),
        ("esimhash-bucket", esimhash(Position::Bucket)),
        ("esimhash-spread", esimhash(Position::Spread)),
        ("uniform", plain(Weight::Uniform)),
        ("tf", plain(Weight::Tf)),
        ("log", plain(Weight::Log)),
        ("tfidf", plain(Weight::Tfidf)),
        ("minhash", Method::minhash(Features::words(1))),
        ("minhash-pairs", Method::minhash(Features::words(2))),
    ];
    for (name, method) in methods {
        for (percent, edits) in
            PERCENTS.into_iter().flat_map(|percent| [(percent, "all"), (percent, "passage")])
        {
            let Some(row) = row(results, method, edits, percent) else { continue };
            let mut fact =
                |what: &str, value| facts.insert(format!("{what}-{edits}-{name}-{percent}-{corpus}"), value);
            fact("found", share(mean_and_interval(&found(row, PUBLISHED_DISTANCE)).0));
            fact("f1", share(mean_f1(row, PUBLISHED_DISTANCE)));
            let (distance, f1) = best_distance(row);
            fact("best-f1", share(f1));
            fact("best-distance", distance.to_string());
        }
    }
}
