//! `text` as UTF-8 in a database of any encoding.
//!
//! In a UTF8 database only toasted values are copied. In another one PostgreSQL converts in both
//! directions, and raises its own error for characters that it cannot convert, except in a
//! [`Shown`].

use std::borrow::Cow;

use pgrx::datum::UnboxDatum;
use pgrx::pg_sys;

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{packed_bytes, palloc_varlena, with_packed_bytes};
use crate::encoding;
pub use crate::encoding::to_server as utf8_to_server;
use crate::error::raise_not_utf8;

/// A `text` argument or result.
pub struct Text<'a>(Cow<'a, str>);

sql_type!(Text<'_>, "text");
argument!(Text<'_>);
result!(Text<'_>);

/// A `text` result for display, such as a token: a character that the database's encoding lacks is
/// escaped.
pub struct Shown(String);

sql_type!(Shown, "text");
result!(Shown);

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Shown(text)
    }
}

impl Encode for Shown {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&encoding::to_server_shown(&self.0)])
    }
}

impl<'a> Text<'a> {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_str(self) -> Cow<'a, str> {
        self.0
    }
}

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text(Cow::Owned(text))
    }
}

/// Converts `bytes` from the database's encoding to UTF-8.
///
/// # Safety
/// The result must not outlive `bytes` or the memory context that is current now.
pub unsafe fn server_to_utf8(bytes: &[u8]) -> &str {
    // SAFETY: the caller keeps `bytes` and the current memory context while the result is used.
    unsafe { encoding::from_server(bytes) }.unwrap_or_else(|error| raise_not_utf8(error))
}

/// The result of `read` for a text. Detoasted and converted copies are freed, so that the texts of
/// many rows can be read in one memory context.
///
/// # Safety
/// `datum` has the representation of text, is not NULL, and stays valid until this returns.
pub unsafe fn with_text<T>(datum: pg_sys::Datum, read: impl FnOnce(&str) -> T) -> T {
    let read_bytes = |bytes: &[u8]| {
        // SAFETY: the text is used only before this returns.
        let text = unsafe { server_to_utf8(bytes) };
        let result = read(text);
        if !std::ptr::eq(text.as_ptr(), bytes.as_ptr()) {
            // SAFETY: a text at another address is a palloc'd copy of this function's own.
            unsafe { pg_sys::pfree(text.as_ptr().cast_mut().cast()) };
        }
        result
    };
    // SAFETY: `datum` outlives this call.
    unsafe { with_packed_bytes(datum, read_bytes) }
}

impl Decode for Text<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` has the representation of text. A copy lives in the memory context of the
        // call, as arguments do.
        Text(Cow::Borrowed(unsafe { server_to_utf8(packed_bytes(datum)) }))
    }
}

impl Encode for Text<'_> {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&utf8_to_server(&self.0)])
    }
}

// SAFETY: the elements of a text[] are text datums that live as long as the array.
unsafe impl UnboxDatum for Text<'_> {
    type As<'src>
        = Text<'src>
    where
        Self: 'src;
    unsafe fn unbox<'src>(datum: pgrx::datum::Datum<'src>) -> Text<'src>
    where
        Self: 'src,
    {
        // SAFETY: the datum is a text, and not NULL: the array yields only such elements.
        unsafe { Text::decode(datum.sans_lifetime()) }
    }
}
