//! Distances chosen on all corpora but one and applied to that one: what a reader gets who takes a recommended distance to texts
//! of their own.

use super::combined::{Asked, Combined, LeftOut, decision, mean};
use super::{All, Facts, Table, share, source, thousands, title};
use crate::corpus::{Kind, Length};
use crate::experiments::settings::{Row, choices};
use crate::method::Method;
use crate::metrics::{deviation, mean_and_interval};
use crate::results::Results;

const WIDTHS: [u32; 2] = [64, 128];
const KINDS: [(Kind, &str); 3] =
    [(Kind::Prose, "prose"), (Kind::Template, "template"), (Kind::Question, "question")];

pub fn facts(all: &All, facts: &mut Facts) {
    let corpora: Vec<&Results<Row>> = all.settings.iter().collect();
    for width in WIDTHS {
        facts.insert(format!("left-out-{width}"), choices_table(&corpora, width));
        quoted(&corpora, width, facts);
        let pool = |models: bool| {
            let ranked = Combined::ranked(&corpora, width);
            ranked.into_iter().filter(|combined| models || !combined.method.needs_model()).collect::<Vec<_>>()
        };
        for (name, models) in [("nested", false), ("nested-models", true)] {
            facts.insert(format!("{name}-{width}"), share(nested(&pool(models))));
        }
    }
    facts.insert("left-out-each".into(), each_table(&corpora));
    facts.insert("kinds".into(), kinds_table(all));
    facts.insert("rows".into(), rows_table(&corpora, &every_choice()));
    facts.insert("rows-recommended".into(), rows_table(&corpora, &recommended()));
    facts.insert(
        "documents".into(),
        range(all.settings.iter().map(|results| results.sample.documents as u64)),
    );
    let short = all.of(Length::Short);
    facts.insert("medians-short".into(), range(short.iter().map(|results| results.sample.median as u64)));
    let kinds = KINDS.map(|(kind, name)| (of_kind(all, kind), name));
    for (corpora, name) in kinds.into_iter().chain([(short, "short")]) {
        for (place, method) in choices().into_iter().enumerate() {
            for width in WIDTHS {
                let Some(combined) = Combined::of(&corpora, method, width) else { continue };
                let mut fact = |what: &str, value: String| {
                    facts.insert(format!("kind-{what}{name}-{}-{width}", NAMES[place]), value)
                };
                fact("", combined.common().0.to_string());
                fact("f1-", if corpora.len() < 2 { "–".into() } else { share(combined.held_out().0) });
            }
        }
    }
}

/// The mean F1 on corpora left out if the others choose the setting too, with its distance.
fn nested(settings: &[Combined<'_>]) -> f64 {
    let all: Vec<Vec<LeftOut>> = settings.iter().map(|combined| combined.left_out(Asked::SIMILAR)).collect();
    let corpora = all.first().map_or(0, Vec::len);
    mean((0..corpora).map(|place| {
        let chosen = all.iter().max_by(|a, b| a[place].others_f1.total_cmp(&b[place].others_f1));
        chosen.map_or(0.0, |left_out| left_out[place].f1)
    }))
}

/// The sizes of tables that are reckoned with.
const ROWS: [u64; 3] = [10_000, 100_000, 1_000_000];

/// The one distance for all corpora in tables of some size, and the mean F1 at distances that others chose.
fn distance_and_f1(combined: &Combined<'_>, asked: Asked) -> String {
    format!("{}: {}", combined.common_of(asked).0, share(mean_f1(&combined.left_out(asked))))
}

/// What becomes of distance and F1 as tables grow, for the settings named.
fn rows_table(corpora: &[&Results<Row>], settings: &[(String, Method, u32)]) -> String {
    let sizes = ROWS.map(thousands);
    let head: Vec<String> =
        ["rows", "the samples' own"].map(str::to_owned).into_iter().chain(sizes).collect();
    let mut table = Table::new(&head);
    for (name, method, width) in settings {
        let Some(combined) = Combined::of(corpora, *method, *width) else { continue };
        let asked = std::iter::once(Asked::SIMILAR).chain(ROWS.map(Asked::of_rows));
        let cells = asked.map(|asked| distance_and_f1(&combined, asked));
        table.line(&std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>());
    }
    table.finish()
}

/// All that one would choose from.
fn every_choice() -> Vec<(String, Method, u32)> {
    let of_width = |width| choices().map(|method| (format!("{}, {width}", method.label()), method, width));
    WIDTHS.into_iter().flat_map(of_width).collect()
}

/// The few that the recommendation speaks of, as one writes them.
fn recommended() -> Vec<(String, Method, u32)> {
    let [default, _, _, words, pairs, _, idf] = choices();
    let of = |name: &str, method, width| (name.to_owned(), method, width);
    vec![
        of("`minhash64(body, '{\"shingle\": 2}')`", pairs, 64),
        of("`minhash128(body, '{\"shingle\": 2}')`", pairs, 128),
        of("`minhash128(body)`", words, 128),
        of("`simhash(body)`", default, 64),
        of("`simhash128(body)`", default, 128),
        of("`simhash128(body, '{\"shingle\": 2, \"weight\": \"idf\", \"model\": ...}')`", idf, 128),
    ]
}

/// What [`choices`] are called in the prose, in their order.
const NAMES: [&str; 7] = ["default", "log", "pairs", "minhash", "minhash-pairs", "minhash-both", "idf-pairs"];

fn of_kind(all: &All, kind: Kind) -> Vec<&Results<Row>> {
    all.settings.iter().filter(|results| source(&results.sample).kind == kind).collect()
}

fn mean_f1(all: &[LeftOut]) -> f64 {
    mean(all.iter().map(|left_out| left_out.f1))
}

fn mean_regret(all: &[LeftOut]) -> f64 {
    mean(all.iter().map(|left_out| left_out.best - left_out.f1))
}

/// By how much the one is ahead of the other, each at its own distances, and half of the 95 % confidence interval of that
/// for corpora like these (Student's t).
fn ahead(one: &[LeftOut], other: &[LeftOut]) -> String {
    let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one.f1 - other.f1).collect();
    let (difference, interval) = mean_and_interval(&differences);
    format!("{difference:+.3} ± {interval:.3}")
}

/// Half of the 95 % confidence interval of the same for other texts of these very corpora: resamples of their groups.
fn interval_of_texts(one: &[LeftOut], other: &[LeftOut]) -> String {
    let times = one.iter().chain(other).map(|left_out| left_out.resampled.len()).min().unwrap_or(0);
    if times < 2 {
        return "–".into();
    }
    let resampled = |all: &[LeftOut], time: usize| mean(all.iter().map(|left_out| left_out.resampled[time]));
    let differences: Vec<f64> =
        (0..times).map(|time| resampled(one, time) - resampled(other, time)).collect();
    format!("{:.3}", 1.96 * deviation(&differences))
}

pub fn distances(left_out: &[LeftOut]) -> String {
    range(left_out.iter().map(|left_out| left_out.distance as u64))
}

/// From the least to the greatest.
fn range(values: impl Iterator<Item = u64> + Clone) -> String {
    match (values.clone().min(), values.max()) {
        (Some(least), Some(most)) if least != most => format!("{} to {}", thousands(least), thousands(most)),
        (Some(one), _) => thousands(one),
        _ => "–".into(),
    }
}

fn choices_table(corpora: &[&Results<Row>], width: u32) -> String {
    let mut table = Table::new(&[
        "",
        "distances chosen",
        "F1 on the corpus left out",
        "ahead of the default by",
        "± for other texts of these corpora",
        "regret",
        "by groups: F1",
        "ahead",
        "regret",
        "by labels alone: F1",
        "ahead",
    ]);
    let left_out = |method, asked| {
        Combined::of(corpora, method, width).map(|combined| combined.left_out(asked)).unwrap_or_default()
    };
    let asked = [Asked::SIMILAR, Asked::GROUPS, Asked::LABELS];
    let default = asked.map(|asked| left_out(Method::default_of_simhash(), asked));
    for method in choices() {
        let [similar, groups, labels] = asked.map(|asked| left_out(method, asked));
        if similar.is_empty() {
            continue;
        }
        let f1 = |all: &[LeftOut]| share(mean_f1(all));
        let regret = |all: &[LeftOut]| share(mean_regret(all));
        let is_default = method == Method::default_of_simhash();
        let beside = |text: String| if is_default { String::new() } else { text };
        let mark = if is_default { "**" } else { "" };
        table.line(&[
            format!("{mark}{}{mark}", method.label()),
            distances(&similar),
            f1(&similar),
            beside(ahead(&similar, &default[0])),
            beside(interval_of_texts(&similar, &default[0])),
            regret(&similar),
            f1(&groups),
            beside(ahead(&groups, &default[1])),
            regret(&groups),
            f1(&labels),
            beside(ahead(&labels, &default[2])),
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
            let cells = combined.left_out(Asked::SIMILAR).into_iter().map(|left_out| {
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
                        Some(row) => {
                            let f1 = |distance| decision(&results.sample, row, distance, Asked::SIMILAR).f1();
                            let best = row.summary.best;
                            format!("{best}: {}; {}", share(f1(best)), share(f1(distance)))
                        }
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
        |method, asked| Combined::of(corpora, method, width).map(|combined| combined.left_out(asked));
    let Some(default) = left_out(Method::default_of_simhash(), Asked::SIMILAR) else { return };
    for (place, method) in choices().into_iter().enumerate() {
        let Some(found) = left_out(method, Asked::SIMILAR) else { continue };
        let mut fact =
            |what: &str, value: String| facts.insert(format!("{what}-{}-{width}", NAMES[place]), value);
        fact("left-out-f1", share(mean_f1(&found)));
        fact("left-out-regret", share(mean_regret(&found)));
        fact("left-out-ahead", ahead(&found, &default));
        fact("own-f1", share(mean(found.iter().map(|left_out| left_out.best))));
        let groups = left_out(method, Asked::GROUPS).unwrap_or_default();
        for (results, left_out) in corpora.iter().zip(groups) {
            fact(&format!("groups-f1-{}", results.sample.corpus), share(left_out.best));
        }
    }
}
