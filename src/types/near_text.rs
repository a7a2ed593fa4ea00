//! `near_text`: a text, the least similarity at which another text is near to it, and the config.
//!
//! On disk: the similarity (eight bytes), the length of the config (four bytes), both
//! little-endian, then the config's canonical form and the text, both in UTF-8. In text: the
//! beginning of the text and the similarity, `<The quick brown fox...,0.8>`. This form cannot be
//! read back.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::config::Config;
use simhash_core::sets::sketch::{LEAST_SIMILARITY, Law};

use super::config::parse;
use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{packed_bytes, palloc_varlena, with_packed_bytes};
use crate::error::{raise, shown_number};

/// A text to compare with others.
pub struct NearText<'a> {
    /// From 0.3 to 1.
    pub similarity: f64,
    /// The config's canonical form.
    pub config: Cow<'a, str>,
    pub text: Cow<'a, str>,
}

sql_type!(NearText<'_>, "near_text");
argument!(NearText<'_>);
result!(NearText<'_>);

/// Raises 22023 for a similarity that is out of range.
pub fn check_similarity(similarity: f64) {
    if Law::of(similarity).is_none() {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("similarity {} is out of range", shown_number(similarity)),
            &format!("A similarity must be a number from {LEAST_SIMILARITY} to 1: 0.7 for 70 %."),
        )
    }
}

/// The number of a text's characters that its text form shows.
const SHOWN: usize = 60;

impl<'a> NearText<'a> {
    /// Reads the form on disk. `None` if the bytes are not a valid near_text.
    fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (similarity, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (config, text) = rest.split_at_checked(length)?;
        let similarity = f64::from_le_bytes(*similarity);
        Law::of(similarity)?;
        let utf8 = |bytes| std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        Some(NearText { similarity, config: utf8(config)?, text: utf8(text)? })
    }

    fn sound(bytes: &'a [u8]) -> Self {
        NearText::from_bytes(bytes).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed near_text".into(), "")
        })
    }

    /// The config, which was checked when the value was made.
    pub fn config(&self) -> Config {
        parse(&self.config)
    }

    /// The result of `read` for a value. A detoasted copy is freed afterwards.
    ///
    /// # Safety
    /// `datum` is a near_text, not NULL, and stays valid until this returns.
    pub unsafe fn with<T>(datum: pg_sys::Datum, read: impl FnOnce(NearText<'_>) -> T) -> T {
        // SAFETY: `datum` is a near_text, which has a varlena header, and outlives this call.
        unsafe { with_packed_bytes(datum, |bytes| read(NearText::sound(bytes))) }
    }

    /// The text form, on one line.
    pub fn to_text(&self) -> String {
        shown_text(&self.text, &self.similarity.to_string(), &self.config)
    }
}

/// The text form of a search value: the text's beginning on one line, with each run of white space
/// and control characters as one space, and the parameter `asked`. The default config is omitted.
pub(super) fn shown_text(text: &str, asked: &str, config: &str) -> String {
    let start = text.chars().take(SHOWN);
    let start: String = start.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let rest = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    let config = match config {
        "{}" => String::new(),
        config => format!(",{}", config.chars().take(SHOWN).collect::<String>()),
    };
    format!("<{}{rest},{asked}{config}>", words.join(" "))
}

impl Decode for NearText<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a near_text, which has a varlena header.
        NearText::sound(unsafe { packed_bytes(datum) })
    }
}

impl Encode for NearText<'_> {
    fn encode(self) -> pg_sys::Datum {
        let length = self.config.len() as u32;
        palloc_varlena(&[
            &self.similarity.to_le_bytes(),
            &length.to_le_bytes(),
            self.config.as_bytes(),
            self.text.as_bytes(),
        ])
    }
}
