//! The database's encoding: text from the server as UTF-8, and back.

use std::borrow::Cow;
use std::ffi::CStr;
use std::str::Utf8Error;

use pgrx::pg_sys;

/// Whether that is the database's encoding.
fn is(encoding: pg_sys::pg_enc::Type) -> bool {
    // SAFETY: reads a setting of the backend.
    unsafe { pg_sys::GetDatabaseEncoding() == encoding as i32 }
}

/// Whether text is UTF-8, or bytes that PostgreSQL takes as they are.
pub fn converts_nothing() -> bool {
    is(pg_sys::pg_enc::PG_UTF8) || is(pg_sys::pg_enc::PG_SQL_ASCII)
}

/// `bytes`, in the database's encoding, as UTF-8. PostgreSQL raises its own error for what cannot
/// be converted.
///
/// # Safety
/// The result lives as long as `bytes` or the memory context that is current now, whichever ends
/// first.
pub unsafe fn from_server(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if is(pg_sys::pg_enc::PG_UTF8) {
        return utf8(bytes);
    }
    // SAFETY: pg_server_to_any reads that many bytes. It returns a copy, palloc'd and ended by NUL,
    // or its argument where no conversion is needed (ASCII).
    unsafe {
        let converted = pg_sys::pg_server_to_any(
            bytes.as_ptr().cast(),
            bytes.len() as i32,
            pg_sys::pg_enc::PG_UTF8 as i32,
        );
        if converted.cast_const().cast() == bytes.as_ptr() {
            std::str::from_utf8(bytes)
        } else {
            CStr::from_ptr(converted).to_str()
        }
    }
}

/// As [`std::str::from_utf8`], which takes several times as long over text beyond ASCII.
pub fn utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| std::str::from_utf8(bytes))
}

/// `text` in the database's encoding. PostgreSQL raises its own error for what that cannot say.
pub fn to_server(text: &str) -> Cow<'_, [u8]> {
    if is(pg_sys::pg_enc::PG_UTF8) {
        return Cow::Borrowed(text.as_bytes());
    }
    // SAFETY: as in from_server; pg_any_to_server checks the result as well.
    unsafe {
        let converted = pg_sys::pg_any_to_server(
            text.as_ptr().cast(),
            text.len() as i32,
            pg_sys::pg_enc::PG_UTF8 as i32,
        );
        if converted.cast_const().cast() == text.as_ptr() {
            Cow::Borrowed(text.as_bytes())
        } else {
            Cow::Owned(CStr::from_ptr(converted).to_bytes().to_vec())
        }
    }
}
