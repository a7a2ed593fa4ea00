//! `text` as UTF-8, whatever the database's encoding.
//!
//! In a UTF8 database nothing is copied but a toasted value; in another one PostgreSQL converts,
//! both ways, and raises its own error for what cannot be converted.

use std::borrow::Cow;

use pgrx::datum::UnboxDatum;
use pgrx::{FromDatum, IntoDatum, PgSqlErrorCode, pg_sys};

use super::{by_datum, palloc_varlena, sql_type};
use crate::error::raise;
use crate::memory;

/// A `text` argument or result.
pub struct Text<'a>(Cow<'a, str>);

sql_type!(Text<'_>, "text");
by_datum!(Text<'_>);

impl<'a> Text<'a> {
    pub fn as_str(&self) -> &str {
        &self.0
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

/// Whether that is the database's encoding.
pub fn encoding_is(encoding: pg_sys::pg_enc::Type) -> bool {
    // SAFETY: reads a setting of the backend.
    unsafe { pg_sys::GetDatabaseEncoding() == encoding as i32 }
}

/// `bytes`, in the database's encoding, as UTF-8; valid as long as `bytes` or the current memory context.
///
/// # Safety
/// The result's lifetime must not exceed that of the memory context that is current now.
pub unsafe fn server_to_utf8(bytes: &[u8]) -> &str {
    let utf8 = if encoding_is(pg_sys::pg_enc::PG_UTF8) {
        bytes
    } else {
        // SAFETY: converts `len` bytes into a NUL-terminated palloc'd copy, or returns its argument
        // unchanged where no conversion is needed (ASCII).
        unsafe {
            let converted = pg_sys::pg_server_to_any(
                bytes.as_ptr().cast(),
                bytes.len() as i32,
                pg_sys::pg_enc::PG_UTF8 as i32,
            );
            if converted.cast_const().cast() == bytes.as_ptr() {
                bytes
            } else {
                std::ffi::CStr::from_ptr(converted).to_bytes()
            }
        }
    };
    std::str::from_utf8(utf8).unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\" at byte {}", error.valid_up_to()),
            "",
        )
    })
}

/// `text` in the database's encoding.
pub fn utf8_to_server(text: &str) -> Cow<'_, [u8]> {
    // SAFETY: as in server_to_utf8; pg_any_to_server also validates.
    unsafe {
        if encoding_is(pg_sys::pg_enc::PG_UTF8) {
            return Cow::Borrowed(text.as_bytes());
        }
        let converted =
            pg_sys::pg_any_to_server(text.as_ptr().cast(), text.len() as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted.cast_const().cast() == text.as_ptr() {
            Cow::Borrowed(text.as_bytes())
        } else {
            Cow::Owned(std::ffi::CStr::from_ptr(converted).to_bytes().to_vec())
        }
    }
}

impl FromDatum for Text<'_> {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        memory::prepare();
        // SAFETY: the caller passes a text (or a type with its representation); the detoasted copy
        // lives in the memory context of the call, as arguments do.
        unsafe {
            let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
            let bytes = std::slice::from_raw_parts(
                pgrx::varlena::vardata_any(varlena).cast::<u8>(),
                pgrx::varlena::varsize_any_exhdr(varlena),
            );
            Some(Text(Cow::Borrowed(server_to_utf8(bytes))))
        }
    }
}

impl IntoDatum for Text<'_> {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(palloc_varlena(&[&utf8_to_server(&self.0)]))
    }
    fn type_oid() -> pg_sys::Oid {
        pg_sys::TEXTOID
    }
}

// SAFETY: the elements of a text[] are text datums that live as long as the array does.
unsafe impl UnboxDatum for Text<'_> {
    type As<'src>
        = Text<'src>
    where
        Self: 'src;
    unsafe fn unbox<'src>(datum: pgrx::datum::Datum<'src>) -> Text<'src>
    where
        Self: 'src,
    {
        // SAFETY: as above; the array yields only elements that are not NULL.
        unsafe { Text::from_datum(datum.sans_lifetime(), false) }.unwrap_or(Text(Cow::Borrowed("")))
    }
}
