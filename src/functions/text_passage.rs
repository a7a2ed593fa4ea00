//! Functions of the type `text_passage`: its constructor, its forms, and its operator `&&`.

use std::ffi::{CStr, CString};

use pgrx::fcinfo::direct_function_call;
use pgrx::{Internal, PgSqlErrorCode, pg_extern, pg_sys};

use super::passages::shares_at_site;
use crate::call::Call;
use crate::error::raise;
use crate::types::datum::Encode;
use crate::types::text::utf8_to_server;
use crate::types::text_passage::checked_words;
use crate::types::{ConfigText, Text, TextPassage};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_passage_in(_text: &CStr) -> TextPassage<'static> {
    raise_no_input()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_passage_recv(_buffer: Internal) -> TextPassage<'static> {
    raise_no_input()
}

fn raise_no_input() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "cannot accept a value of type text_passage".into(),
        "Call text_passage(body, words). A literal alone or beside an operator requires a cast: \
         '...'::text.",
    )
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_passage_out(text: TextPassage<'_>) -> CString {
    CString::new(utf8_to_server(&text.to_text()).into_owned()).unwrap_or_default()
}

/// The text form in the client's encoding, as PostgreSQL sends texts.
#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn text_passage_send(text: TextPassage<'_>) -> Option<Vec<u8>> {
    let text = Text::from(text.to_text()).encode();
    // SAFETY: textsend takes a text and returns a bytea.
    unsafe { direct_function_call(pg_sys::textsend, &[Some(text)]) }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_passage<'a>(body: Text<'a>, words: i32, config: ConfigText<'a>) -> TextPassage<'a> {
    let words = checked_words(words) as u32;
    TextPassage { words, config: config.into_str(), text: body.into_str() }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_shares_passage(a: Text<'_>, b: TextPassage<'_>, call: Call<'_>) -> bool {
    let texts = [a.as_str(), &b.text];
    shares_at_site(call, &b.config, || b.config(), texts, b.words as usize)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn text_passage_shares(a: TextPassage<'_>, b: Text<'_>, call: Call<'_>) -> bool {
    let texts = [&*a.text, b.as_str()];
    shares_at_site(call, &a.config, || a.config(), texts, a.words as usize)
}
