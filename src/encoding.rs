//! Conversion between the database's encoding and UTF-8, exactly or with escapes for display.

use std::borrow::Cow;
use std::ffi::CStr;
use std::str::Utf8Error;

use pgrx::pg_sys;

/// Whether `encoding` is the database's encoding.
fn is(encoding: pg_sys::pg_enc::Type) -> bool {
    // SAFETY: reads a setting of this backend.
    unsafe { pg_sys::GetDatabaseEncoding() == encoding as i32 }
}

/// Whether the database's encoding needs no conversion: UTF8, or SQL_ASCII, whose bytes PostgreSQL
/// does not interpret.
pub fn converts_nothing() -> bool {
    is(pg_sys::pg_enc::PG_UTF8) || is(pg_sys::pg_enc::PG_SQL_ASCII)
}

/// Converts `bytes` from the database's encoding to UTF-8. PostgreSQL raises its own error for
/// bytes that it cannot convert.
///
/// # Safety
/// The result must not outlive `bytes` or the memory context that is current now.
pub unsafe fn from_server(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if is(pg_sys::pg_enc::PG_UTF8) {
        return utf8(bytes);
    }
    let (start, length) = (bytes.as_ptr(), bytes.len() as i32);
    // SAFETY: reads that many bytes.
    let converted = unsafe { pg_sys::pg_server_to_any(start.cast(), length, UTF8) };
    if converted.cast_const().cast() == start {
        return std::str::from_utf8(bytes);
    }
    // SAFETY: it is a palloc'd copy that ends with NUL, since it is not the argument.
    unsafe { CStr::from_ptr(converted) }.to_str()
}

/// As [`std::str::from_utf8`], but several times as fast on text beyond ASCII.
pub fn utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| std::str::from_utf8(bytes))
}

/// Converts `text` to the database's encoding for display. A character that the encoding lacks is
/// [`escaped`].
pub fn to_server_shown(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() || converts_nothing() {
        return Cow::Borrowed(text.as_bytes());
    }
    // SAFETY: reads a setting of this backend.
    let database = unsafe { pg_sys::GetDatabaseEncoding() };
    // SAFETY: in a transaction, reads a catalogue.
    let conversion = unsafe { pg_sys::FindDefaultConversionProc(UTF8, database) };
    if conversion == pg_sys::InvalidOid {
        return to_server(text);
    }
    const MOST: usize = 1 << 16;
    let mut room = vec![0; MOST.min(text.len()) * pg_sys::MAX_CONVERSION_GROWTH as usize + 1];
    let mut shown = Vec::with_capacity(text.len());
    let mut rest = text;
    // The number of bytes of `rest` that are still to be converted one character at a time.
    let mut slowly = 0;
    while let Some(first) = rest.chars().next() {
        pgrx::check_for_interrupts!();
        let most = if slowly > 0 { first.len_utf8() } else { MOST };
        let end = (0..=most.min(rest.len())).rev().find(|&end| rest.is_char_boundary(end));
        let piece = &rest[..end.unwrap_or(rest.len())];
        let (from, bytes) = (piece.as_ptr().cast_mut(), piece.len() as i32);
        let (to, most) = (room.as_mut_ptr(), room.len() as i32);
        // SAFETY: reads `piece.len()` bytes of the piece and writes at most `room.len()` bytes,
        // ending with NUL. It returns the number of bytes converted: it stops before the first
        // character that the encoding lacks.
        let mut converted = unsafe {
            pg_sys::pg_do_encoding_conversion_buf(
                conversion, UTF8, database, from, bytes, to, most, true,
            )
        } as usize;
        let mut written = CStr::from_bytes_until_nul(&room).map_or(&[][..], CStr::to_bytes);
        // PostgreSQL's conversion to EUC_TW can produce characters that its EUC_TW check rejects.
        let (start, length) = (written.as_ptr().cast(), written.len() as i32);
        // SAFETY: reads that many bytes of `written`.
        let valid = unsafe { pg_sys::pg_encoding_verifymbstr(database, start, length) } as usize;
        if valid < written.len() {
            if slowly == 0 {
                slowly = piece.len();
                continue;
            }
            (converted, written) = (0, &[]);
        }
        shown.extend_from_slice(written);
        if converted < piece.len()
            && let Some(lacking) = rest[converted..].chars().next()
        {
            shown.extend_from_slice(escaped(lacking).as_bytes());
            converted += lacking.len_utf8();
        }
        rest = &rest[converted..];
        slowly = slowly.saturating_sub(converted);
    }
    Cow::Owned(shown)
}

const UTF8: i32 = pg_sys::pg_enc::PG_UTF8 as i32;

/// A character as an escape of E'...' strings: `\u5b66`, `\U0001f600`. `unistr` converts it back.
pub fn escaped(c: char) -> String {
    match u32::from(c) {
        code @ ..0x1_0000 => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Converts `text` to the database's encoding. PostgreSQL raises its own error for a character that
/// the encoding lacks.
pub fn to_server(text: &str) -> Cow<'_, [u8]> {
    if is(pg_sys::pg_enc::PG_UTF8) {
        return Cow::Borrowed(text.as_bytes());
    }
    let (start, length) = (text.as_ptr(), text.len() as i32);
    // SAFETY: reads that many bytes. It also validates the result.
    let converted = unsafe { pg_sys::pg_any_to_server(start.cast(), length, UTF8) };
    if converted.cast_const().cast() == start {
        return Cow::Borrowed(text.as_bytes());
    }
    // SAFETY: it is a palloc'd copy that ends with NUL, since it is not the argument.
    Cow::Owned(unsafe { CStr::from_ptr(converted) }.to_bytes().to_vec())
}
