//! `simhash_config`: a checked JSON object, stored as its canonical text.
//!
//! The representation is that of `text`, so the output function is PostgreSQL's own for text.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::config::recipes::are_same_sets;
use simhash_core::config::{Config, Numbers};
use simhash_core::passages::recipe;

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::text::{Text, server_to_utf8};
use crate::error::raise;

/// A `simhash_config` argument: canonical JSON, in UTF-8.
pub struct ConfigText<'a>(Text<'a>);

sql_type!(ConfigText<'_>, "simhash_config");
argument!(ConfigText<'_>);
result!(ConfigText<'_>);

impl<'a> ConfigText<'a> {
    /// The canonical form of an object in the server's encoding. Raises an ERROR (22P02) if it is
    /// invalid.
    pub fn checked(json: &[u8]) -> ConfigText<'static> {
        // SAFETY: the converted text is parsed at once, while `json` and the memory context exist.
        let json = unsafe { server_to_utf8(json) };
        ConfigText(Text::from(parse(json).to_string()))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn into_str(self) -> Cow<'a, str> {
        self.0.into_str()
    }

    /// The parsed config. It was checked when it was made, so an ERROR here means that a later
    /// version wrote it, or that storage was damaged.
    pub fn config(&self) -> Config {
        parse(self.as_str())
    }

    /// A value made from canonical text.
    pub fn stored(canonical: &str) -> ConfigText<'static> {
        ConfigText(Text::from(canonical.to_owned()))
    }

    /// The config of a stored canonical text, in UTF-8.
    pub fn config_of(stored: &str) -> Config {
        parse(stored)
    }

    /// Whether both configs, given as canonical texts, give every text the same weighted set of
    /// shingles. They may differ in which numbers must agree.
    pub fn same_sets(a: &str, b: &str) -> bool {
        a == b || are_same_sets(&parse(a), &parse(b))
    }

    /// Whether both configs give every text the same tokens in the same order.
    pub fn same_tokens(a: &str, b: &str) -> bool {
        a == b || recipe(&parse(a)) == recipe(&parse(b))
    }

    /// Whether the same pairs of texts are near-duplicates by both configs.
    pub fn same_near(a: &str, b: &str) -> bool {
        let [a, b] = [a, b].map(parse);
        are_same_sets(&a, &b) && a.numbers() == b.numbers()
    }

    /// The canonical text of `config` with `numbers` as the numbers that must agree.
    pub fn with_numbers(config: &str, numbers: Option<Numbers>) -> String {
        Config { numbers, ..parse(config) }.to_string()
    }
}

impl Decode for ConfigText<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a simhash_config, which has the representation of text.
        ConfigText(unsafe { Text::decode(datum) })
    }
}

impl Encode for ConfigText<'_> {
    fn encode(self) -> pg_sys::Datum {
        self.0.encode()
    }
}

/// The longest text that is read as a config: parsing cannot be cancelled.
const LONGEST: usize = 64 << 10;

pub(super) fn parse(json: &str) -> Config {
    if json.len() > LONGEST {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("simhash_config of {} bytes is too long", json.len()),
            &format!("At most {LONGEST} bytes are allowed."),
        );
    }
    Config::parse(json).unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid simhash_config: {}", error.message()),
            &error.hint(),
        )
    })
}
