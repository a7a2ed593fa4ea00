//! Which settings, which distance: tables over all corpora of long and of short texts.

use simhash_core::config::{Method as Maker, Position, Weight};

use super::combined::{Asked, Combined, band_recall, decision, false_rate, mean};
use super::held_out::distances;
use super::{All, Facts, Table, maybe, per_million, share, thousands, title};
use crate::corpus::Length;
use crate::experiments::settings::Row;
use crate::method::{Features, Method};
use crate::results::Results;

const WIDTHS: [u32; 2] = [64, 128];
const LENGTHS: [(Length, &str); 2] = [(Length::Long, "long"), (Length::Short, "short")];

/// Similarities of which it is asked what distance finds them.
const SIMILARITIES: [f64; 6] = [0.95, 0.9, 0.8, 0.7, 0.6, 0.5];
/// The share of pairs that a recommended distance finds.
const FOUND: f64 = 0.95;

pub fn facts(all: &All, facts: &mut Facts) {
    let corpora: Vec<&Results<Row>> = all.settings.iter().collect();
    for width in WIDTHS {
        // What a default may be: nothing that has to be trained.
        let mut ranked = Combined::ranked(&corpora, width);
        ranked.retain(|combined| !combined.method.needs_model());
        of_the_default(&ranked, &format!("all-{width}"), facts);
        facts.insert(format!("held-out-{width}"), held_out_ranking(&corpora, width));
    }
    facts.insert("samples".into(), samples(all));
    facts.insert("tradeoff".into(), tradeoff(all));
    for (length, name) in LENGTHS {
        let corpora = all.of(length);
        facts.insert(format!("matrix-{name}"), matrix(&corpora));
        facts.insert(format!("recommended-{name}"), recommended(all, length));
        for width in WIDTHS {
            let ranked = Combined::ranked(&corpora, width);
            facts.insert(format!("ranking-{name}-{width}"), ranking(&ranked));
            of_the_default(&ranked, &format!("{name}-{width}"), facts);
            facts.insert(format!("recall-matrix-{name}-{width}"), recall_matrix(&corpora, width));
        }
    }
}

fn samples(all: &All) -> String {
    let mut table = Table::new(&[
        "corpus",
        "documents",
        "median, characters",
        "pairs of one group: J >= 0.9",
        "0.7 to 0.9",
        "0.5 to 0.7",
        "below 0.5",
        "other pairs",
        "left out",
        "others, to train on",
    ]);
    for sample in all.settings.iter().map(|results| &results.sample) {
        let [a, b, c, d] = sample.pairs.map(|pairs| thousands(pairs as u64));
        table.line(&[
            title(sample),
            thousands(sample.documents as u64),
            thousands(sample.median as u64),
            a,
            b,
            c,
            d,
            thousands(sample.others),
            thousands(sample.unlabelled as u64),
            thousands(sample.trained as u64),
        ]);
    }
    table.finish()
}

fn default_row(results: &Results<Row>, width: u32) -> Option<&Row> {
    results.rows.iter().find(|row| row.width == width && row.method == Method::default_of_simhash())
}

/// The default at several distances, corpus by corpus.
fn tradeoff(all: &All) -> String {
    let mut table = Table::new(&[
        "corpus",
        "bits",
        "distance",
        "recall: J >= 0.9",
        "0.7 to 0.9",
        "0.5 to 0.7",
        "below 0.5",
        "other pairs taken, a million",
        "precision",
        "F1",
    ]);
    for results in &all.settings {
        for width in WIDTHS {
            let Some(row) = default_row(results, width) else { continue };
            let distances: [usize; 5] = if width == 64 { [3, 6, 8, 10, 12] } else { [10, 16, 20, 24, 28] };
            for (at, distance) in distances.into_iter().enumerate() {
                let bands = [0, 1, 2, 3].map(|band| maybe(band_recall(&results.sample, row, band, distance)));
                let [a, b, c, d] = bands;
                let decision = decision(&results.sample, row, distance, Asked::SIMILAR);
                let first = at == 0;
                table.line(&[
                    if first && width == 64 { title(&results.sample) } else { String::new() },
                    if first { width.to_string() } else { String::new() },
                    distance.to_string(),
                    a,
                    b,
                    c,
                    d,
                    per_million(false_rate(&results.sample, row, distance)),
                    share(decision.precision()),
                    share(decision.f1()),
                ]);
            }
        }
    }
    table.finish()
}

/// The ten best of all corpora, and what is simplest.
fn ranking(ranked: &[Combined<'_>]) -> String {
    let mut table = Table::new(&[
        "settings",
        "F1, mean of best distances",
        "behind the first by",
        "F1 at the published distance",
        "recall at 1e-5 false",
        "one distance for all",
        "F1 there",
    ]);
    let Some(first) = ranked.first() else { return table.finish() };
    let simple = |method: Method| method == Method::default_of_simhash() || is_plain(method);
    for (place, combined) in
        ranked.iter().enumerate().filter(|(place, combined)| *place < 10 || simple(combined.method))
    {
        let (behind, interval) = combined.behind(first);
        let (distance, f1) = combined.common();
        let mark = if combined.method == Method::default_of_simhash() { "**" } else { "" };
        table.line(&[
            format!("{}. {mark}{}{mark}", place + 1, combined.method.label()),
            format!("{} ± {}", share(combined.f1()), share(combined.f1_interval())),
            if place == 0 { String::new() } else { format!("{} ± {}", share(behind), share(interval)) },
            share(combined.f1_published()),
            share(combined.recall_1e5()),
            distance.to_string(),
            share(f1),
        ]);
    }
    table.finish()
}

/// Every setting on all corpora, the greatest mean F1 on corpora left out first.
fn held_out_ranking(corpora: &[&Results<Row>], width: u32) -> String {
    let mut table = Table::new(&[
        "settings",
        "F1 on the corpus left out",
        "regret",
        "F1, mean of best distances",
        "distances chosen",
    ]);
    let mut ranked: Vec<(f64, f64, Combined<'_>)> = Combined::ranked(corpora, width)
        .into_iter()
        .map(|combined| {
            let (f1, regret) = combined.held_out();
            (f1, regret, combined)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (place, (f1, regret, combined)) in ranked.iter().enumerate() {
        let mark = if combined.method == Method::default_of_simhash() { "**" } else { "" };
        table.line(&[
            format!("{}. {mark}{}{mark}", place + 1, combined.method.label()),
            share(*f1),
            share(*regret),
            share(combined.f1()),
            distances(&combined.left_out(Asked::SIMILAR)),
        ]);
    }
    table.finish()
}

/// Single words, weighed without a model, and sets.
fn is_plain(method: Method) -> bool {
    let weighed = !method.needs_model() && method.weight != Weight::Level;
    method.features == Features::words(1) && weighed || method.maker == Maker::Minhash
}

/// What the prose quotes.
fn of_the_default(ranked: &[Combined<'_>], name: &str, facts: &mut Facts) {
    let default = ranked.iter().position(|combined| combined.method == Method::default_of_simhash());
    let (Some(first), Some(place)) = (ranked.first(), default) else { return };
    let default = &ranked[place];
    let (behind, interval) = default.behind(first);
    let (distance, f1) = default.common();
    let mut fact = |what: &str, value: String| facts.insert(format!("{what}-{name}"), value);
    fact("default-place", (place + 1).to_string());
    fact("default-f1", share(default.f1()));
    fact("default-f1-published", share(default.f1_published()));
    fact("default-recall-1e-5", share(default.recall_1e5()));
    fact("default-recall-1e-6", maybe(default.recall_1e6()));
    fact("default-distance", distance.to_string());
    fact("default-f1-common", share(f1));
    fact("default-behind", format!("{} ± {}", share(behind), share(interval)));
    fact("winner", first.method.label());
    fact("winner-f1", share(first.f1()));
    fact("settings-compared", ranked.len().to_string());
    let others = [
        ("pairs", Method::new(Features::words(2), Weight::Uniform)),
        ("tf", Method::new(Features::words(1), Weight::Tf)),
        ("log", Method::new(Features::words(1), Weight::Log)),
        ("model", Method::new(Features::characters(3), Weight::Tfidf)),
    ];
    for (what, method) in others {
        let Some(combined) = ranked.iter().find(|combined| combined.method == method) else { continue };
        fact(&format!("f1-{what}"), share(combined.f1()));
        fact(&format!("distance-{what}"), combined.common().0.to_string());
        let (ahead, interval) = combined.behind(default);
        fact(&format!("default-ahead-of-{what}"), format!("{} ± {}", share(ahead), share(interval)));
    }
}

/// Mean F1 at the best distances: features by weights.
fn matrix(corpora: &[&Results<Row>]) -> String {
    by_features_and_weights(corpora, "64 / 128 bits", |method| {
        let value = |width| Combined::of(corpora, method, width).map(|combined| combined.f1());
        match WIDTHS.map(value) {
            [Some(narrow), Some(wide)] => format!("{} / {}", share(narrow), share(wide)),
            _ => "–".into(),
        }
    })
}

/// Mean recall where 1e-5 of the other pairs are taken, and 1e-6 where there are enough of them.
fn recall_matrix(corpora: &[&Results<Row>], width: u32) -> String {
    by_features_and_weights(corpora, "1e-5 / 1e-6", |method| {
        let combined = Combined::of(corpora, method, width);
        combined.map_or("–".into(), |combined| {
            format!("{} / {}", share(combined.recall_1e5()), maybe(combined.recall_1e6()))
        })
    })
}

fn by_features_and_weights(
    corpora: &[&Results<Row>],
    corner: &str,
    cell: impl Fn(Method) -> String,
) -> String {
    let Some(first) = corpora.first() else { return String::new() };
    let mut kinds: Vec<Features> = Vec::new();
    // Methods that differ in nothing but features share a column.
    let mut columns: Vec<Method> = Vec::new();
    for method in first.rows.iter().map(|row| row.method).filter(|method| method.position == Position::None) {
        if !kinds.contains(&method.features) {
            kinds.push(method.features);
        }
        let column = Method { features: Features::words(1), ..method };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let names = columns.iter().map(|column| match column.maker {
        Maker::Simhash => format!("{}{}", column.weight, if column.capped { ", capped" } else { "" }),
        Maker::Minhash => "one-bit MinHash".into(),
    });
    let head: Vec<String> = std::iter::once(corner.to_owned()).chain(names).collect();
    let mut table = Table::new(&head);
    for features in kinds {
        let cells = columns.iter().map(|&column| cell(Method { features, ..column }));
        let line: Vec<String> = std::iter::once(features.label()).chain(cells).collect();
        table.line(&line);
    }
    table.finish()
}

/// For a similarity: the distance that finds 95 % of the pairs at least as similar, and what else is taken there. Corpora count
/// the same, if they have fifty such pairs.
fn recommended(all: &All, length: Length) -> String {
    let mut table = Table::new(&[
        "pairs with a similarity of at least",
        "64 bits: distance",
        "other pairs taken, a million",
        "128 bits: distance",
        "other pairs taken, a million",
    ]);
    for least in SIMILARITIES {
        let cells = WIDTHS.map(|width| recommendation(all, length, least, width));
        let [(a, b), (c, d)] = cells;
        table.line(&[format!("{least}"), a, b, c, d]);
    }
    table.finish()
}

fn recommendation(all: &All, length: Length, least: f64, width: u32) -> (String, String) {
    let corpora = all.angle.iter().filter(|results| results.sample.length == length);
    let distances: Vec<Vec<usize>> = corpora
        .map(|results| {
            let similar = results.rows.iter().filter(|row| row.similarity >= least);
            similar.map(|row| if width == 64 { row.distance64 } else { row.distance128 } as usize).collect()
        })
        .filter(|distances: &Vec<usize>| distances.len() >= 50)
        .collect();
    let found = |distance: usize| {
        mean(
            distances
                .iter()
                .map(|all| all.iter().filter(|&&d| d <= distance).count() as f64 / all.len() as f64),
        )
    };
    let Some(distance) = (0..width as usize / 2).find(|&distance| found(distance) >= FOUND) else {
        return ("–".into(), "–".into());
    };
    let rates = all.of(length).into_iter().filter_map(|results| {
        default_row(results, width).map(|row| false_rate(&results.sample, row, distance))
    });
    (distance.to_string(), per_million(mean(rates)))
}
