//! The GIN operator class `minhash_ops`.
//!
//! An index cuts signatures into bands by its own options, and asks for no recheck. With options
//! other than the defaults, an index scan therefore finds other signatures than `&&` does in a
//! sequential scan.

use std::ffi::CStr;
use std::mem::offset_of;

use pgrx::datum::Internal;
use pgrx::{pg_extern, pg_sys};
use simhash_core::sketches::bands::{Banding, DEFAULT_ROWS};
use simhash_core::sketches::minhash::MAX_COMPONENTS;

use super::minhash::checked_keys;
use crate::call::{Call, pointer};
use crate::types::minhash::Signature;
use crate::types::varlena::palloc_parts;

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
    // SAFETY: PostgreSQL passes a local_relopts to fill in.
    unsafe { pg_sys::init_local_reloptions(options, size_of::<Options>()) };
    let add = |name: &CStr, about: &CStr, default: usize, least: i32, offset: usize| {
        let (name, about, most) = (name.as_ptr(), about.as_ptr(), MAX_COMPONENTS as i32);
        let (default, at) = (default as i32, offset as i32);
        // SAFETY: PostgreSQL copies the texts, and the offset is that of an integer in Options.
        unsafe {
            pg_sys::add_local_int_reloption(options, name, about, default, least, most, at);
        }
    };
    let about_bands = c"number of bands; 0: as many as a signature allows";
    add(c"bands", about_bands, 0, 0, offset_of!(Options, bands));
    add(c"rows", c"components of a band", DEFAULT_ROWS, 1, offset_of!(Options, rows));
}

/// The banding that the calling index applies to signatures of `components` components.
fn index_banding(call: &Call<'_>, components: usize) -> Banding {
    // SAFETY: PostgreSQL passes a valid call.
    let flinfo = unsafe { (*call.as_ptr()).flinfo };
    // SAFETY: the call's function is valid.
    let has_options = unsafe { pg_sys::has_fn_opclass_options(flinfo) };
    // SAFETY: the options are those that minhash_gin_options defined.
    let options = has_options.then(|| unsafe { &*pg_sys::get_fn_opclass_options(flinfo).cast() });
    let options = options.map(|&Options { bands, rows, .. }| (bands, rows as usize));
    match options.unwrap_or((0, DEFAULT_ROWS)) {
        (0, DEFAULT_ROWS) => Banding::default_for(components),
        (0, rows) if rows <= components => Banding::of_rows(components, rows),
        (bands, rows) => Banding { bands: bands.max(1) as usize, rows },
    }
}

/// The keys of `signature`, palloc'd, with their number in `*count`.
fn gin_keys(signature: &Signature, count: Internal, call: &Call<'_>) -> Internal {
    let keys = checked_keys(signature, index_banding(call, signature.components.len()));
    // SAFETY: `count` is GIN's output argument.
    unsafe { pointer::<i32>(count).write(keys.len() as i32) };
    let datum = |&key| pg_sys::Datum::from(key).value().to_ne_bytes();
    let entries: Vec<u8> = keys.iter().flat_map(datum).collect();
    Internal::from(Some(palloc_parts(&[&entries])))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_gin_extract_value(
    signature: Signature,
    count: Internal,
    _null_flags: Internal,
    call: Call<'_>,
) -> Internal {
    gin_keys(&signature, count, &call)
}

/// GIN passes (query, nkeys, strategy, pmatch, extra_data, nullFlags, searchMode). The first two
/// are used.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_extract_query(
    signature: Option<Signature>,
    count: Internal,
    call: Call<'_>,
) -> Internal {
    match signature {
        Some(signature) => gin_keys(&signature, count, &call),
        None => Internal::from(Some(pg_sys::Datum::from(0usize))),
    }
}

/// GIN passes (check, strategy, query, nkeys, extra_data, recheck, queryKeys, nullFlags). It calls
/// this only for rows that have a key of the query, and one shared key is enough.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_consistent(call: Call<'_>) -> bool {
    // SAFETY: GIN passes the arguments.
    let recheck = unsafe { pgrx::fcinfo::pg_getarg_datum_raw(call.as_ptr(), 5) };
    // SAFETY: argument 5 is GIN's output `recheck`.
    unsafe { recheck.cast_mut_ptr::<bool>().write(false) };
    // SAFETY: arguments 0 and 3 are the key states and their number.
    unsafe { gin_states(&call) }.contains(&TRUE)
}

const TRUE: i8 = pg_sys::GIN_TRUE as i8;
const MAYBE: i8 = pg_sys::GIN_MAYBE as i8;

/// GIN passes (check, strategy, query, nkeys, extra_data, queryKeys, nullFlags).
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_triconsistent(call: Call<'_>) -> i8 {
    // SAFETY: arguments 0 and 3 are the key states and their number.
    let states = unsafe { gin_states(&call) };
    let strongest = [TRUE, MAYBE].into_iter().find(|state| states.contains(state));
    strongest.unwrap_or(pg_sys::GIN_FALSE as i8)
}

/// The states of the query's keys.
///
/// # Safety
/// The call must be one of GIN's consistent functions, and outlive the result: argument 0 has a
/// byte for each of argument 3's keys.
unsafe fn gin_states<'a>(call: &'a Call<'_>) -> &'a [i8] {
    // SAFETY: the call has these arguments.
    let [states, count] =
        [0, 3].map(|n| unsafe { pgrx::fcinfo::pg_getarg_datum_raw(call.as_ptr(), n) });
    let count = usize::try_from(count.value() as i32).unwrap_or(0);
    // SAFETY: argument 0 points to one byte for each of the keys that argument 3 counts.
    unsafe { std::slice::from_raw_parts(states.cast_mut_ptr(), count) }
}
