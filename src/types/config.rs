//! `simhash_config`: a checked JSON object, stored as its canonical text.
//!
//! The representation is that of `text`, so output is PostgreSQL's own for text.

use std::ffi::CStr;

use pgrx::{FromDatum, Internal, IntoDatum, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::config::{Config, ConfigError};

use super::text::server_to_utf8;
use super::{Text, by_datum, message_buffer, sql_type};
use crate::error::raise;

/// A `simhash_config` argument: canonical JSON, in UTF-8.
pub struct ConfigText<'a>(Text<'a>);

sql_type!(ConfigText<'_>, "simhash_config");
by_datum!(ConfigText<'_>);

impl ConfigText<'_> {
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// What the text says. It was checked when it was made, so an ERROR here means that a later
    /// version wrote it, or that storage was damaged.
    pub fn config(&self) -> Config {
        parse(self.as_str())
    }
}

impl FromDatum for ConfigText<'_> {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, oid: pg_sys::Oid) -> Option<Self> {
        // SAFETY: a simhash_config has the representation of text.
        unsafe { Text::from_polymorphic_datum(datum, is_null, oid) }.map(ConfigText)
    }
}

impl IntoDatum for ConfigText<'_> {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        self.0.into_datum()
    }
    /// Unknown at compile time; nothing here builds arrays of the type through pgrx.
    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

/// The longest text that is read as a configuration: parsing cannot be cancelled.
const LONGEST: usize = 64 << 10;

fn parse(json: &str) -> Config {
    if json.len() > LONGEST {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("a simhash_config of {} bytes is too long", json.len()),
            &format!("At most {LONGEST} bytes are allowed."),
        );
    }
    Config::parse(json).unwrap_or_else(|ConfigError { message, hint, .. }| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid simhash_config: {message}"),
            &hint,
        )
    })
}

fn canonical(json: &str) -> ConfigText<'static> {
    ConfigText(Text::from(parse(json).to_string()))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_config_in(text: &CStr) -> ConfigText<'static> {
    // SAFETY: the argument outlives this call, and so does anything converted from it.
    canonical(unsafe { server_to_utf8(text.to_bytes()) })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_config_recv(buffer: Internal) -> ConfigText<'static> {
    let buffer = message_buffer(buffer);
    let mut length = 0;
    // SAFETY: the buffer is the StringInfo PostgreSQL passes to a receive function; what is left of
    // it is the text in the client's encoding, which pq_getmsgtext converts to the server's.
    let text = unsafe {
        let left = (*buffer).len - (*buffer).cursor;
        CStr::from_ptr(pg_sys::pq_getmsgtext(buffer, left, &mut length))
    };
    // SAFETY: as in simhash_config_in.
    canonical(unsafe { server_to_utf8(text.to_bytes()) })
}
