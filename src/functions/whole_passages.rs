//! `simhash_passages`: all pairs of rows of whole tables that share a passage.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};

use super::bulk::{Places, all_of};
use crate::bulk::held::Held;
use crate::bulk::target::{Content, Target};
use crate::bulk::texts::Origin;
use crate::bulk::texts::passages::pairs;
use crate::call::Call;
use crate::error::raise;
use crate::types::text_passage::checked_words;

type Rows = TableIterator<
    'static,
    (
        name!(a, pg_sys::ItemPointerData),
        name!(b, pg_sys::ItemPointerData),
        name!(passages, i32),
        name!(words, i32),
        name!(share_a, f64),
        name!(share_b, f64),
        name!(a_table, pg_sys::Oid),
        name!(b_table, pg_sys::Oid),
    ),
>;

fn rows(origin: Origin, words: Option<usize>, most: Option<i32>, call: Call<'_>) -> Rows {
    let most = most.map(checked_most);
    let places = Places::of_origin(&origin);
    // SAFETY: the executor calls a set-returning SQL function, and this is its first call.
    let held = unsafe { Held::hold(&origin.targets().iter().collect::<Vec<_>>(), &call) };
    let pairs = pairs(origin, words, most);
    TableIterator::new(all_of(pairs, held).map(move |(a, b, found)| {
        let ((a, a_table), (b, b_table)) = (places.of_row(a), places.of_row(b));
        let (passages, words) = (found.passages as i32, found.words as i32);
        (a, b, passages, words, found.share_a, found.share_b, a_table, b_table)
    }))
}

fn checked_most(most: i32) -> usize {
    usize::try_from(most).ok().filter(|&most| most > 1).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("number of texts {most} is out of range for a passage"),
            "Allowed: 2 or more, or NULL for any number.",
        )
    })
}

/// Every pair of rows that share a passage, in the order in which pairs are found. `index` is an
/// index, or a table over several servers.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_passages(
    index: Option<pg_sys::Oid>,
    words: Option<i32>,
    most: Option<i32>,
    call: Call<'_>,
) -> Rows {
    let Some(index) = index else { return TableIterator::new(std::iter::empty()) };
    let words = words.map(checked_words);
    rows(Origin::of_passages(index, words), words, most, call)
}

/// Every pair of a row of one index and a row of another that share a passage.
#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_passages_of_two(
    index: Option<pg_sys::Oid>,
    other: Option<pg_sys::Oid>,
    words: Option<i32>,
    most: Option<i32>,
    call: Call<'_>,
) -> Rows {
    let (Some(index), Some(other)) = (index, other) else {
        return TableIterator::new(std::iter::empty());
    };
    let target = Target::of_two(index, other, Content::Passages);
    rows(target.into(), words.map(checked_words), most, call)
}
