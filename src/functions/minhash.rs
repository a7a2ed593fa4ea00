//! `minhash`, `jaccard`, the band operator `&&` and the GIN operator class `minhash_ops`.
//!
//! The operator cuts signatures as [`Banding::default_for`] says. An index cuts them as its options say, and its word is
//! final: with other options than the default it decides itself which signatures meet.

use pgrx::datum::Internal;
use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::Simhasher;
use simhash_core::sets::bands::{Banding, DEFAULT_ROWS, keys, share_a_band};
use simhash_core::sets::minhash::{MAX_COMPONENTS, MinHasher, jaccard as estimate};
use simhash_core::sets::set_config;

use super::call_site::{interrupts, keep, simhasher_for};
use crate::error::raise;
use crate::models::Schema;
use crate::types::minhash::{Signature, origin};
use crate::types::{ConfigText, Text};

/// What a call site of `minhash` keeps.
struct Maker {
    simhasher: Simhasher,
    minhasher: MinHasher,
    origin: u64,
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash(
    body: Text<'_>,
    permutations: i32,
    config: ConfigText<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Option<Signature> {
    let serves = |made_for: &(i32, String)| made_for.0 == permutations && made_for.1 == config.as_str();
    let maker = keep(fcinfo, serves, || {
        let components = components(permutations);
        let config_of_call = config.config();
        let config_of_set = set_config(&config_of_call, config_of_call.shingle);
        let origin = origin(&config_of_set);
        let maker = Maker {
            simhasher: simhasher_for(config_of_set, Schema::of_call(fcinfo)),
            minhasher: MinHasher::new(components),
            origin,
        };
        ((permutations, config.as_str().to_owned()), maker)
    });
    let components =
        maker.minhasher.text_signature(&mut maker.simhasher, body.as_str(), &mut interrupts())?;
    Some(Signature { origin: maker.origin, components })
}

fn components(permutations: i32) -> usize {
    usize::try_from(permutations).ok().filter(|n| (1..=MAX_COMPONENTS).contains(n)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("a signature cannot have {permutations} components"),
            &format!("Allowed: 1 to {MAX_COMPONENTS}."),
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_jaccard(a: Signature, b: Signature) -> f32 {
    if a.components.len() != b.components.len() {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "cannot compare signatures of {} and {} components",
                a.components.len(),
                b.components.len()
            ),
            "Make both with the same number of permutations.",
        )
    }
    if a.origin != b.origin {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "cannot compare signatures that were made by different configs".into(),
            "Tokenizer, shingle, normalize, stopwords and hmm must be the same.",
        )
    }
    estimate(&a.components, &b.components) as f32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_share_band(a: Signature, b: Signature) -> bool {
    a.origin == b.origin
        && a.components.len() == b.components.len()
        && share_a_band(&a.components, &b.components, Banding::default_for(a.components.len()))
}

/// The keys under which similar signatures meet.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_bands(signature: Signature, bands: i32, rows: i32) -> Vec<i64> {
    let banding = match (usize::try_from(bands), usize::try_from(rows)) {
        (Ok(bands @ 1..), Ok(rows @ 1..)) => Banding { bands, rows },
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{bands} bands of {rows} rows are no bands"),
            "There must be at least one band of one row.",
        ),
    };
    checked_keys(&signature, banding)
}

fn checked_keys(signature: &Signature, banding: Banding) -> Vec<i64> {
    let components = signature.components.len();
    if banding.components() > components {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "{} bands of {} rows do not fit a signature of {components} components",
                banding.bands, banding.rows
            ),
            "The signature must have bands times rows components, or more.",
        )
    }
    keys(signature.origin, &signature.components, banding).map(|key| key as i64).collect()
}

/// What PostgreSQL stores of an operator class's options.
#[repr(C)]
struct Options {
    varlena_header: i32,
    /// 0: as many as the signature allows.
    bands: i32,
    rows: i32,
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_gin_options(options: Internal) {
    let Some(datum) = options.unwrap() else { return };
    let options: *mut pg_sys::local_relopts = datum.cast_mut_ptr();
    let most = MAX_COMPONENTS as i32;
    // SAFETY: PostgreSQL passes a local_relopts to fill in; the offsets are those of integers in Options.
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

/// How the index that calls cuts signatures of `components` components.
fn index_banding(fcinfo: pg_sys::FunctionCallInfo, components: usize) -> Banding {
    // SAFETY: PostgreSQL passes a valid call; options, where there are any, were made by minhash_gin_options.
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
    let count: *mut i32 = count.unwrap().map_or(std::ptr::null_mut(), |datum| datum.cast_mut_ptr());
    // SAFETY: GIN passes where to put the number; palloc raises an error or returns as much as asked for.
    unsafe {
        *count = keys.len() as i32;
        let entries = pg_sys::palloc(keys.len().max(1) * size_of::<pg_sys::Datum>()) as *mut pg_sys::Datum;
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

/// GIN passes (query, nkeys, strategy, pmatch, extra_data, nullFlags, searchMode); the first two serve.
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

/// GIN passes (check, strategy, query, nkeys, extra_data, recheck, queryKeys, nullFlags). It asks only about rows that
/// have some key of the query, and one is enough.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_consistent(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: argument 5 is where to say whether the row must be checked again.
    unsafe {
        let recheck = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 5).cast_mut_ptr::<bool>();
        *recheck = false;
        gin_any(fcinfo, pg_sys::GIN_TRUE as i8)
    }
}

/// GIN passes (check, strategy, query, nkeys, extra_data, queryKeys, nullFlags).
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_gin_triconsistent(fcinfo: pg_sys::FunctionCallInfo) -> i8 {
    // SAFETY: as gin_any asks for.
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
/// The call must be one of GIN's consistent functions: argument 0 has a byte for each of argument 3's keys.
unsafe fn gin_any(fcinfo: pg_sys::FunctionCallInfo, wanted: i8) -> bool {
    // SAFETY: as above.
    unsafe {
        let states = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 0).cast_mut_ptr::<i8>();
        let count = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 3).value() as i32;
        std::slice::from_raw_parts(states, usize::try_from(count).unwrap_or(0)).contains(&wanted)
    }
}
