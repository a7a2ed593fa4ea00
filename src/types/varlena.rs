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
        &format!("A value has {LARGEST_VALUE} bytes at most."),
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
        raise_too_large(&format!("a result of {size} bytes is too large"))
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
        unsafe {
            std::ptr::copy_nonoverlapping(part.as_ptr(), place, part.len());
            place = place.add(part.len());
        }
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
    // SAFETY: the value is detoasted. Its header has one or four bytes, and both functions handle
    // either.
    unsafe {
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(varlena).cast::<u8>(),
            pgrx::varlena::varsize_any_exhdr(varlena),
        )
    }
}

/// The result of `read` for the bytes of a value without its header. A detoasted copy is freed, so
/// that the values of many rows can be read in one memory context.
///
/// # Safety
/// `datum` is of a variable-length type, not NULL, and stays valid until this returns.
pub unsafe fn with_packed_bytes<T>(datum: pg_sys::Datum, read: impl FnOnce(&[u8]) -> T) -> T {
    memory::prepare();
    // SAFETY: `datum` points to a varlena. A value at another address is a palloc'd copy of this
    // function's own.
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

/// The bytes of a value, including its four-byte header, detoasted if necessary: for layouts whose
/// alignment depends on that header.
///
/// # Safety
/// As [`packed_bytes`].
pub unsafe fn aligned_bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    memory::prepare();
    // SAFETY: `datum` points to a varlena; a detoasted one has a four-byte header, which varsize
    // reads.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
        std::slice::from_raw_parts(varlena.cast::<u8>(), pgrx::varlena::varsize(varlena))
    }
}
