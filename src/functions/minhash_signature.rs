//! Functions of the type `minhash_signature`: its text and binary forms.

use std::ffi::{CStr, CString};

use pgrx::{Internal, PgSqlErrorCode, pg_extern};

use crate::error::{raise, raise_invalid_text, shown};
use crate::types::message::Message;
use crate::types::minhash::Signature;

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_in(text: &CStr) -> Signature {
    let shown = shown(text);
    Signature::parse(&shown).unwrap_or_else(|| {
        let shown: String = shown.chars().take(64).collect();
        raise_invalid_text(
            "minhash_signature",
            &shown,
            "A minhash_signature is written as {component,...}/config, \
             such as {1,2,3}/0123456789abcdef.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_out(signature: Signature) -> CString {
    CString::new(signature.to_text()).unwrap_or_default()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_recv(buffer: Internal) -> Signature {
    Signature::from_bytes(Message::of_argument(buffer).rest()).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            "invalid binary minhash_signature".into(),
            "It must have eight bytes for the config, then four for each component, all \
             little-endian.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_send(signature: Signature) -> Vec<u8> {
    signature.to_bytes()
}
