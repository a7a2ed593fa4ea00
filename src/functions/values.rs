//! `simhash_values`: what fingerprints and keys are made by, to be compared with another place.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::VALUES;

use crate::error::raise;

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_values(expected: Option<&str>) -> &'static str {
    if let Some(expected) = expected.filter(|&expected| expected != VALUES) {
        let shown: String = expected.chars().take(64).collect();
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "values that were made by \"{shown}\" do not belong to those of here, \"{VALUES}\""
            ),
            "Rules, dictionary or tables differ. Use the same version of pg_simhash on both sides, \
             or make the values anew on one of them.",
        )
    }
    VALUES
}
