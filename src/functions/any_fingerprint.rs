//! Functions of the type `simhash_fingerprint` (text and binary forms, casts), and `simhash_like`,
//! which makes a fingerprint by the recipe of an index.

use std::ffi::{CStr, CString};

use pgrx::{Internal, PgSqlErrorCode, pg_extern, pg_sys};

use crate::am::recipe::fingerprint_like;
use crate::call::Call;
use crate::catalog::Schema;
use crate::error::{raise, raise_invalid_text, shown};
use crate::types::any_fingerprint::AnyFp;
use crate::types::message::Message;
use crate::types::{Fp64, Fp128, Fp256, Text};

const FORM: &str = "It is written as 16, 32 or 64 hexadecimal digits.";

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_in(text: &CStr) -> AnyFp {
    let shown = shown(text);
    AnyFp::parse(&shown).unwrap_or_else(|| raise_invalid_text("simhash_fingerprint", &shown, FORM))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_out(fp: AnyFp) -> CString {
    CString::new(fp.to_text()).unwrap_or_default()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_recv(buffer: Internal) -> AnyFp {
    AnyFp::from_bytes(Message::of_argument(buffer).rest()).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            "invalid simhash_fingerprint in a binary message".into(),
            "It must have 8, 16 or 32 bytes, in network order.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_send(fp: AnyFp) -> Vec<u8> {
    fp.to_bytes()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_to_64(fp: AnyFp) -> Fp64 {
    Fp64(fp.exactly())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_to_128(fp: AnyFp) -> Fp128 {
    Fp128(fp.exactly())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_fingerprint_to_256(fp: AnyFp) -> Fp256 {
    Fp256(fp.exactly())
}

/// As a filter it is called for every row, with the same arguments. So the call site keeps its
/// result.
#[pg_extern(sql = false, stable, strict, parallel_safe)]
fn simhash_like(index: pg_sys::Oid, body: Text<'_>, mut call: Call<'_>) -> Option<AnyFp> {
    let serves = |(of, text): &(pg_sys::Oid, String)| *of == index && text == body.as_str();
    *call.keep(serves, |call| {
        let made = fingerprint_like(index, body.as_str(), Schema::of_call(call));
        ((index, body.as_str().to_owned()), made)
    })
}
