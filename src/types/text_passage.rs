//! `text_passage`: a text, the number of consecutive words that another text must share with it,
//! and the config that cuts both into words.
//!
//! On disk: the number of words and the length of the config (four bytes each), both little-endian,
//! then the config's canonical form and the text, both in UTF-8. In text: the beginning of the text
//! and the number, `<The quick brown fox...,25>`. This form cannot be read back.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::config::Config;
use simhash_core::passages::WORDS;

use super::config::parse;
use super::datum::{Decode, Encode, argument, result, sql_type};
use super::near_text::shown_text;
use super::varlena::{packed_bytes, palloc_varlena, with_packed_bytes};
use crate::error::raise;

/// A text whose passages are searched for in others.
pub struct TextPassage<'a> {
    /// From 5 to 10,000.
    pub words: u32,
    /// The config's canonical form.
    pub config: Cow<'a, str>,
    pub text: Cow<'a, str>,
}

sql_type!(TextPassage<'_>, "text_passage");
argument!(TextPassage<'_>);
result!(TextPassage<'_>);

/// The least number of tokens of a passage. Raises 22023 if `words` is out of range.
pub fn checked_words(words: i32) -> usize {
    usize::try_from(words).ok().filter(|words| WORDS.contains(words)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("number of words {words} is out of range for a passage"),
            &format!(
                "Allowed: {} to {}. Most texts share shorter passages by chance.",
                WORDS.start(),
                WORDS.end()
            ),
        )
    })
}

impl<'a> TextPassage<'a> {
    /// Reads the form on disk. `None` if the bytes are not a valid text_passage.
    fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (words, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (config, text) = rest.split_at_checked(length)?;
        let words = u32::from_le_bytes(*words);
        let utf8 = |bytes| std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        WORDS.contains(&(words as usize)).then_some(())?;
        Some(TextPassage { words, config: utf8(config)?, text: utf8(text)? })
    }

    fn sound(bytes: &'a [u8]) -> Self {
        TextPassage::from_bytes(bytes).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed text_passage".into(), "")
        })
    }

    /// The config, which was checked when the value was made.
    pub fn config(&self) -> Config {
        parse(&self.config)
    }

    /// The result of `read` for a value. A detoasted copy is freed afterwards.
    ///
    /// # Safety
    /// `datum` is a text_passage, not NULL, and stays valid until this returns.
    pub unsafe fn with<T>(datum: pg_sys::Datum, read: impl FnOnce(TextPassage<'_>) -> T) -> T {
        // SAFETY: `datum` is a text_passage, which has a varlena header, and outlives this call.
        unsafe { with_packed_bytes(datum, |bytes| read(TextPassage::sound(bytes))) }
    }

    /// The text form, in the format of a near_text.
    pub fn to_text(&self) -> String {
        shown_text(&self.text, &self.words.to_string(), &self.config)
    }
}

impl Decode for TextPassage<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a text_passage, which has a varlena header.
        TextPassage::sound(unsafe { packed_bytes(datum) })
    }
}

impl Encode for TextPassage<'_> {
    fn encode(self) -> pg_sys::Datum {
        let length = self.config.len() as u32;
        palloc_varlena(&[
            &self.words.to_le_bytes(),
            &length.to_le_bytes(),
            self.config.as_bytes(),
            self.text.as_bytes(),
        ])
    }
}
