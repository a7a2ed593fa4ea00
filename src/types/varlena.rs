//! Values of variable length. Large ones are copied with checks for interrupts.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::error::raise;
use crate::memory;

/// The most bytes that PostgreSQL allows a value.
pub const LARGEST_VALUE: usize = 0x3fff_ffff;

/// The bytes that are copied between two checks for interrupts.
pub const STRETCH: usize = 16 << 20;

pub fn raise_too_large(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        message.into(),
        &format!("A value has {LARGEST_VALUE} bytes at most."),
    )
}

/// A value of `parts` one after the other, without a header.
pub fn palloc_parts(parts: &[&[u8]]) -> pg_sys::Datum {
    let start = palloc_value(parts.iter().map(|part| part.len()).sum());
    // SAFETY: the allocation holds all parts.
    unsafe { copy_to(start, parts) };
    pg_sys::Datum::from(start)
}

/// A value of `parts` one after the other, behind the header of a variable length.
pub fn palloc_varlena(parts: &[&[u8]]) -> pg_sys::Datum {
    let size = pg_sys::VARHDRSZ + parts.iter().map(|part| part.len()).sum::<usize>();
    let start = palloc_value(size);
    // SAFETY: `size` fits the header; the allocation holds the header and all parts.
    unsafe {
        pgrx::varlena::set_varsize_4b(start.cast(), size as i32);
        copy_to(start.add(pg_sys::VARHDRSZ), parts);
    }
    pg_sys::Datum::from(start)
}

/// Room for a value, or ERROR 54000 where PostgreSQL allows none so large.
fn palloc_value(size: usize) -> *mut u8 {
    if size > LARGEST_VALUE {
        raise_too_large(&format!("a result of {size} bytes is too large"))
    }
    // SAFETY: palloc gives that much, or raises an error where there is no memory.
    unsafe { pg_sys::palloc(size) }.cast()
}

/// Copies `parts` one after the other, with checks for interrupts.
///
/// # Safety
/// All of them fit at `place`.
unsafe fn copy_to(mut place: *mut u8, parts: &[&[u8]]) {
    for part in parts.iter().flat_map(|part| part.chunks(STRETCH)) {
        pgrx::check_for_interrupts!();
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(part.as_ptr(), place, part.len());
            place = place.add(part.len());
        }
    }
}

/// The bytes of a value without its header, detoasted if need be.
///
/// # Safety
/// `datum` is of a type of variable length. The bytes live as long as it or the current memory
/// context.
pub unsafe fn packed_bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    memory::prepare();
    // SAFETY: as above.
    unsafe { contents(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr())) }
}

/// What stands behind the header of a value.
///
/// # Safety
/// The value is detoasted. The bytes live as long as it.
unsafe fn contents<'a>(varlena: *const pg_sys::varlena) -> &'a [u8] {
    // SAFETY: as above; a packed header is one or four bytes, and varsize_any_exhdr reads either.
    unsafe {
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(varlena).cast::<u8>(),
            pgrx::varlena::varsize_any_exhdr(varlena),
        )
    }
}

/// What `read` makes of the bytes of a value without its header. A detoasted copy is freed, so
/// that values of many rows can be read in one memory context.
///
/// # Safety
/// `datum` is of a type of variable length. It lives until this returns.
pub unsafe fn with_packed_bytes<T>(datum: pg_sys::Datum, read: impl FnOnce(&[u8]) -> T) -> T {
    memory::prepare();
    // SAFETY: as `packed_bytes`; what is not the value itself is a copy that nobody else has.
    unsafe {
        let stored = datum.cast_mut_ptr::<pg_sys::varlena>();
        let detoasted = pg_sys::pg_detoast_datum_packed(stored);
        let result = read(contents(detoasted));
        if detoasted != stored {
            pg_sys::pfree(detoasted.cast());
        }
        result
    }
}

/// The bytes of a value, its header of four bytes included, detoasted if need be: for layouts that
/// count on that header.
///
/// # Safety
/// As [`packed_bytes`].
pub unsafe fn aligned_bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    memory::prepare();
    // SAFETY: as above; detoasting gives a four-byte header, which varsize reads.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
        std::slice::from_raw_parts(varlena.cast::<u8>(), pgrx::varlena::varsize(varlena))
    }
}
