//! `text_passage`: a text, with how many words in a row another has to have of it, and how both are
//! cut into words.
//!
//! On disk: the number of words and the length of the config (four bytes each), both
//! little-endian, the config's canonical form, and the text, both in UTF-8. In text, the beginning
//! of the text and the number: `<The quick brown fox...,25>`. There is no way back.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::config::Config;
use simhash_core::passages::WORDS;

use super::config::parse;
use super::datum::{Decode, Encode, argument, result, sql_type};
use super::near_text::shown_text;
use super::varlena::{packed_bytes, palloc_varlena, with_packed_bytes};
use crate::error::raise;

/// A text whose passages are looked for in others.
pub struct TextPassage<'a> {
    /// 5 to 10,000.
    pub words: u32,
    /// The config's canonical form.
    pub config: Cow<'a, str>,
    pub text: Cow<'a, str>,
}

sql_type!(TextPassage<'_>, "text_passage");
argument!(TextPassage<'_>);
result!(TextPassage<'_>);

/// The least number of tokens of a passage. Raises 22023 if it is none.
pub fn checked_words(words: i32) -> usize {
    usize::try_from(words).ok().filter(|words| WORDS.contains(words)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("a passage of {words} words"),
            &format!(
                "Allowed: {} to {}. Fewer words in a row are found in most texts by chance.",
                WORDS.start(),
                WORDS.end()
            ),
        )
    })
}

impl<'a> TextPassage<'a> {
    /// Reads the form on disk. `None` for bytes that are no text_passage.
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

    /// What `read` makes of a value. A detoasted copy is freed after it.
    ///
    /// # Safety
    /// `datum` is a text_passage, not NULL. It lives until this returns.
    pub unsafe fn with<T>(datum: pg_sys::Datum, read: impl FnOnce(TextPassage<'_>) -> T) -> T {
        // SAFETY: as this function's; the type is of variable length.
        unsafe { with_packed_bytes(datum, |bytes| read(TextPassage::sound(bytes))) }
    }

    /// The text form, as a near_text has one.
    pub fn to_text(&self) -> String {
        shown_text(&self.text, &self.words.to_string(), &self.config)
    }
}

impl Decode for TextPassage<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: as the trait's; the type is of variable length.
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
