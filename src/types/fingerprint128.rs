//! `fingerprint128`: 16 bytes in network order, fixed length, passed by reference.
//!
//! The representation is that of `uuid` to the byte, so comparison, hashing and sorting are
//! PostgreSQL's own functions for `uuid`, named in the catalogue.

use std::ffi::{CStr, CString};

use pgrx::{FromDatum, Internal, IntoDatum, pg_extern, pg_sys};
use simhash_core::fingerprint::to_hex;

use super::{by_datum, message_buffer, palloc_bytes, parse_fingerprint, receive, sql_type};

/// A 128-bit fingerprint as SQL passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fp128(pub u128);

sql_type!(Fp128, "fingerprint128");
by_datum!(Fp128);

impl FromDatum for Fp128 {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the caller passes a fingerprint128: 16 bytes, of any alignment.
        let bytes = unsafe { std::ptr::read_unaligned(datum.cast_mut_ptr::<[u8; 16]>()) };
        Some(Fp128(u128::from_be_bytes(bytes)))
    }
}

impl IntoDatum for Fp128 {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(palloc_bytes(&self.0.to_be_bytes()))
    }
    /// Unknown at compile time; nothing here builds arrays of the type through pgrx.
    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_in(text: &CStr) -> Fp128 {
    Fp128(parse_fingerprint("fingerprint128", text))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_out(fp: Fp128) -> CString {
    CString::new(to_hex(fp.0)).unwrap_or_default()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_recv(buffer: Internal) -> Fp128 {
    Fp128(u128::from_be_bytes(receive(message_buffer(buffer))))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_send(fp: Fp128) -> Vec<u8> {
    fp.0.to_be_bytes().to_vec()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_smaller(a: Fp128, b: Fp128) -> Fp128 {
    a.min(b)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint128_larger(a: Fp128, b: Fp128) -> Fp128 {
    a.max(b)
}
