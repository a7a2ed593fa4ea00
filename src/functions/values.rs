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
                "values that were made by {shown} do not belong to those of here, made by \
                 \"{VALUES}\""
            ),
            "Rules, dictionary or tables differ. Use the same version of pg_simhash on both sides, \
             or make the values anew on one of them.",
        )
    }
    VALUES
}
