//! `simhash_suggest`, which suggests a distance or a similarity for a table, and
//! `simhash_suggest_pairs`, which shows pairs to judge by.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};
use simhash_core::whole::suggest::similarity::{Answer, Finding};
use simhash_core::whole::suggest::{CROWD, FAMILIES, Row};

use crate::bulk::suggest::{Suggestion, distances_only, pairs, suggest};
use crate::types::{Text, tid};

/// A row for each distance, with the columns that version 0.1.0 declares.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_suggest(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(distance, i32),
        name!(expected_false, f64),
        name!(found, f64),
        name!(true_share, Option<f64>),
        name!(suggested, bool),
    ),
> {
    TableIterator::new(distances_only(index).into_iter().map(|row| {
        (row.distance as i32, row.expected_false, row.found, row.beyond_chance(), row.suggested)
    }))
}

/// The columns of `simhash_suggest`.
type Columns = (
    Option<i32>,
    Option<f64>,
    f64,
    Option<f64>,
    Option<f64>,
    i64,
    i64,
    i64,
    bool,
    Option<Text<'static>>,
);

/// A row for each distance, or for each band of similarities: see the SQL catalogue for the
/// columns.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_suggest_limits(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(distance, Option<i32>),
        name!(similarity, Option<f64>),
        name!(found, f64),
        name!(expected_false, Option<f64>),
        name!(beyond_chance, Option<f64>),
        name!(pairs, i64),
        name!(near_rows, i64),
        name!(crowded_rows, i64),
        name!(suggested, bool),
        name!(note, Option<Text<'static>>),
    ),
> {
    let rows: Vec<Columns> = match suggest(index) {
        Suggestion::Distances(rows) => rows.iter().map(of_distance).collect(),
        Suggestion::Similarities(answer) => of_similarities(&answer),
    };
    TableIterator::new(rows)
}

fn of_distance(row: &Row) -> Columns {
    let note = if !row.suggested {
        None
    } else if row.related >= FAMILIES {
        Some(format!(
            "{}. No distance tells them apart: index the texts, and weigh rare words.",
            families(row.related)
        ))
    } else if row.near < 0.5 {
        Some("no near pairs were found in the rows that were looked at.".to_owned())
    } else {
        None
    };
    (
        Some(row.distance as i32),
        None,
        row.found,
        Some(row.expected_false),
        row.beyond_chance(),
        row.pairs.round() as i64,
        row.near.round() as i64,
        row.crowded.round() as i64,
        row.suggested,
        note.map(Text::from),
    )
}

fn of_similarities(answer: &Answer) -> Vec<Columns> {
    let has_numbers = answer
        .findings
        .iter()
        .any(|finding| matches!(finding, Finding::Numbers(_) | Finding::Forms(_)));
    let said = |finding: &Finding| match *finding {
        // The rare words of a form are its numbers: weighing rare words would separate its copies.
        Finding::Families(share) if has_numbers => format!("{}.", families(share)),
        _ => said(finding),
    };
    let notes: Vec<String> = answer.findings.iter().map(said).collect();
    let rows = answer.rows.iter().map(|row| {
        let note = (row.suggested && !notes.is_empty()).then(|| notes.join(" ").into());
        (
            None,
            Some(row.similarity),
            row.found,
            None,
            None,
            row.pairs.round() as i64,
            row.near.round() as i64,
            row.crowded.round() as i64,
            row.suggested,
            note,
        )
    });
    rows.collect()
}

fn families(share: f64) -> String {
    format!(
        "families: related, not copied: {:.0} % of all near pairs are those of rows with {CROWD} \
         neighbours and more, most of which are no near copies",
        share * 100.0
    )
}

/// The text of a finding, for the column `note`.
fn said(finding: &Finding) -> String {
    match *finding {
        Finding::NoPairs => "no near pairs were found: 0.7 is the default.".into(),
        Finding::NoneAsSimilar => "no pair is so similar: those below are of families.".into(),
        Finding::FewRows(rows) => format!("{rows} rows say little."),
        Finding::Single(share) => format!(
            "short: {:.0} % of the rows have no more than two words, and are near only to those \
             with the same.",
            share * 100.0
        ),
        Finding::Families(share) => format!(
            "{}. Weigh rare words: simhash_train, then an index WITH (config = \
             '{{\"weight\": \"idf\", \"model\": ...}}'), and the similarity 0.6.",
            families(share)
        ),
        Finding::Crowded(share) => format!("{}. Look at simhash_suggest_pairs.", families(share)),
        Finding::Numbers(share) => format!(
            "numbers: {:.0} % of the near pairs differ in their numbers alone. If numbers matter: \
             config '{{\"numbers\": \"same\"}}'.",
            share * 100.0
        ),
        Finding::Forms(share) => format!(
            "numbers: those of {:.0} % of all near pairs differ, as in forms that are filled in. \
             If numbers matter: config '{{\"numbers\": \"same\"}}', and a small similarity.",
            share * 100.0
        ),
    }
}

/// Pairs to judge by: see the SQL catalogue for the columns.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_suggest_pairs(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(distance, Option<i32>),
        name!(similarity, Option<f64>),
        name!(a, pg_sys::ItemPointerData),
        name!(b, pg_sys::ItemPointerData),
        name!(a_text, Option<Text<'static>>),
        name!(b_text, Option<Text<'static>>),
    ),
> {
    TableIterator::new(pairs(index).into_iter().map(|pair| {
        let [a, b] = pair.rows.map(tid::unpack);
        let [a_text, b_text] = pair.texts.map_or([None, None], |texts| texts.map(Some));
        let (a_text, b_text) = (a_text.map(Text::from), b_text.map(Text::from));
        (pair.distance.map(|d| d as i32), pair.similarity, a, b, a_text, b_text)
    }))
}
