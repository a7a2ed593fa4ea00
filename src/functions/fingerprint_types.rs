//! Functions of the types `fingerprint64`, `fingerprint128` and `fingerprint256`: text and binary
//! forms, casts, least and greatest, sorting and hashing. Comparisons are in `order`. For the
//! functions that `fingerprint128` lacks in these files, SQL uses PostgreSQL's own of `uuid`.

use std::ffi::{CStr, CString};

use pgrx::{Internal, pg_extern, pg_guard, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;

use crate::call::pointer;
use crate::types::bits::{BitString, bytea_exactly};
use crate::types::datum::Decode;
use crate::types::message::{Message, in_network_order};
use crate::types::{Fp64, Fp128, Fp256, Numeric, hex};

macro_rules! fingerprint_type {
    (
        $type:ident($bits:ident), $name:literal:
        $in:ident, $out:ident, $recv:ident, $send:ident,
        $to_bit:ident, $from_bit:ident, $from_bytea:ident, $to_numeric:ident, $from_numeric:ident,
        $smaller:ident, $larger:ident
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
            $type(Message::of_argument(buffer).fingerprint())
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $send(fp: $type) -> Vec<u8> {
            in_network_order(fp.0)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $to_bit(fp: $type) -> BitString<'static> {
            const BITS: usize = <$bits as Fingerprint>::BITS as usize;
            BitString { length: BITS, bytes: in_network_order(fp.0).into() }
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $from_bit(bits: BitString<'_>) -> $type {
            const BYTES: usize = <$bits as Fingerprint>::BITS as usize / 8;
            $type(Fingerprint::from_be_bytes(&bits.exactly::<BYTES>($name)))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $from_bytea(bytes: &[u8]) -> $type {
            const BYTES: usize = <$bits as Fingerprint>::BITS as usize / 8;
            $type(Fingerprint::from_be_bytes(&bytea_exactly::<BYTES>(bytes, $name)))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $to_numeric(fp: $type) -> Numeric {
            Numeric::of(fp.0)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $from_numeric(number: Numeric) -> $type {
            $type(number.fingerprint($name))
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
    fingerprint64_to_numeric, fingerprint64_from_numeric,
    fingerprint64_smaller, fingerprint64_larger
);
fingerprint_type!(
    Fp128(u128), "fingerprint128":
    fingerprint128_in, fingerprint128_out, fingerprint128_recv, fingerprint128_send,
    fingerprint128_to_bit, fingerprint128_from_bit, fingerprint128_from_bytea,
    fingerprint128_to_numeric, fingerprint128_from_numeric,
    fingerprint128_smaller, fingerprint128_larger
);
fingerprint_type!(
    Fp256(B256), "fingerprint256":
    fingerprint256_in, fingerprint256_out, fingerprint256_recv, fingerprint256_send,
    fingerprint256_to_bit, fingerprint256_from_bit, fingerprint256_from_bytea,
    fingerprint256_to_numeric, fingerprint256_from_numeric,
    fingerprint256_smaller, fingerprint256_larger
);

/// Gives sorting a comparator that it calls without the function manager's overhead.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint64_sortsupport(support: Internal) {
    sort_by(support, compare::<Fp64>);
}

/// As that of `fingerprint64`.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint256_sortsupport(support: Internal) {
    sort_by(support, compare::<Fp256>);
}

type Comparator =
    unsafe extern "C-unwind" fn(pg_sys::Datum, pg_sys::Datum, pg_sys::SortSupport) -> i32;

fn sort_by(support: Internal, comparator: Comparator) {
    // SAFETY: PostgreSQL passes a SortSupportData to fill in.
    if let Some(support) = unsafe { pointer::<pg_sys::SortSupportData>(support).as_mut() } {
        support.comparator = Some(comparator);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn compare<T: Decode + Ord>(
    a: pg_sys::Datum,
    b: pg_sys::Datum,
    _support: pg_sys::SortSupport,
) -> i32 {
    // SAFETY: sorting passes values of the type, not NULL.
    unsafe { T::decode(a).cmp(&T::decode(b)) as i32 }
}

unsafe extern "C-unwind" {
    // common/hashfn.h, which pgrx does not bind: the functions that hash PostgreSQL's own types.
    fn hash_bytes(bytes: *const u8, length: i32) -> u32;
    fn hash_bytes_extended(bytes: *const u8, length: i32, seed: u64) -> u64;
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint256_hash(fp: Fp256) -> i32 {
    let bytes = fp.to_bytes();
    // SAFETY: `bytes` has the length that is passed.
    unsafe { hash_bytes(bytes.as_ptr(), bytes.len() as i32) as i32 }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn fingerprint256_hash_extended(fp: Fp256, seed: i64) -> i64 {
    let bytes = fp.to_bytes();
    // SAFETY: `bytes` has the length that is passed.
    unsafe { hash_bytes_extended(bytes.as_ptr(), bytes.len() as i32, seed as u64) as i64 }
}
