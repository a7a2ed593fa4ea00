//! The text form of fingerprints: hexadecimal digits, on input with an optional prefix `0x` or
//! `\x`.

use std::ffi::{CStr, CString};

use simhash_core::Fingerprint;
use simhash_core::base::fingerprint::{parse_prefixed_hex, to_hex};

use crate::error::{raise_invalid_text, shown};

/// Reads a fingerprint's text form, or raises 22P02.
pub fn from_text<F: Fingerprint>(type_name: &str, text: &CStr) -> F {
    let shown = shown(text);
    parse_prefixed_hex(&shown).unwrap_or_else(|| {
        let digits = F::BITS / 4;
        raise_invalid_text(
            type_name,
            &shown,
            &format!("A {type_name} is written as {digits} hexadecimal digits."),
        )
    })
}

pub fn to_text<F: Fingerprint>(fp: F) -> CString {
    CString::new(to_hex(fp)).unwrap_or_default()
}
