//! Functions of the type `near_text`: its constructor, its forms, and its operator `~=`.

use std::ffi::{CStr, CString};

use pgrx::fcinfo::direct_function_call;
use pgrx::{Internal, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::config::Numbers;

use super::compared::near_at_site;
use crate::call::Call;
use crate::error::raise;
use crate::types::datum::Encode;
use crate::types::near_text::check_similarity;
use crate::types::text::utf8_to_server;
use crate::types::{ConfigText, NearText, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_text_in(_text: &CStr) -> NearText<'static> {
    raise_no_input()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_text_recv(_buffer: Internal) -> NearText<'static> {
    raise_no_input()
}

fn raise_no_input() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "cannot accept a value of type near_text".into(),
        "Call near_text(body, similarity). A literal alone or beside an operator requires a cast: \
         '...'::text.",
    )
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_text_out(text: NearText<'_>) -> CString {
    CString::new(utf8_to_server(&text.to_text()).into_owned()).unwrap_or_default()
}

/// The text form in the client's encoding, as PostgreSQL sends texts.
#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn near_text_send(text: NearText<'_>) -> Option<Vec<u8>> {
    let text = Text::from(text.to_text()).encode();
    // SAFETY: textsend takes a text and returns a bytea.
    unsafe { direct_function_call(pg_sys::textsend, &[Some(text)]) }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_text<'a>(body: Text<'a>, similarity: f64, config: ConfigText<'a>) -> NearText<'a> {
    check_similarity(similarity);
    NearText { similarity, config: config.into_str(), text: body.into_str() }
}

/// Compares by the greater of the two similarities. [`Numbers::of_both`] decides which numbers must
/// agree. Raises 22023 if the two configs make different sets.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_text_near(a: NearText<'_>, b: NearText<'_>, call: Call<'_>) -> bool {
    if !ConfigText::same_sets(&a.config, &b.config) {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("cannot compare texts of different configs: {} and {}", a.config, b.config),
            "Make both with the same config: near_text(body, similarity, config).",
        )
    }
    let texts = [&*a.text, &*b.text];
    let similarity = a.similarity.max(b.similarity);
    if a.config == b.config {
        return near(call, &a, texts, similarity);
    }
    let numbers = Numbers::of_both(a.config().numbers, b.config().numbers);
    let config = ConfigText::with_numbers(&a.config, numbers);
    near_at_site(call, &config, || ConfigText::config_of(&config), texts, similarity)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn near_text_near_text(a: NearText<'_>, b: Text<'_>, call: Call<'_>) -> bool {
    near(call, &a, [&a.text, b.as_str()], a.similarity)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_near_near_text(a: Text<'_>, b: NearText<'_>, call: Call<'_>) -> bool {
    near(call, &b, [a.as_str(), &b.text], b.similarity)
}

fn near(call: Call<'_>, by: &NearText<'_>, texts: [&str; 2], similarity: f64) -> bool {
    near_at_site(call, &by.config, || by.config(), texts, similarity)
}
