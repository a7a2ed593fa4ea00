//! From clean text to tokens.
//!
//! [`tokens`] has the tokenizers. [`tokenize`] cuts by scripts and by Unicode's rules, with a
//! [`dictionary`] for Chinese and a [`segment`]er for other scripts without spaces. [`code`] cuts
//! programs. [`lists`] are words of the user's own, [`stopwords`] those that do not count.

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
