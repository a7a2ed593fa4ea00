//! `fingerprint64`: 8 bytes, passed by value, ordered as an unsigned number.

use std::ffi::{CStr, CString};

use pgrx::{FromDatum, Internal, IntoDatum, pg_extern, pg_guard, pg_sys};
use simhash_core::fingerprint::to_hex;

use super::{by_datum, message_buffer, parse_fingerprint, receive, sql_type};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("fingerprint64 is passed by value, which needs a 64-bit machine");

/// A 64-bit fingerprint as SQL passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fp64(pub u64);

sql_type!(Fp64, "fingerprint64");
by_datum!(Fp64);

impl FromDatum for Fp64 {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        (!is_null).then(|| Fp64(datum.value() as u64))
    }
}

impl IntoDatum for Fp64 {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(pg_sys::Datum::from(self.0))
    }
    /// Unknown at compile time; nothing here builds arrays of the type through pgrx.
    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_in(text: &CStr) -> Fp64 {
    Fp64(parse_fingerprint("fingerprint64", text))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_out(fp: Fp64) -> CString {
    CString::new(to_hex(fp.0)).unwrap_or_default()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_recv(buffer: Internal) -> Fp64 {
    Fp64(u64::from_be_bytes(receive(message_buffer(buffer))))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_send(fp: Fp64) -> Vec<u8> {
    fp.0.to_be_bytes().to_vec()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_lt(a: Fp64, b: Fp64) -> bool {
    a < b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_le(a: Fp64, b: Fp64) -> bool {
    a <= b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_gt(a: Fp64, b: Fp64) -> bool {
    a > b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_ge(a: Fp64, b: Fp64) -> bool {
    a >= b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_cmp(a: Fp64, b: Fp64) -> i32 {
    a.cmp(&b) as i32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_smaller(a: Fp64, b: Fp64) -> Fp64 {
    a.min(b)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_larger(a: Fp64, b: Fp64) -> Fp64 {
    a.max(b)
}

/// Gives sorting a comparator that is called without the function manager's overhead.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_sortsupport(support: Internal) {
    let Some(datum) = support.unwrap() else { return };
    let support: pg_sys::SortSupport = datum.cast_mut_ptr();
    // SAFETY: PostgreSQL passes a SortSupportData to fill in.
    unsafe { (*support).comparator = Some(compare_datums) };
}

#[pg_guard]
extern "C-unwind" fn compare_datums(
    a: pg_sys::Datum,
    b: pg_sys::Datum,
    _support: pg_sys::SortSupport,
) -> i32 {
    (a.value() as u64).cmp(&(b.value() as u64)) as i32
}
