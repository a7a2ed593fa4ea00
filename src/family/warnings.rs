//! Warns about a missing index, with the statement that creates it.

use pgrx::pg_sys;
use simhash_index::meta::SCOPE_COLUMNS;

use super::column::{Column, Named};
use super::serving::{Similar, is_indexable};
use super::tables::Family;
use crate::am::passages::DEFAULT_WORDS;
use crate::am::texts::LEAST_BY_DEFAULT;
use crate::catalog::names::{qualified_name, quoted, table_name};
use crate::error::warn;

/// Warns about the first table without an index by which `function` could find near rows, by
/// fingerprint or by text. The index in the HINT is on `table`.
pub fn warn_without_index(
    family: &Family,
    function: &str,
    table: pg_sys::Oid,
    (searched, similar): (&Named, Option<&Similar>),
    scope: &[Named],
) {
    let Some(member) = family.members.iter().find(|member| member.index.is_none()) else { return };
    let (name, column) = (table_name(member.table), quoted(&searched.name));
    // The columns of the scope that an index can have before the fingerprint's.
    let indexable = scope.iter().filter(|scope| is_indexable(&scope.column));
    let before: String =
        indexable.take(SCOPE_COLUMNS).map(|scope| format!("{}, ", quoted(&scope.name))).collect();
    let that = similar.map_or(String::new(), |similar| {
        let what = match similar.words {
            Some(words) => format!("passages of {words} words"),
            None => format!("similarity {}", similar.similarity),
        };
        match &*similar.config {
            "{}" => format!(" for {what}"),
            config => format!(" for {what} and config {config}"),
        }
    });
    let but = if member.indexes.iter().any(|&index| is_partial(index)) {
        " but a partial one"
    } else {
        ""
    };
    warn(
        &format!(
            "table {name} has no simhash index on column {column}{that}{but}: \
             {function} reads the whole table for every row"
        ),
        &format!(
            "CREATE INDEX ON {} USING simhash ({before}{column}{}){};",
            visible_name(table),
            operator_class(&searched.column, similar),
            similar.map_or(String::new(), parameters)
        ),
    );
}

/// The name of a table, with its schema unless the search path finds it.
fn visible_name(table: pg_sys::Oid) -> String {
    // SAFETY: a catalogue look-up.
    let is_visible = unsafe { pg_sys::RelationIsVisible(table) };
    qualified_name(table).filter(|_| !is_visible).unwrap_or_else(|| table_name(table))
}

/// Whether an index has a predicate.
fn is_partial(index: pg_sys::Oid) -> bool {
    use crate::catalog::cache;
    let read = |row: &cache::Row<pg_sys::FormData_pg_index>| {
        row.column(pg_sys::Anum_pg_index_indpred).is_some()
    };
    // SAFETY: a look-up by OID; the row of an index has this column.
    unsafe { cache::row(pg_sys::SysCacheIdentifier::INDEXRELID, index, read) }.unwrap_or(false)
}

/// The storage parameters of an index of texts, except those with their default values.
fn parameters(similar: &Similar) -> String {
    let mut given = Vec::new();
    if let Some(words) = similar.words.filter(|&words| words != DEFAULT_WORDS) {
        given.push(format!("words = {words}"));
    }
    if similar.words.is_none() && similar.similarity < LEAST_BY_DEFAULT {
        given.push(format!("similarity = {}", similar.similarity));
    }
    if &*similar.config != "{}" {
        given.push(format!("config = '{}'", similar.config.replace('\'', "''")));
    }
    if given.is_empty() { String::new() } else { format!(" WITH ({})", given.join(", ")) }
}

/// The operator class in `CREATE INDEX`, after the searched column.
fn operator_class(searched: &Column, similar: Option<&Similar>) -> &'static str {
    if similar.is_some_and(|similar| similar.words.is_some()) {
        " text_passage_ops"
    } else if searched.base == pg_sys::INT8OID {
        " hamming_int8_ops"
    } else {
        ""
    }
}
