//! `edit_similarity`: the similarity of two texts by their edit distance in graphemes.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::compare::edit::{MOST_GRAPHEMES, TooLong, similarity};

use crate::call::interrupts;
use crate::error::raise;
use crate::types::{ConfigText, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn edit_similarity(a: Text<'_>, b: Text<'_>, config: ConfigText<'_>) -> f64 {
    let steps = config.config().normalize;
    similarity([a.as_str(), b.as_str()], steps, &mut interrupts()).unwrap_or_else(
        |TooLong { graphemes }| {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "text of {graphemes} graphemes, without the common prefix and suffix, is too \
                     long for an edit distance"
                ),
                &format!(
                    "At most {MOST_GRAPHEMES} can be compared. For long texts use \
                     text_similarity(a, b), or compare their beginnings: left(a, 10000)."
                ),
            )
        },
    )
}
