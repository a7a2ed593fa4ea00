//! Cuts clean text into tokens.
//!
//! [`tokens`] calls the tokenizers. [`tokenize`] cuts by scripts and by Unicode's rules, with a
//! [`dictionary`] for Chinese and a [`segment`]er for other scripts without spaces. [`code`] cuts
//! source code. [`lists`] holds the user's own words, which [`cut`], [`whole`] and [`phrases`] find
//! in texts. [`stopwords`] holds the words that are left out.
//!
//! A new script is a property in `texts/unicode.rs`, a kind of run in [`tokenize`], and a way to
//! cut it in [`segment`].

pub(crate) mod code;
pub(crate) mod cut;
pub mod dictionary;
pub mod lists;
pub(crate) mod phrases;
pub mod segment;
pub(crate) mod stopwords;
pub mod tokenize;
pub(crate) mod tokens;
pub(crate) mod whole;
