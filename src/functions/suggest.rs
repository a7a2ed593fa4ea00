//! `simhash_suggest`: which distance suits a table.

use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};

use crate::bulk::suggest::suggest;

/// A row for each distance: see the SQL catalogue for the columns.
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
    TableIterator::new(suggest(index).into_iter().map(|row| {
        (row.distance as i32, row.expected_false, row.found, row.true_share(), row.suggested)
    }))
}
