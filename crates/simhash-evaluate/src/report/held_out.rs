//! Distances chosen on all corpora but one and applied to that one: what a reader gets who takes a recommended distance to texts
//! of their own.

use super::combined::{Combined, LeftOut, Truths, decision, mean};
use super::{All, Facts, Table, share, source, title};
use crate::corpus::Kind;
use crate::experiments::settings::{Row, choices};
use crate::method::Method;
use crate::metrics::deviation;
use crate::results::Results;

const WIDTHS: [u32; 2] = [64, 128];
const KINDS: [(Kind, &str); 3] =
    [(Kind::Prose, "prose"), (Kind::Template, "template"), (Kind::Question, "question")];

pub fn facts(all: &All, facts: &mut Facts) {
    let corpora: Vec<&Results<Row>> = all.settings.iter().collect();
    for width in WIDTHS {
        facts.insert(format!("left-out-{width}"), choices_table(&corpora, width));
        quoted(&corpora, width, facts);
    }
    facts.insert("left-out-each".into(), each_table(&corpora));
    facts.insert("kinds".into(), kinds_table(all));
    for (kind, name) in KINDS {
        let corpora = of_kind(all, kind);
        for (place, method) in choices().into_iter().enumerate() {
            for width in WIDTHS {
                let Some(combined) = Combined::of(&corpora, method, width) else { continue };
                let (distance, f1) = combined.common();
                facts.insert(format!("kind-{name}-{}-{width}", NAMES[place]), distance.to_string());
                facts.insert(format!("kind-f1-{name}-{}-{width}", NAMES[place]), share(f1));
            }
        }
    }
}

/// What [`choices`] are called in the prose, in their order.
const NAMES: [&str; 7] = ["default", "log", "pairs", "minhash", "minhash-pairs", "minhash-both", "idf-pairs"];

fn of_kind(all: &All, kind: Kind) -> Vec<&Results<Row>> {
    all.settings.iter().filter(|results| source(&results.sample).kind == kind).collect()
}

/// By how much the one is ahead of the other, each at its own distances, on the same resamples.
fn ahead(one: &[LeftOut], other: &[LeftOut]) -> String {
    let mean_f1 = |all: &[LeftOut]| mean(all.iter().map(|left_out| left_out.f1));
    let times = one.iter().chain(other).map(|left_out| left_out.resampled.len()).min().unwrap_or(0);
    if times < 2 {
        return "–".into();
    }
    let resampled = |all: &[LeftOut], time: usize| mean(all.iter().map(|left_out| left_out.resampled[time]));
    let differences: Vec<f64> =
        (0..times).map(|time| resampled(one, time) - resampled(other, time)).collect();
    let difference = mean_f1(one) - mean_f1(other);
    format!("{difference:+.3} ± {:.3}", 1.96 * deviation(&differences))
}

pub fn distances(left_out: &[LeftOut]) -> String {
    let all = || left_out.iter().map(|left_out| left_out.distance);
    match (all().min(), all().max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (Some(one), _) => one.to_string(),
        _ => "–".into(),
    }
}

fn choices_table(corpora: &[&Results<Row>], width: u32) -> String {
    let mut table = Table::new(&[
        "",
        "distances chosen",
        "F1 on the corpus left out",
        "ahead of the default by",
        "regret",
        "by groups: F1",
        "regret",
    ]);
    let left_out = |method, truth| {
        Combined::of(corpora, method, width).map(|combined| combined.left_out(truth)).unwrap_or_default()
    };
    let default = left_out(Method::default_of_simhash(), Truths::Similar);
    for method in choices() {
        let similar = left_out(method, Truths::Similar);
        let groups = left_out(method, Truths::Groups);
        if similar.is_empty() {
            continue;
        }
        let f1 = |all: &[LeftOut]| share(mean(all.iter().map(|left_out| left_out.f1)));
        let regret = |all: &[LeftOut]| share(mean(all.iter().map(|left_out| left_out.best - left_out.f1)));
        let is_default = method == Method::default_of_simhash();
        let mark = if is_default { "**" } else { "" };
        table.line(&[
            format!("{mark}{}{mark}", method.label()),
            distances(&similar),
            f1(&similar),
            if is_default { String::new() } else { ahead(&similar, &default) },
            regret(&similar),
            f1(&groups),
            regret(&groups),
        ]);
    }
    table.finish()
}

/// Corpus by corpus: F1 where the others choose the distance, and at the best one.
fn each_table(corpora: &[&Results<Row>]) -> String {
    let names = corpora.iter().map(|results| title(&results.sample));
    let head: Vec<String> = ["".to_owned(), "bits".to_owned()].into_iter().chain(names).collect();
    let mut table = Table::new(&head);
    for width in WIDTHS {
        for method in choices() {
            let Some(combined) = Combined::of(corpora, method, width) else { continue };
            let cells = combined.left_out(Truths::Similar).into_iter().map(|left_out| {
                let LeftOut { distance, f1, best_distance, best, .. } = left_out;
                format!("{}: {} ({best_distance}: {})", distance, share(f1), share(best))
            });
            let line: Vec<String> = [method.label(), width.to_string()].into_iter().chain(cells).collect();
            table.line(&line);
        }
    }
    table.finish()
}

/// For each kind of text the distance with the greatest mean F1, and each corpus at its own.
fn kinds_table(all: &All) -> String {
    let names = all.settings.iter().map(|results| title(&results.sample));
    let head: Vec<String> = ["kind, bits", "one distance: F1", "left out within the kind: F1"]
        .map(str::to_owned)
        .into_iter()
        .chain(names)
        .collect();
    let mut table = Table::new(&head);
    for method in choices() {
        for (kind, name) in KINDS {
            let corpora = of_kind(all, kind);
            for width in WIDTHS {
                let Some(combined) = Combined::of(&corpora, method, width) else { continue };
                let (distance, f1) = combined.common();
                let cells = all.settings.iter().map(|results| {
                    let row = results.rows.iter().find(|row| row.method == method && row.width == width);
                    match row.filter(|_| source(&results.sample).kind == kind) {
                        None => String::new(),
                        Some(row) => format!(
                            "{}: {}; {}",
                            row.summary.best,
                            share(row.summary.f1),
                            share(decision(&results.sample, row, distance, Truths::Similar).f1())
                        ),
                    }
                });
                let first = [
                    format!("{}, {name}, {width}", method.label()),
                    format!("{distance}: {}", share(f1)),
                    if corpora.len() < 2 { "–".into() } else { share(combined.held_out().0) },
                ];
                let line: Vec<String> = first.into_iter().chain(cells).collect();
                table.line(&line);
            }
        }
    }
    table.finish()
}

/// What the prose quotes.
fn quoted(corpora: &[&Results<Row>], width: u32, facts: &mut Facts) {
    let left_out =
        |method| Combined::of(corpora, method, width).map(|combined| combined.left_out(Truths::Similar));
    let Some(default) = left_out(Method::default_of_simhash()) else { return };
    for (place, method) in choices().into_iter().enumerate() {
        let Some(found) = left_out(method) else { continue };
        let mut fact =
            |what: &str, value: String| facts.insert(format!("{what}-{}-{width}", NAMES[place]), value);
        fact("left-out-f1", share(mean(found.iter().map(|left_out| left_out.f1))));
        fact("left-out-regret", share(mean(found.iter().map(|left_out| left_out.best - left_out.f1))));
        fact("left-out-distances", distances(&found));
        fact("left-out-ahead", ahead(&found, &default));
        if let Some(combined) = Combined::of(corpora, method, width) {
            let (distance, f1) = combined.common();
            fact("common-distance", distance.to_string());
            fact("common-f1", share(f1));
            let groups = combined.left_out(Truths::Groups);
            fact("left-out-f1-groups", share(mean(groups.iter().map(|left_out| left_out.f1))));
        }
    }
}
