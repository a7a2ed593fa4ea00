//! `simhash_values`: identifies the rules by which fingerprints and keys are made, to be compared
//! with another installation's.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::VALUES;

use crate::error::raise;
use crate::types::Text;

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_values() -> &'static str {
    VALUES
}

/// NULL is an ERROR as well, because nothing was compared.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_values_expected(expected: Option<Text<'_>>) -> &'static str {
    let expected = expected.as_ref().map(Text::as_str);
    if expected != Some(VALUES) {
        let shown = expected.map_or_else(
            || "NULL".to_owned(),
            |expected| format!("\"{}\"", expected.chars().take(64).collect::<String>()),
        );
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "values made by {shown} are not comparable with values of this library, made by \
                 \"{VALUES}\""
            ),
            "The rules, the dictionary or the tables differ. Use the same version of pg_simhash on \
             both sides, or recompute the values on one of them.",
        )
    }
    VALUES
}
