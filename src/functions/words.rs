//! `simhash_dictionary` and `simhash_stopwords`: lists of the user's words, stored under a name.

use pgrx::{Array, PgSqlErrorCode, pg_extern};
use simhash_core::words::lists::Kind;

use crate::call::Call;
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::word_lists::make;
use crate::types::Text;

/// Not STRICT, since `frequencies` may be left out.
#[pg_extern(sql = false, volatile, parallel_unsafe)]
fn simhash_dictionary(
    name: Option<Text<'_>>,
    words: Option<Array<'_, Text<'_>>>,
    frequencies: Option<Array<'_, i64>>,
    call: Call<'_>,
) -> Text<'static> {
    let (Some(name), Some(words)) = (name, words) else {
        raise(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            "name and words of simhash_dictionary must not be NULL".into(),
            "Only the frequencies may be NULL.",
        )
    };
    let schema = Schema::of_call(&call);
    Text::from(make(schema, Kind::Dictionary, name.as_str(), &words, frequencies.as_ref()))
}

#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_stopwords(name: Text<'_>, words: Array<'_, Text<'_>>, call: Call<'_>) -> Text<'static> {
    Text::from(make(Schema::of_call(&call), Kind::StopWords, name.as_str(), &words, None))
}
