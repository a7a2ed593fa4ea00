//! What SQL calls on `fingerprint64` and `fingerprint128`: text and binary forms, casts, least and
//! greatest, and how `fingerprint64` is sorted. Comparisons are in `order`; those of
//! `fingerprint128` are PostgreSQL's own for `uuid`.

use std::ffi::{CStr, CString};

use pgrx::{Internal, pg_extern, pg_guard, pg_sys};

use crate::call::pointer;
use crate::types::bits::{BitString, bytea_exactly};
use crate::types::message::Message;
use crate::types::{Fp64, Fp128, hex};

macro_rules! fingerprint_type {
    (
        $type:ident($bits:ident), $name:literal:
        $in:ident, $out:ident, $recv:ident, $send:ident,
        $to_bit:ident, $from_bit:ident, $from_bytea:ident, $smaller:ident, $larger:ident
    ) => {
        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $in(text: &CStr) -> $type {
            $type(hex::from_text($name, text))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $out(fp: $type) -> CString {
            hex::to_text(fp.0)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $recv(buffer: Internal) -> $type {
            $type($bits::from_be_bytes(Message::of_argument(buffer).bytes()))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $send(fp: $type) -> Vec<u8> {
            fp.0.to_be_bytes().to_vec()
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $to_bit(fp: $type) -> BitString<'static> {
            let bytes = fp.0.to_be_bytes().to_vec().into();
            BitString { length: $bits::BITS as usize, bytes }
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $from_bit(bits: BitString<'_>) -> $type {
            $type($bits::from_be_bytes(bits.exactly($name)))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $from_bytea(bytes: &[u8]) -> $type {
            $type($bits::from_be_bytes(bytea_exactly(bytes, $name)))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $smaller(a: $type, b: $type) -> $type {
            a.min(b)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $larger(a: $type, b: $type) -> $type {
            a.max(b)
        }
    };
}

fingerprint_type!(
    Fp64(u64), "fingerprint64":
    fingerprint64_in, fingerprint64_out, fingerprint64_recv, fingerprint64_send,
    fingerprint64_to_bit, fingerprint64_from_bit, fingerprint64_from_bytea,
    fingerprint64_smaller, fingerprint64_larger
);
fingerprint_type!(
    Fp128(u128), "fingerprint128":
    fingerprint128_in, fingerprint128_out, fingerprint128_recv, fingerprint128_send,
    fingerprint128_to_bit, fingerprint128_from_bit, fingerprint128_from_bytea,
    fingerprint128_smaller, fingerprint128_larger
);

/// Gives sorting a comparator that is called without the function manager's overhead.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_sortsupport(support: Internal) {
    // SAFETY: PostgreSQL passes a SortSupportData to fill in.
    if let Some(support) = unsafe { pointer::<pg_sys::SortSupportData>(support).as_mut() } {
        support.comparator = Some(compare_datums);
    }
}

#[pg_guard]
extern "C-unwind" fn compare_datums(
    a: pg_sys::Datum,
    b: pg_sys::Datum,
    _support: pg_sys::SortSupport,
) -> i32 {
    // A fingerprint64 is passed by value.
    (a.value() as u64).cmp(&(b.value() as u64)) as i32
}
