//! The GIN operator class `minhash_ops`.
//!
//! An index cuts signatures into bands by its own options, and asks for no recheck. With options
//! other than the defaults, an index scan therefore finds other signatures than `&&` does in a
//! sequential scan.

use pgrx::datum::Internal;
use pgrx::{pg_extern, pg_sys};
use simhash_core::sketches::bands::{Banding, DEFAULT_ROWS};
use simhash_core::sketches::minhash::MAX_COMPONENTS;

use super::minhash::checked_keys;
use crate::call::pointer;
use crate::types::minhash::Signature;

/// The options of the operator class, as PostgreSQL stores them.
#[repr(C)]
struct Options {
    varlena_header: i32,
    /// 0: as many as the signature allows.
    bands: i32,
    rows: i32,
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_gin_options(options: Internal) {
    let options: *mut pg_sys::local_relopts = pointer(options);
    if options.is_null() {
        return;
    }
    let most = MAX_COMPONENTS as i32;
    // SAFETY: PostgreSQL passes a local_relopts to fill in. The offsets are those of the integers
    // in Options.
    unsafe {
        pg_sys::init_local_reloptions(options, size_of::<Options>());
        pg_sys::add_local_int_reloption(
            options,
            c"bands".as_ptr(),
            c"number of bands; 0: as many as a signature allows".as_ptr(),
            0,
            0,
            most,
            std::mem::offset_of!(Options, bands) as i32,
        );
        pg_sys::add_local_int_reloption(
            options,
            c"rows".as_ptr(),
            c"components of a band".as_ptr(),
            DEFAULT_ROWS as i32,
            1,
            most,
            std::mem::offset_of!(Options, rows) as i32,
        );
    }
}

/// The banding that the calling index applies to signatures of `components` components.
fn index_banding(fcinfo: pg_sys::FunctionCallInfo, components: usize) -> Banding {
    // SAFETY: PostgreSQL passes a valid call. minhash_gin_options defined its options, if it has
    // any.
    let (bands, rows) = unsafe {
        let flinfo = (*fcinfo).flinfo;
        if pg_sys::has_fn_opclass_options(flinfo) {
            let options: *const Options = pg_sys::get_fn_opclass_options(flinfo).cast();
            ((*options).bands, (*options).rows)
        } else {
            (0, DEFAULT_ROWS as i32)
        }
    };
    match (bands, rows as usize) {
        (0, DEFAULT_ROWS) => Banding::default_for(components),
        (0, rows) if rows <= components => Banding::of_rows(components, rows),
        (bands, rows) => Banding { bands: bands.max(1) as usize, rows },
    }
}

/// The keys of `signature`, palloc'd, with their number in `*count`.
fn gin_keys(signature: &Signature, count: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    let keys = checked_keys(signature, index_banding(fcinfo, signature.components.len()));
    let count: *mut i32 = pointer(count);
    // SAFETY: `count` is GIN's output argument. palloc returns as many bytes as asked for, or
    // raises an ERROR.
    unsafe {
        *count = keys.len() as i32;
        let entries =
            pg_sys::palloc(keys.len().max(1) * size_of::<pg_sys::Datum>()) as *mut pg_sys::Datum;
        for (i, &key) in keys.iter().enumerate() {
            *entries.add(i) = pg_sys::Datum::from(key);
        }
        Internal::from(Some(pg_sys::Datum::from(entries)))
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_gin_extract_value(
    signature: Signature,
    count: Internal,
    _null_flags: Internal,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    gin_keys(&signature, count, fcinfo)
}

/// GIN passes (query, nkeys, strategy, pmatch, extra_data, nullFlags, searchMode). The first two
/// are used.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_extract_query(
    signature: Option<Signature>,
    count: Internal,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    match signature {
        Some(signature) => gin_keys(&signature, count, fcinfo),
        None => Internal::from(Some(pg_sys::Datum::from(0usize))),
    }
}

/// GIN passes (check, strategy, query, nkeys, extra_data, recheck, queryKeys, nullFlags). It calls
/// this only for rows that have a key of the query, and one shared key is enough.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_consistent(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: argument 5 is GIN's output `recheck`. Arguments 0 and 3 are the key states and their
    // number, as `gin_any` requires.
    unsafe {
        let recheck = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 5).cast_mut_ptr::<bool>();
        *recheck = false;
        gin_any(fcinfo, pg_sys::GIN_TRUE as i8)
    }
}

/// GIN passes (check, strategy, query, nkeys, extra_data, queryKeys, nullFlags).
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_triconsistent(fcinfo: pg_sys::FunctionCallInfo) -> i8 {
    // SAFETY: arguments 0 and 3 are the key states and their number, as `gin_any` requires.
    unsafe {
        if gin_any(fcinfo, pg_sys::GIN_TRUE as i8) {
            pg_sys::GIN_TRUE as i8
        } else if gin_any(fcinfo, pg_sys::GIN_MAYBE as i8) {
            pg_sys::GIN_MAYBE as i8
        } else {
            pg_sys::GIN_FALSE as i8
        }
    }
}

/// Whether any of the query's keys is in the state `wanted`.
///
/// # Safety
/// The call must be one of GIN's consistent functions: argument 0 has a byte for each of argument
/// 3's keys.
unsafe fn gin_any(fcinfo: pg_sys::FunctionCallInfo, wanted: i8) -> bool {
    // SAFETY: argument 0 points to one byte for each of the keys that argument 3 counts.
    unsafe {
        let states = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 0).cast_mut_ptr::<i8>();
        let count = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 3).value() as i32;
        std::slice::from_raw_parts(states, usize::try_from(count).unwrap_or(0)).contains(&wanted)
    }
}
