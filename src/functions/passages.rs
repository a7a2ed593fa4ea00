//! `shares_passage`, `shared_passages` and `passage_share`: what two texts have word for word in
//! common.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::Simhasher;
use simhash_core::passages::{Passage, WORDS, recipe, share, shared, shares};

use crate::call::{interrupts, keep};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::{ConfigText, Text};

/// The least number of tokens of a passage.
fn checked(words: i32) -> usize {
    usize::try_from(words).ok().filter(|words| WORDS.contains(words)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("a passage of {words} words"),
            &format!(
                "Allowed: {} to {}. Fewer words in a row are found in most texts by chance.",
                WORDS.start(),
                WORDS.end()
            ),
        )
    })
}

/// What cuts texts into the tokens of a config.
fn cutter(config: &ConfigText<'_>, fcinfo: pg_sys::FunctionCallInfo) -> Simhasher {
    simhasher_for(recipe(&config.config()), Schema::of_call(fcinfo))
}

/// The call site's.
fn cutter_of_site<'a>(
    config: &ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> &'a mut Simhasher {
    let serves = |made_for: &String| made_for == config.as_str();
    keep(fcinfo, serves, || (config.as_str().to_owned(), cutter(config, fcinfo)))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn shares_passage(
    a: Text<'_>,
    b: Text<'_>,
    words: i32,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> bool {
    let words = checked(words);
    let cutter = cutter_of_site(&config, fcinfo);
    shares(cutter, [a.as_str(), b.as_str()], words, &mut interrupts())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn passage_share(
    a: Text<'_>,
    b: Text<'_>,
    words: i32,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> f64 {
    let words = checked(words);
    let cutter = cutter_of_site(&config, fcinfo);
    share(cutter, [a.as_str(), b.as_str()], words, &mut interrupts())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn shared_passages(
    a: Text<'_>,
    b: Text<'_>,
    words: i32,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(a_start, i32),
        name!(a_length, i32),
        name!(b_start, i32),
        name!(b_length, i32),
        name!(words, i32),
    ),
> {
    let words = checked(words);
    let mut cutter = cutter(&config, fcinfo);
    let texts = [a.as_str(), b.as_str()];
    let mut passages = shared(&mut cutter, texts, words, &mut interrupts());
    // The rows go into a tuplestore one by one: there may be more than fit into memory.
    let next = move || {
        let Passage { a, b, words } = passages.next(&mut interrupts())?;
        let [a_start, a_length] = [a.start as i32, a.length as i32];
        let [b_start, b_length] = [b.start as i32, b.length as i32];
        Some((a_start, a_length, b_start, b_length, words as i32))
    };
    TableIterator::new(std::iter::from_fn(next))
}
