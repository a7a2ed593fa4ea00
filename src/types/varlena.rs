//! Values of variable length. Copying a large one checks for interrupts.

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::error::raise;
use crate::memory;

/// The greatest size of a value in PostgreSQL (MaxAllocSize), in bytes.
pub const LARGEST_VALUE: usize = 0x3fff_ffff;

/// The number of bytes that are copied between two checks for interrupts.
pub const STRETCH: usize = 16 << 20;

pub fn raise_too_large(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        message.into(),
        &format!("A value can have at most {LARGEST_VALUE} bytes."),
    )
}

/// A value of `parts`, concatenated, without a header.
pub fn palloc_parts(parts: &[&[u8]]) -> pg_sys::Datum {
    let start = palloc_value(parts.iter().map(|part| part.len()).sum());
    // SAFETY: the allocation has the total size of `parts`.
    unsafe { copy_to(start, parts) };
    pg_sys::Datum::from(start)
}

/// A value of `parts`, concatenated, after a varlena header.
pub fn palloc_varlena(parts: &[&[u8]]) -> pg_sys::Datum {
    let size = pg_sys::VARHDRSZ + parts.iter().map(|part| part.len()).sum::<usize>();
    let start = palloc_value(size);
    // SAFETY: `size` fits the header, and the allocation holds the header and all parts.
    unsafe {
        pgrx::varlena::set_varsize_4b(start.cast(), size as i32);
        copy_to(start.add(pg_sys::VARHDRSZ), parts);
    }
    pg_sys::Datum::from(start)
}

/// Allocates a value. Raises ERROR 54000 if PostgreSQL does not allow its size.
fn palloc_value(size: usize) -> *mut u8 {
    if size > LARGEST_VALUE {
        raise_too_large(&format!("result of {size} bytes is too large"))
    }
    // SAFETY: palloc returns that many bytes, or raises an error if there is no memory.
    unsafe { pg_sys::palloc(size) }.cast()
}

/// Copies `parts` one after the other, with checks for interrupts.
///
/// # Safety
/// The memory at `place` has room for all parts.
unsafe fn copy_to(mut place: *mut u8, parts: &[&[u8]]) {
    for part in parts.iter().flat_map(|part| part.chunks(STRETCH)) {
        pgrx::check_for_interrupts!();
        // SAFETY: the caller's memory has room for this part.
        unsafe { place.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
        // SAFETY: at most the end of the caller's memory.
        place = unsafe { place.add(part.len()) };
    }
}

/// The bytes of a value without its header, detoasted if necessary.
///
/// # Safety
/// `datum` is of a variable-length type and not NULL. The bytes must not outlive it or the current
/// memory context.
pub unsafe fn packed_bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    memory::prepare();
    // SAFETY: `datum` points to a varlena; the detoasted value is in the current memory context.
    unsafe { contents(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr())) }
}

/// The bytes of a value after its header.
///
/// # Safety
/// The value is detoasted, and outlives the bytes.
unsafe fn contents<'a>(varlena: *const pg_sys::varlena) -> &'a [u8] {
    // SAFETY: the value is detoasted, with a header of one or four bytes.
    let length = unsafe { pgrx::varlena::varsize_any_exhdr(varlena) };
    // SAFETY: so many bytes follow the header.
    unsafe { std::slice::from_raw_parts(pgrx::varlena::vardata_any(varlena).cast(), length) }
}

/// The result of `read` for the bytes of a value without its header. A detoasted copy is freed, so
/// that the values of many rows can be read in one memory context.
///
/// # Safety
/// `datum` is of a variable-length type, not NULL, and stays valid until this returns.
pub unsafe fn with_packed_bytes<T>(datum: pg_sys::Datum, read: impl FnOnce(&[u8]) -> T) -> T {
    memory::prepare();
    let stored = datum.cast_mut_ptr();
    // SAFETY: `datum` points to a varlena.
    let detoasted = unsafe { pg_sys::pg_detoast_datum_packed(stored) };
    // SAFETY: the value is freed only afterwards.
    let result = read(unsafe { contents(detoasted) });
    // SAFETY: detoasted from `stored`, and not used any more.
    unsafe { free_copy(detoasted, stored) };
    result
}

/// Frees a detoasted value unless it is the stored one.
///
/// # Safety
/// The value was detoasted from the stored one, and is not used any more.
unsafe fn free_copy(detoasted: *mut pg_sys::varlena, stored: *mut pg_sys::varlena) {
    if detoasted != stored {
        // SAFETY: a value at another address is a palloc'd copy.
        unsafe { pg_sys::pfree(detoasted.cast()) };
    }
}

/// The bytes of a value, including its four-byte header, detoasted if necessary: for layouts whose
/// alignment depends on that header.
///
/// # Safety
/// As [`packed_bytes`].
pub unsafe fn aligned_bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    memory::prepare();
    // SAFETY: `datum` points to a varlena; the detoasted value is in the current memory context.
    unsafe { whole(pg_sys::pg_detoast_datum(datum.cast_mut_ptr())) }
}

/// The bytes of a value, including its header.
///
/// # Safety
/// The value is detoasted, with a four-byte header, and outlives the bytes.
unsafe fn whole<'a>(varlena: *const pg_sys::varlena) -> &'a [u8] {
    // SAFETY: the four-byte header has the size of the value.
    unsafe { std::slice::from_raw_parts(varlena.cast(), pgrx::varlena::varsize(varlena)) }
}

/// The result of `read` for the bytes of a value, including its four-byte header. A detoasted copy
/// is freed.
///
/// # Safety
/// As [`with_packed_bytes`].
pub unsafe fn with_aligned_bytes<T>(datum: pg_sys::Datum, read: impl FnOnce(&[u8]) -> T) -> T {
    memory::prepare();
    let stored = datum.cast_mut_ptr();
    // SAFETY: `datum` points to a varlena.
    let detoasted = unsafe { pg_sys::pg_detoast_datum(stored) };
    // SAFETY: the value is freed only afterwards.
    let result = read(unsafe { whole(detoasted) });
    // SAFETY: detoasted from `stored`, and not used any more.
    unsafe { free_copy(detoasted, stored) };
    result
}
